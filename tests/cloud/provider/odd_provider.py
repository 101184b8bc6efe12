#!/usr/bin/env python3
"""A cloud's program that does what the name of the load balancer says: answers, fails, crashes, babbles or hangs."""

import json
import os
import subprocess
import sys
import time

Request = dict[str, object]

HELD: list[Request] = []
"""Requests that are answered later, the last one first."""

BABBLE = {
    "die half way": '{"requestID": ',
    "garbage": "usage: my-cloud VERB\n",
    "colours": "\033[32mok\033[0m\n",
    "too much": "x" * (17 << 20) + "\n",
    "two": '{"requestID": "MINE", "result": {}}{}\n',
    "another": '{"requestID": "another", "result": {}}\n',
}


def printed(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def behave(request: Request) -> None:
    params = request["params"]
    assert isinstance(params, dict)
    name = str(params.get("name", ""))
    printed(BABBLE.get(name, "").replace("MINE", str(request["requestID"])))
    match name:
        case "exit" | "die half way":
            os._exit(3 if name == "exit" else 0)
        case "killed":
            os.kill(os.getpid(), 9)
        case "hang":
            time.sleep(600)
        case "leftover":
            subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
            answer(request, {"result": {"exists": False}})
        case "hold":
            HELD.append(request)
        case "let go":
            for held in (request, *reversed(HELD)):
                answer(held, {"result": {"requestID": held["requestID"]}})
            HELD.clear()
        case "environment":
            answer(request, {"result": {"environment": dict(os.environ), "directory": os.getcwd()}})
        case _ if name not in BABBLE:
            answer(request, json.loads(name))


def answer(request: Request, body: dict[str, object]) -> None:
    printed(json.dumps({"requestID": request["requestID"], **body}) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "serve" and os.path.exists("deaf"):
        time.sleep(600)
    if sys.argv[1] == "serve":
        for line in sys.stdin:
            behave(json.loads(line))
    else:
        text = sys.stdin.read()
        behave(json.loads(text))

#!/usr/bin/env python3
"""A hook that does what the file beside it says, whichever carrier brings its runs.

`NAME.script.json`: {"config": …, "runs": [actions of the first run, of the second, …]}; the last ones are repeated. It
appends what it was given to `NAME.seen`, one JSON value a line. Actions, in order:

    {"out": text} {"err": text}     print a line
    {"answer": Answer}              as files, or as the line's answer
    {"raw": {VARIABLE: text}}       write a file of the answer as it is; files only
    {"fail": message}               fail with a message on standard error, or with the outcome `failed`
    {"exit": 3} {"kill": 9}         end at once, by a status or a signal
    {"hang": true} {"wait": true}   wait without end; wait for SIGTERM or a cancel
    {"mark": name}                  make a file, before it waits
    {"deaf": true}                  take no notice of SIGTERM and of cancels
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

ME = Path(sys.argv[0]).absolute()
SCRIPT = json.loads(ME.with_name(ME.name + ".script.json").read_text())
SEEN = ME.with_name(ME.name + ".seen")
FILES = {
    "admission": "ADMISSION_RESPONSE_PATH",
    "conversion": "CONVERSION_RESPONSE_PATH",
    "operations": "KUBERNETES_PATCH_PATH",
    "metrics": "METRICS_PATH",
    "configValuesPatch": "CONFIG_VALUES_JSON_PATCH_PATH",
    "valuesPatch": "VALUES_JSON_PATCH_PATH",
    "conditions": "CONDITIONS_PATH",
    "runAgainAfterSeconds": "RUN_AGAIN_PATH",
}
GIVEN = {
    "configValues": "CONFIG_VALUES_PATH",
    "values": "VALUES_PATH",
    "instance": "ADDON_OBJECT_PATH",
}


def actions(given: Any) -> Any:
    """Those of this run, whose number is that of the lines seen so far."""
    number = len(SEEN.read_text().splitlines()) if SEEN.exists() else 0
    with SEEN.open("a") as file:
        file.write(json.dumps(given) + "\n")
    runs = SCRIPT["runs"]
    return runs[min(number, len(runs) - 1)]


def do(action: Any) -> None:
    match action:
        case {"out": text}:
            print(text, flush=True)
        case {"err": text}:
            print(text, file=sys.stderr, flush=True)
        case {"exit": status}:
            os._exit(status)
        case {"kill": number}:
            os.kill(os.getpid(), number)


def mark(action: Any) -> None:
    """Show that it is ready to be stopped."""
    if "mark" in action:
        ME.with_name(action["mark"]).touch()


def run_by_files() -> None:
    environ = os.environ
    given = {"contexts": json.loads(Path(environ["BINDING_CONTEXT_PATH"]).read_text())}
    given |= {key: json.loads(Path(environ[name]).read_text()) for key, name in GIVEN.items() if name in environ}
    if "ADDON_PACKAGE_DIR" in environ:
        given["packageDirectory"] = environ["ADDON_PACKAGE_DIR"]
    stopped: list[bool] = []
    for action in actions(given):
        do(action)
        if "wait" in action:
            signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
        if "deaf" in action:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        mark(action)
        while "hang" in action or ("wait" in action and not stopped):
            signal.pause()
        for key, value in action.get("answer", {}).items():
            items = value if isinstance(value, list) else [value]
            with open(environ[FILES[key]], "a") as file:
                file.writelines(json.dumps(item) + "\n" for item in items)
        for variable, text in action.get("raw", {}).items():
            Path(environ[variable]).write_text(text)
        if "fail" in action:
            sys.exit(action["fail"])


def run_by_lines() -> None:
    requests, answers = os.fdopen(3, "rb"), os.fdopen(4, "wb", buffering=0)
    cancelled = threading.Event()
    is_deaf = False
    signal.signal(signal.SIGTERM, lambda *_: is_deaf or os._exit(143))

    def send(message: Any) -> None:
        answers.write(json.dumps(message).encode() + b"\n")

    def work(run: Any) -> None:
        nonlocal is_deaf
        answer = {"id": run["id"]}
        given = {key: run[key] for key in ("contexts", *GIVEN, "packageDirectory") if key in run}
        for action in actions(given):
            do(action)
            is_deaf = is_deaf or "deaf" in action
            mark(action)
            if "hang" in action or "wait" in action:
                cancelled.wait()
                cancelled.clear()
            answer |= action.get("answer", {})
            if "fail" in action:
                answer |= {"outcome": "failed", "message": action["fail"]}
                break
        send({"answer": answer})

    for line in requests:
        message = json.loads(line)
        if "hello" in message:
            send({"hello": {"version": 1, "capabilities": ["cancel", "file"]}})
        elif "run" in message:
            run = message["run"]
            run = json.loads(Path(run["file"]).read_text())["run"] if "file" in run else run
            threading.Thread(target=work, args=(run,), daemon=True).start()
        elif "cancel" in message and not is_deaf:
            cancelled.set()


if sys.argv[1:] == ["--config"]:
    print(json.dumps({"configVersion": "v1", **SCRIPT["config"]}))
elif sys.argv[1:] == ["--resident"]:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    run_by_lines()
else:
    run_by_files()

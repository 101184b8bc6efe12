"""One question in, one answer out: the wire format `cloud.hookrunner.io/v1` around the verbs.

A call reads one JSON document from standard input and prints one; `serve` does that line by line, each request in a
thread of its own, until its input ends.
"""

import json
import sys
import threading
import time
from typing import Any

from simcloud_lib.faults import pause, refuse, spoil, take_faults
from simcloud_lib.state import Document, changing_state, log_call, read_state
from simcloud_lib.verbs import ANSWERS, CHANGING, Refusal

API_VERSION = "cloud.hookrunner.io/v1"
VERBS = frozenset(ANSWERS)
_PRINTING = threading.Lock()


def answer_once(verb: str) -> int:
    """Answer the question of standard input; the exit code."""
    try:
        request = json.load(sys.stdin.buffer)
    except ValueError as wrong:
        print(f"simcloud: standard input is no request: {wrong}", file=sys.stderr)
        return 2
    _print(answer_request({**request, "verb": verb}))
    return 0


def serve() -> int:
    """Answer each line of standard input, in the order in which answers are ready; the exit code."""
    threads: list[threading.Thread] = []
    for line in sys.stdin.buffer:
        thread = threading.Thread(target=_answer_line, args=(json.loads(line),), daemon=True)
        thread.start()
        threads = [other for other in threads if other.is_alive()] + [thread]
    for thread in threads:
        thread.join(5)
    return 0


def _answer_line(request: Document) -> None:
    _print(answer_request(request))


def _print(answer: bytes) -> None:
    with _PRINTING:
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.flush()


def answer_request(request: Document) -> bytes:
    """The bytes of the answer to a request, with all faults that it meets. May never return, or end the process."""
    began = time.monotonic()
    verb, params = request["verb"], request.get("params") or {}
    faults = _meet_faults(verb, params)
    pause(faults)
    answer: Document = {"apiVersion": API_VERSION, "requestID": request["requestID"]}
    try:
        refuse(faults, verb)
        answer["result"] = _answer(verb, params)
    except Refusal as refusal:
        answer["error"] = refusal.document
    _log(request, answer, faults, time.monotonic() - began)
    return spoil(faults, request, answer)


def _meet_faults(verb: str, params: Document) -> list[Document]:
    if not read_state()["faults"]:
        return []
    with changing_state() as state:
        return take_faults(state, verb, params)


def _answer(verb: str, params: Document) -> Any:
    answer = ANSWERS.get(verb)
    if answer is None:
        raise Refusal("NotImplemented", f"simcloud knows no {verb}")
    if verb not in CHANGING:
        return answer(read_state(), params)
    with changing_state() as state:
        return answer(state, params)


def _log(request: Document, answer: Document, faults: list[Document], seconds: float) -> None:
    params = request.get("params") or {}
    entry: Document = {"verb": request["verb"], "requestID": request["requestID"], "seconds": round(seconds, 3)}
    if "nodes" in params:
        entry["nodes"] = [node["name"] for node in params["nodes"]]
    if "service" in params:
        metadata = params["service"]["metadata"]
        entry["service"] = f"{metadata['namespace']}/{metadata['name']}"
    for key in ("want", "create", "delete"):
        if key in params:
            entry[key] = params[key]
    if "error" in answer:
        entry["error"] = answer["error"]["code"]
    if faults:
        entry["faults"] = [fault["what"] for fault in faults]
    log_call(entry)

"""What goes wrong in the simulated cloud on purpose: `fail`, `delay` and `hang` put faults into the state, calls meet
them.

A fault is a code of the wire format, which becomes a proper error, or one of `MISBEHAVIOURS`, which a broken program
shows.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from simcloud_lib.state import Document
from simcloud_lib.verbs import Refusal

CODES = (
    "NotFound",
    "NotImplemented",
    "ImplementedElsewhere",
    "Pending",
    "Throttled",
    "Invalid",
    "Unauthenticated",
    "Unavailable",
)
MANY = 20 * 2**20
NESTED = 10_000
STRANGER = {"name": "stranger", "state": "notFound"}


def take_faults(state: Document, verb: str, params: Document) -> list[Document]:
    """The faults that this call meets: all delays, and the first of the others. Those that are used up are removed."""
    met: list[Document] = []
    for fault in [fault for fault in state["faults"] if _concerns(fault, verb, params)]:
        if fault["what"] != "delay" and any(other["what"] != "delay" for other in met):
            continue
        if not _strikes(fault):
            continue
        met.append(dict(fault))
        if fault.get("times"):
            fault["times"] -= 1
            if not fault["times"]:
                state["faults"].remove(fault)
    return met


def _concerns(fault: Document, verb: str, params: Document) -> bool:
    if fault["verb"] not in ("*", verb):
        return False
    if node := fault.get("node"):
        return any(asked.get("name") == node for asked in params.get("nodes", ()))
    if name := fault.get("service"):
        metadata = (params.get("service") or {}).get("metadata") or {}
        return name in (metadata.get("name"), f"{metadata.get('namespace')}/{metadata.get('name')}")
    return True


def _strikes(fault: Document) -> bool:
    if "chance" not in fault:
        return True
    import random  # here, since importing it takes a third of a call's time

    return random.random() < float(fault["chance"])


def pause(faults: list[Document]) -> None:
    """Wait as long as the faults say; a hang does not end."""
    for fault in faults:
        if fault["what"] == "hang":
            if fault.get("stubborn") and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(fault.get("seconds") or 10**6)
        elif fault["what"] == "delay":
            time.sleep(fault["seconds"])


def refuse(faults: list[Document], verb: str) -> None:
    """Raise Refusal if one of the faults is a code of the wire format."""
    for fault in faults:
        if fault["what"] in CODES:
            message = f"{verb} fails because `simcloud fail` said so"
            raise Refusal(fault["what"], message, fault.get("retryAfter", 0.0))


def spoil(faults: list[Document], request: Document, answer: Document) -> bytes:
    """The bytes of an answer, which a misbehaviour makes wrong; or it ends the process."""
    for fault in faults:
        if misbehave := MISBEHAVIOURS.get(fault["what"]):
            spoiled = misbehave(request, answer)
            return spoiled if isinstance(spoiled, bytes) else _text(spoiled)
    return _text(answer)


def _text(answer: Any) -> bytes:
    return json.dumps(answer).encode()


def _exit(request: Document, answer: Document) -> bytes:
    sys.stdout.buffer.write(_text(answer))
    sys.stdout.flush()
    os._exit(3)


def _crash(request: Document, answer: Document) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _leave_child(request: Document, answer: Document) -> bytes:
    os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "1000")
    return _text(answer)


def _entries(answer: Document, change: Callable[[list[Any]], list[Any]]) -> Document:
    """The answer with its list changed."""
    result = answer.get("result") or {}
    lists = {key: change(list(value)) for key, value in result.items() if isinstance(value, list)}
    return {**answer, "result": {**result, **lists}}


def _in_each(answer: Document, **changes: Any) -> Document:
    return _entries(answer, lambda entries: [{**entry, **changes} for entry in entries])


MISBEHAVIOURS: dict[str, Callable[[Document, Document], "bytes | Document"]] = {
    "garbage": lambda request, answer: b"usage: simcloud [OPTIONS]\n\x1b[31merror\x1b[0m\n",
    "empty": lambda request, answer: b"",
    "half": lambda request, answer: _text(answer)[: len(_text(answer)) // 2],
    "two-documents": lambda request, answer: _text(answer) + b"\n" + _text(answer),
    "byte-order-mark": lambda request, answer: b"\xef\xbb\xbf" + _text(answer),
    "not-utf8": lambda request, answer: b'{"result": {"message": "\xff\xfe"}}',
    "nested": lambda request, answer: b'{"result": ' + b"[" * NESTED + b"]" * NESTED + b"}",
    "huge": lambda request, answer: {**answer, "message": "x" * MANY},
    "list": lambda request, answer: b"[]",
    "other-request": lambda request, answer: {**answer, "requestID": "another"},
    "other-version": lambda request, answer: {**answer, "apiVersion": "cloud.hookrunner.io/v99"},
    "result-and-error": lambda request, answer: {**answer, "error": {"code": "Unavailable", "message": "both"}},
    "neither": lambda request, answer: {"requestID": request["requestID"]},
    "result-of-another-shape": lambda request, answer: {**answer, "result": "ok"},
    "exit": _exit,
    "crash": _crash,
    "child": _leave_child,
    "no-entries": lambda request, answer: _entries(answer, lambda entries: []),
    "forget": lambda request, answer: _entries(answer, lambda entries: entries[1:]),
    "double": lambda request, answer: _entries(answer, lambda entries: entries + entries[:1]),
    "strangers": lambda request, answer: _entries(answer, lambda entries: [*entries, STRANGER]),
    "odd-state": lambda request, answer: _in_each(answer, state="asleep"),
    "all-gone": lambda request, answer: _in_each(answer, state="notFound"),
}
"""How a broken program answers, by the name that `simcloud fail --code` takes. `all-gone` is well formed, but a lie."""

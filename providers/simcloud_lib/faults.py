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
    """The faults that this call meets: all delays, and of the others the first, and the first about each Node. Those
    that are used up are removed."""
    met: list[Document] = []
    for fault in [fault for fault in state["faults"] if _concerns(fault, verb, params)]:
        if fault["what"] != "delay" and any(_is_before(other, fault) for other in met):
            continue
        if not _strikes(fault):
            continue
        met.append(dict(fault))
        if fault.get("times"):
            fault["times"] -= 1
            if not fault["times"]:
                state["faults"].remove(fault)
    return met


def _is_before(other: Document, fault: Document) -> bool:
    return other["what"] != "delay" and other.get("node") == fault.get("node")


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
    """The bytes of an answer, which misbehaviours make wrong; or one ends the process. Those that change entries come
    first; with a Node they change its entries alone."""
    for fault in faults:
        if change := _ENTRIES.get(fault["what"]):
            answer = _entries(answer, change, fault.get("node"))
    for fault in faults:
        if misbehave := _ANSWERS.get(fault["what"]):
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


def _entries(answer: Document, change: Callable[[list[Any]], list[Any]], node: str | None) -> Document:
    """The answer with its list changed, or the part of it that is about one Node."""
    result = answer.get("result") or {}
    lists = {key: _changed(value, change, node) for key, value in result.items() if isinstance(value, list)}
    return {**answer, "result": {**result, **lists}} if lists else answer


def _changed(entries: list[Any], change: Callable[[list[Any]], list[Any]], node: str | None) -> list[Any]:
    if node is None:
        return change(list(entries))
    others = [entry for entry in entries if entry.get("name") != node]
    return others + change([entry for entry in entries if entry.get("name") == node])


def _in_each(entries: list[Any], **changes: Any) -> list[Any]:
    return [{**entry, **changes} for entry in entries]


_ANSWERS: dict[str, Callable[[Document, Document], "bytes | Document"]] = {
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
}

_ENTRIES: dict[str, Callable[[list[Any]], list[Any]]] = {
    "no-entries": lambda entries: [],
    "forget": lambda entries: entries[1:],
    "double": lambda entries: entries + entries[:1],
    "strangers": lambda entries: [*entries, STRANGER],
    "odd-state": lambda entries: _in_each(entries, state="asleep"),
    "all-gone": lambda entries: _in_each(entries, state="notFound"),
}
MISBEHAVIOURS = (*_ANSWERS, *_ENTRIES)
"""How a broken program answers, by the names that `simcloud fail --code` takes. `all-gone` is well formed: a lie."""

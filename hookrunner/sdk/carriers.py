"""How runs reach a hook and answers leave it: files, or lines over two descriptors (docs/hook-protocol.md)."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from .answers import HookFailed
from .tasks import Task

JSON = Any
CarryOut = Callable[[Task], None]
PROTOCOL, VERSION = "hookrunner.io/resident", 1

_STREAMS = {
    "operations": "KUBERNETES_PATCH_PATH",
    "metrics": "METRICS_PATH",
    "valuesPatch": "VALUES_JSON_PATCH_PATH",
    "configValuesPatch": "CONFIG_VALUES_JSON_PATCH_PATH",
    "conditions": "CONDITIONS_PATH",
}
"""Parts of an answer that are streams of documents, each with the variable that names its file."""
_SINGLE = {
    "admission": "VALIDATING_RESPONSE_PATH",
    "conversion": "CONVERSION_RESPONSE_PATH",
}


def is_hookrunner() -> bool:
    """Does hookrunner call this program, and not shell-operator or a person?"""
    return "HOOKRUNNER_VERSION" in os.environ


def run_once(carry_out: CarryOut) -> int:
    """One run by files; the exit status. If it fails, its operations are written nevertheless: of them only those with
    `ignoreHookError` are carried out."""
    task = Task(_read_run(os.environ))
    message = _attempt(carry_out, task)
    answer = task.answer()
    if message is not None:
        answer = {"operations": answer.get("operations", [])}
    _write_answer(answer, os.environ)
    return 0 if message is None else 1


def serve(carry_out: CarryOut, concurrency: int = 1) -> None:
    """Answer runs until the requests end. Raises SystemExit if no one has asked for that."""
    requests, answers = _open_streams()
    writing = threading.Lock()

    def say(message: Mapping[str, JSON]) -> None:
        with writing:
            answers.write(json.dumps(message) + "\n")
            answers.flush()

    for line in requests:
        message = json.loads(line)
        if "hello" in message:
            say({"hello": {"version": VERSION, "capabilities": ["file"], "concurrency": concurrency, "sdk": "python"}})
        elif "run" in message and concurrency > 1:
            threading.Thread(target=_answer, args=(carry_out, message["run"], say)).start()
        elif "run" in message:
            _answer(carry_out, message["run"], say)


def _answer(carry_out: CarryOut, run: Mapping[str, JSON], say: Callable[[Mapping[str, JSON]], None]) -> None:
    if "file" in run:
        with open(run["file"], encoding="utf-8") as file:
            run = {**json.load(file)["run"], "id": run["id"]}
    task = Task(run)
    message = _attempt(carry_out, task)
    answer = task.answer()
    if message is not None:
        answer = {"outcome": "failed", "message": message, "operations": answer.get("operations", [])}
    sys.stdout.flush()  # what was printed belongs to this run
    sys.stderr.flush()
    say({"answer": {"id": run["id"], **answer}})


def _attempt(carry_out: CarryOut, task: Task) -> str | None:
    """Carry the run out; why it failed, which the log has then, None if it did not."""
    try:
        carry_out(task)
    except HookFailed as error:
        return _print_reason(str(error))
    except SystemExit as end:  # as it would end a process that does not stay
        if not end.code:
            return None
        return _print_reason(f"exit status {end.code}" if isinstance(end.code, int) else str(end.code))
    except Exception as error:
        sys.excepthook(*sys.exc_info())  # as `traceback` prints it, which takes long to import
        return f"{type(error).__name__}: {error}"
    return None


def _print_reason(reason: str) -> str:
    print(reason, file=sys.stderr)
    return reason


def _read_run(environ: Mapping[str, str]) -> dict[str, JSON]:
    """The Run of these variables."""
    paths = {
        "contexts": "BINDING_CONTEXT_PATH",
        "values": "VALUES_PATH",
        "configValues": "CONFIG_VALUES_PATH",
        "instance": "ADDON_OBJECT_PATH",
    }
    run: dict[str, JSON] = {"packageDirectory": environ.get("ADDON_PACKAGE_DIR", "")}
    for key, variable in paths.items():
        if path := environ.get(variable):
            with open(path, encoding="utf-8") as file:
                run[key] = json.load(file)
    if "contexts" not in run:
        sys.exit("BINDING_CONTEXT_PATH is not set: run this hook with `hookrunner hook run`, or ask it for --config")
    return run


def _write_answer(answer: Mapping[str, JSON], environ: Mapping[str, str]) -> None:
    for key, variable in _STREAMS.items():
        _write(environ.get(variable), answer.get(key, ()))
    for key, variable in _SINGLE.items():
        _write(environ.get(variable), [answer[key]] if key in answer else ())
    again = answer.get("runAgainAfterSeconds")
    if again is not None and "RUN_AGAIN_PATH" not in environ:
        print("nothing runs this hook again after some time, and `After` does nothing", file=sys.stderr)
    elif again is not None:
        _write(environ["RUN_AGAIN_PATH"], [again])


def _write(path: str | None, documents: Iterable[JSON]) -> None:
    lines = [json.dumps(document) + "\n" for document in documents]
    if path and lines:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)


def _open_streams() -> tuple[TextIO, TextIO]:
    """Where requests are read and answers are written: duplicates of the two descriptors that no child inherits, since
    one that holds them open, or prints there, would break the session."""
    paths = [os.environ.get(name) for name in ("HOOKRUNNER_REQUESTS", "HOOKRUNNER_ANSWERS")]
    if None in paths:
        sys.exit("--resident is for hookrunner, which sets HOOKRUNNER_REQUESTS and HOOKRUNNER_ANSWERS")
    numbers = [int(str(path).rpartition("/")[2]) for path in paths]
    streams = _duplicate_streams(*numbers)
    for number in numbers:
        os.close(number)
    return streams


def _duplicate_streams(requests: int, answers: int) -> tuple[TextIO, TextIO]:
    """Streams on duplicates of two descriptors, which no program inherits that is executed. hookrunner.provider and
    hookrunner.sdk have this text both, since an image may have a copy of one of them alone."""
    return os.fdopen(os.dup(requests), encoding="utf-8"), os.fdopen(os.dup(answers), "w", encoding="utf-8")

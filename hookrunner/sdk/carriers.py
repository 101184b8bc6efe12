"""One run whose parts are files, and how a run ends (docs/hook-protocol.md)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .answers import HookFailed
from .tasks import Task

JSON = Any
CarryOut = Callable[[Task], None]

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
    message = attempt(carry_out, task, lambda reason: print(reason, file=sys.stderr))
    answer = task.answer()
    if message is not None:
        answer = {"operations": answer.get("operations", [])}
    _write_answer(answer, os.environ)
    return 0 if message is None else 1


def attempt(carry_out: CarryOut, task: Task, report: Callable[[str], None] = lambda reason: None) -> str | None:
    """Carry the run out; why it failed, None if it did not. Of an exception that the hook does not raise on purpose the
    log has the traceback; `report` takes the reasons of others, where no answer has them."""
    try:
        carry_out(task)
    except HookFailed as error:
        reason = str(error)
    except SystemExit as end:  # as it would end a process that does not stay
        if not end.code:
            return None
        reason = f"exit status {end.code}" if isinstance(end.code, int) else str(end.code)
    except Exception as error:
        sys.excepthook(*sys.exc_info())  # as `traceback` prints it, which takes long to import
        return f"{type(error).__name__}: {error}"
    else:
        return None
    report(reason)
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

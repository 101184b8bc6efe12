#!/usr/bin/env python3
"""The hook of actor.py, with the SDK's carriers in place of its own: the same script, the same actions, the same record
of what was given."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from hookrunner.sdk import After, HookFailed, Task, carriers, lines

ME = Path(sys.argv[0]).absolute()
SCRIPT = json.loads(ME.with_name(ME.name + ".script.json").read_text())
SEEN = ME.with_name(ME.name + ".seen")


def given(task: Task) -> dict[str, Any]:
    """As actor.py writes it: only what the run has."""
    parts = {
        "contexts": task.contexts,
        "configValues": task.config_values.all,
        "values": task.values.all,
        "instance": task.instance,
        "packageDirectory": task.package_directory,
    }
    return {key: part for key, part in parts.items() if part or key == "contexts"}


def carry_out(task: Task) -> None:
    number = len(SEEN.read_text().splitlines()) if SEEN.exists() else 0
    with SEEN.open("a") as file:
        file.write(json.dumps(given(task)) + "\n")
    runs = SCRIPT["runs"]
    for action in runs[min(number, len(runs) - 1)]:
        do(action, task)


def do(action: Any, task: Task) -> None:
    if text := action.get("out"):
        print(text)
    if text := action.get("err"):
        print(text, file=sys.stderr)
    if "exit" in action:
        os._exit(action["exit"])
    if "kill" in action:
        os.kill(os.getpid(), action["kill"])
    wait(action, task)
    answer_as(action, task)
    if "fail" in action:
        raise HookFailed(action["fail"])


def wait(action: Any, task: Task) -> None:
    if "deaf" in action:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "wait" in action:
        signal.signal(signal.SIGTERM, lambda *_: setattr(task, "cancelled", "SIGTERM"))
    if "mark" in action:
        ME.with_name(action["mark"]).touch()
    while "hang" in action or ("wait" in action and not task.cancelled):
        signal.pause()


def answer_as(action: Any, task: Task) -> None:
    answer = action.get("answer", {})
    task.cluster.operations += answer.get("operations", [])
    task.metrics.operations += answer.get("metrics", [])
    task.values.patch += answer.get("valuesPatch", [])
    task.config_values.patch += answer.get("configValuesPatch", [])
    task.conditions.reports += answer.get("conditions", [])
    if again := answer.get("runAgainAfterSeconds"):
        task.note(After(again))
    task.admission = answer.get("admission")
    task.conversion = answer.get("conversion")


if sys.argv[1:] == ["--resident"]:
    lines.serve(carry_out, SCRIPT["concurrency"])
else:
    sys.exit(carriers.run_once(carry_out))

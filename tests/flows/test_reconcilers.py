"""A reconciler of the SDK, whose process stays, on a real API server: objects in lanes of their own, a change that is
refused, and `kill -9` of either side in the middle of a run. Level: control plane."""

import os
from functools import partial
from signal import SIGKILL

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.operator import Operator
from tests.flows.waiting import until

HOOK = """#!/usr/bin/env python3
import os, signal
from pathlib import Path
from hookrunner.sdk import Hook

hook, told = Hook(), Path(os.environ["TOLD"])

@hook.reconcile("v1/ConfigMap", namespaces=["{namespace}"])
def paint(cm, cluster):
    color = cm and cm.get("data", {{}}).get("color")
    if not color or cm["metadata"].get("labels", {{}}).get("color") == color:
        return
    if "slow" in cm["data"] and (told / "hold").exists():
        (told / "holding").write_text(str(os.getpid()))
        signal.pause()
    cluster.merge(cm, {{"metadata": {{"labels": {{"color": color}}}}}})

hook.run()
"""
QUEUE = "paint.py/paint"


def has(cms: ConfigMaps, name: str, color: str) -> bool:
    labels: dict[str, str] = cms.get(name)["metadata"].get("labels", {})
    return labels.get("color") == color


async def in_a_run(program: Operator, cms: ConfigMaps, name: str) -> int:
    """Create an object whose run does not end; the process that makes it."""
    program.tell("hold")
    cms.create(name, color="red", slow="yes")
    holding = program.told / "holding"
    pid = await until(lambda: holding.exists() and holding.read_text(), f"the run for {name}")
    (program.told / "hold").unlink()
    holding.unlink()
    return int(pid)


async def test_objects_are_reconciled_side_by_side_whatever_is_refused_or_killed(
    operator: Start, cms: ConfigMaps
) -> None:
    cms.create("first", color="red")
    program = await operator({"paint.py": HOOK.format(namespace=cms.namespace)})
    await until(partial(has, cms, "first", "red"), "the object that was there")

    cms.create("bad", color="no label!")
    await until(lambda: "metadata.labels: Invalid value" in str(program.queue_list()[QUEUE]), "the refused change")
    cms.create("good", color="blue")
    await until(partial(has, cms, "good", "blue"), "an object behind the one that is refused")
    cms.change("bad", color="green")
    await until(partial(has, cms, "bad", "green"), "the corrected object")

    os.kill(await in_a_run(program, cms, "killed"), SIGKILL)
    await until(partial(has, cms, "killed", "red"), "the object whose run was killed")
    assert program.metric("hook_process_restarts_total", hook="paint.py", reason="failed") == 1

    await in_a_run(program, cms, "left")
    cms.create("a-bad", color="no label!")  # at the start it fails, and holds up no other one
    program.send(SIGKILL)
    await program.ended()
    await program.alone()
    program.start()
    await program.ready()
    await until(partial(has, cms, "left", "red"), "the object whose run was under way")
    await until(lambda: "failures" in str(program.queue_list()[QUEUE]), "the failure at the start")
    cms.change("a-bad", color="white")
    await until(partial(has, cms, "a-bad", "white"), "the object that failed at the start")
    await until(lambda: program.queue_list()[QUEUE] == [], "an empty queue")

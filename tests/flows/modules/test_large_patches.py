"""An instance with the largest patches that are allowed: hookrunner answers probes and ends while it works on them.

Level: sandbox."""

import time
from pathlib import Path

import pytest

from tests.flows.modules.test_addon_instances import put, start, things
from tests.flows.modules.world import World
from tests.flows.waiting import until

__all__ = ["things"]

COPIES = [{"op": "copy", "from": "/data", "path": f"/copy{number}"} for number in range(40)]
TARGET = {"apiVersion": "v1", "kind": "ConfigMap", "name": "of-thing"}
PATCHES = [{"target": TARGET, "jsonPatch": COPIES}] * 95
"""Almost 256 KiB, which are more work than the CPU time of the process that does it."""
PACKAGE = "addons/thing/channels/packages/thing/1.0.0/objects.yaml"
SOON = 5.0
"""Seconds for an answer, and for the end after a grace of one; the process works for ten of CPU time."""


def workers(world: World) -> list[Path]:
    """The processes that work on documents for the program."""
    children = Path(f"/proc/{world.operator.pid}/task/{world.operator.pid}/children").read_text().split()
    found = (Path(f"/proc/{pid}/cmdline") for pid in children)
    return [file for file in found if file.exists() and b"pure_call_worker" in file.read_bytes()]


@pytest.mark.usefixtures("launcher")
async def test_probes_and_sigterm_are_answered_while_large_patches_are_worked_on(things: World) -> None:
    data = "".join(f"  key{number}: text\n" for number in range(2_000))
    things.write(PACKAGE, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: of-thing}}\ndata:\n{data}")
    things.operator.flags += ("--addon-patches=all", "--shutdown-grace=1s")
    await start(things)
    await put(things, patches=PATCHES)
    (worker,) = await until(lambda: workers(things), "the process that applies the patches")
    for _ in range(5):
        begin = time.monotonic()
        assert things.operator.get("/healthz") == (200, "ok\n")
        assert time.monotonic() - begin < SOON
    assert workers(things) == [worker], "it was not worked on while it was probed"
    begin = time.monotonic()
    assert await things.operator.stop() == 0
    assert time.monotonic() - begin < SOON
    assert not worker.exists()

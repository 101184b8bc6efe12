"""An instance with the largest patches that are allowed: hookrunner answers probes and ends while it works on them.

Level: sandbox."""

from contextlib import closing
from pathlib import Path
from signal import SIGTERM

import pytest

from hookrunner.process.leader import ProcessUsage
from hookrunner.process.pure_calls import CallLimits
from tests.flows.modules.test_addon_instances import put, start, things
from tests.flows.modules.world import World
from tests.flows.waiting import until

__all__ = ["things"]

COPIES = [{"op": "copy", "from": "/data", "path": f"/copy{number}"} for number in range(40)]
TARGET = {"apiVersion": "v1", "kind": "ConfigMap", "name": "of-thing"}
PATCHES = [{"target": TARGET, "jsonPatch": COPIES}] * 95
"""Almost 256 KiB, which are more work than the CPU time of the process that does it."""
PACKAGE = "addons/thing/channels/packages/thing/1.0.0/objects.yaml"


def workers(world: World) -> list[Path]:
    """The processes that work on documents for the program."""
    children = Path(f"/proc/{world.operator.pid}/task/{world.operator.pid}/children").read_text().split()
    return [file for pid in children if _is_worker(file := Path(f"/proc/{pid}/cmdline"))]


def _is_worker(file: Path) -> bool:
    try:
        return b"pure_call_worker" in file.read_bytes()
    except OSError:  # gone, or going
        return False


@pytest.mark.usefixtures("launcher")
async def test_probes_and_sigterm_are_answered_while_large_patches_are_worked_on(things: World) -> None:
    data = "".join(f"  key{number}: text\n" for number in range(2_000))
    things.write(PACKAGE, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: of-thing}}\ndata:\n{data}")
    things.operator.flags += ("--addon-patches=all", "--shutdown-grace=1s")
    await start(things)
    await put(things, patches=PATCHES)
    (worker,) = await until(lambda: workers(things), "the process that applies the patches")
    for _ in range(5):
        assert things.operator.get("/healthz") == (200, "ok\n")
    assert workers(things) == [worker], "it was not worked on while it was probed"
    things.operator.send(SIGTERM)
    usage, spent = ProcessUsage(int(worker.parent.name)), [0.0]

    def has_ended() -> bool:
        spent.append(sum(usage.read()[:2]))
        return not things.operator.running()

    with closing(usage):
        await until(has_ended, "the end")
    assert (await things.operator.ended(), worker.exists()) == (0, False)
    assert max(spent) < CallLimits().seconds - 1, "the end has waited for the work"

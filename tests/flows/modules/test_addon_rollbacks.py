"""Upgrades of instances that are undone since they do not work in time. `flows/addons/test_addon_causes.py` has the
other causes: a refused object, a failed one.

Level: sandbox."""

import asyncio
import os
import subprocess

from kubetypes.json_values import JSON
from tests.controlplane.tools import find_tool
from tests.flows.modules.test_addon_instances import THINGS, phase_and_reason, put, reaches, start, status, things
from tests.flows.modules.world import World
from tests.instances.lives.places import LATE

__all__ = ["things"]
PACKAGE = "addons/thing/channels/packages/thing/2.0.0"
WITH_LATE = f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: of-thing}}
data: {{version: "2.0.0"}}
{LATE}"""


async def is_healthy(world: World) -> JSON:
    """Install the first version, and wait until it is known to work."""
    await start(world)
    await put(world, rollbackOnFailure=True)
    return await reaches(world, "Current", "Current")


async def test_upgrade_that_is_late_is_rolled_back_and_not_tried_again(things: World) -> None:
    things.write(f"{PACKAGE}/objects.yaml", WITH_LATE)
    await is_healthy(things)
    await put(things, version="2.0.0", timeout="1s")
    shown = await reaches(things, "RolledBack", "RolledBack")
    assert (shown["version"], shown["healthy"], shown["revision"]) == ("1.0.0", False, 3)
    assert "after 1 s" in shown["errors"][0]
    await things.becomes("of-thing", text="hi", version="1.0.0")
    await things.ask("PATCH", f"{THINGS}/x", {"metadata": {"labels": {"a": "b"}}})
    await put(things, "y", version="9.9.9")
    await reaches(things, "PackageError", "NotFound", "y")
    assert (await things.releases())[-1] == "thing.default.x.v3 deployed"
    await put(things, version="1.0.0")
    await reaches(things, "Current", "Current")


async def test_rolled_back_upgrade_stays_so_after_a_restart_until_it_is_asked_for(things: World) -> None:
    things.write(f"{PACKAGE}/objects.yaml", WITH_LATE)
    await is_healthy(things)
    await put(things, version="2.0.0", timeout="1s")
    await reaches(things, "RolledBack", "RolledBack")
    await things.becomes("of-thing", text="hi", version="1.0.0")
    await things.stop()
    await start(things)
    await put(things, "y", version="9.9.9")
    await reaches(things, "PackageError", "NotFound", "y")
    shown = await reaches(things, "RolledBack", "RolledBack")
    assert (shown["version"], shown["revision"], "after 1 s" in shown["errors"][0]) == ("1.0.0", 3, True)
    await things.ask("PATCH", f"{THINGS}/x", {"metadata": {"annotations": {"hookrunner.io/reconcile": "again"}}})

    async def revision() -> int:
        return int((await things.releases())[-1].partition(".v")[2].split()[0])

    await things.until(revision, 5, "the second attempt and its rollback")


async def test_restart_does_not_prolong_the_timeout(things: World) -> None:
    things.write(f"{PACKAGE}/objects.yaml", WITH_LATE)
    await is_healthy(things)
    await put(things, version="2.0.0", timeout="3s")

    async def is_under_way() -> bool:
        """On a busy machine it may be over before anyone has looked."""
        late = (("InProgress", "ObjectsNotReady"), ("RolledBack", "RolledBack"))
        return phase_and_reason(await status(things)) in late

    await things.until(is_under_way, True, "the upgrade")
    await things.stop()
    await start(things)
    shown = await reaches(things, "RolledBack", "RolledBack")
    assert (shown["version"], shown["lastHealthy"]["version"]) == ("1.0.0", "1.0.0")


async def test_rollback_by_stock_helm_is_noticed_and_undone(things: World) -> None:
    """Helm's record does not say what the instance asks for."""
    await start(things)
    await put(things, text="a")
    await reaches(things, "Current", "Current")
    await put(things, text="b")
    upgraded = ["thing.default.x.v1 superseded", "thing.default.x.v2 deployed"]
    await things.until(things.releases, upgraded, "records")  # helm refuses while one is pending
    command = [str(find_tool("helm")), "rollback", "thing.default.x", "1", f"--namespace={things.namespace}"]
    environ = os.environ | {"KUBECONFIG": str(things.operator.kubeconfig)}
    await asyncio.to_thread(subprocess.run, command, env=environ, capture_output=True, check=True)
    records = [*(f"thing.default.x.v{number} superseded" for number in (1, 2, 3)), "thing.default.x.v4 deployed"]
    await things.until(things.releases, records, "records")
    await things.becomes("of-thing", text="b", version="1.0.0")

    async def revision() -> tuple[str, int]:
        shown = await status(things)
        return shown.get("phase", ""), shown.get("revision", 0)

    await things.until(revision, ("Current", 4), "the status")

"""A ConfigMap or Secret of the configuration that is deleted: its replacement must not uninstall a module.

Level: control plane."""

import asyncio
import base64
import json
from typing import Any

import pytest

from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.controlplane.cluster import Cluster
from tests.flows.modules.hooks import configmap, hook
from tests.flows.modules.world import World

SIZE = "size: {{ .Values.a.size | quote }}"
GIVEN = {"aEnabled": "true", "a": "size: 2", "b": "x: 1"}
SHORT = "--config-grace=1s"


@pytest.fixture
async def prepared(world: World) -> World:
    """With a module `a` that the ConfigMap turns on, and one `b` that a file does."""
    world.module("010-a", {"values.yaml": "a: {size: 1}\n", "templates/cm.yaml": configmap("a", SIZE)})
    world.module("020-b", {"values.yaml": "bEnabled: true\n", "templates/cm.yaml": configmap("b")})
    await world.create("hookrunner", GIVEN)
    return world


def configuration(world: World) -> tuple[int, str]:
    """Whether it is ready, and what `/readyz` says of the configuration."""
    status, text = world.operator.get("/readyz?output=json")
    conditions = {one["name"]: one["message"] for one in json.loads(text)["conditions"]}
    return status, conditions["configuration"]


async def event(world: World, reason: str) -> str:
    """Wait for an Event with this reason, for what it says."""
    found: list[Any] = []

    async def is_there() -> bool:
        items = (await world.ask("GET", world.path(resource="events"), None))["items"]
        found[:] = [one["message"] for one in items if one["reason"] == reason]
        return bool(found)

    await world.until(is_there, True, f"an Event {reason}")
    return str(found[0])


async def test_a_replaced_configuration_uninstalls_nothing(real: World, cluster: Cluster) -> None:
    """With `kubectl replace --force`, as users do. What `a` has installed stays, and its release goes on."""
    real.module("010-a", {"values.yaml": "a: {size: 1}\n", "templates/cm.yaml": configmap("a", SIZE)})
    real.module("010-a", {"hooks/h.sh": hook(beforeDeleteHelm=1, onStartup=1)})
    await real.configure(aEnabled="true", a="size: 2")
    await real.start()
    await real.becomes("a", size="2")
    uid = (await real.ask("GET", real.path("a"), None))["metadata"]["uid"]
    data = {"aEnabled": "true", "a": "size: 3"}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hookrunner"}, "data": data}
    file = real.directory / "replaced.json"
    for size in ("3", "4", "5"):
        file.write_text(json.dumps({**manifest, "data": {**data, "a": f"size: {size}"}}))
        await asyncio.to_thread(cluster.kubectl, "-n", real.namespace, "replace", "--force", "-f", str(file))
        await real.becomes("a", size=size)
    assert (await real.ask("GET", real.path("a"), None))["metadata"]["uid"] == uid
    await real.until(lambda: _latest(real), "a.v4 deployed", "the end of the last rollout")
    assert real.history() == ["a/h.sh onStartup"]


async def _latest(world: World) -> str:
    return (await world.releases())[-1]


async def test_a_deleted_configuration_is_reported_with_its_consequences_and_can_come_back(
    prepared: World,
) -> None:
    await prepared.start()
    prepared.writes()
    await prepared.delete("hookrunner")
    told = await event(prepared, "ConfigDeleted")
    assert told.startswith("ConfigMap default/hookrunner is deleted; unless it is created before 20")
    assert told.endswith("Z, uninstalled: a; values lost: b")
    assert configuration(prepared) == (200, told)
    assert (await prepared.operator.wait_log("part of the configuration is missing"))["what"] == told
    await prepared.create("hookrunner", GIVEN)
    assert await event(prepared, "ConfigRestored") == "ConfigMap default/hookrunner is there again"
    assert configuration(prepared) == (200, "")
    assert [line for line in prepared.writes() if "events" not in line] == [], "nothing has changed"


async def test_a_deleted_configuration_counts_after_its_grace(prepared: World) -> None:
    prepared.operator.flags = (*prepared.operator.flags, SHORT)
    await prepared.start()
    await prepared.delete("hookrunner")
    await prepared.until(prepared.maps, {"b": {}}, "what is installed")
    assert (await event(prepared, "ConfigDropped")).endswith("counts as deleted from now on")


async def test_a_restart_does_not_shorten_the_grace(prepared: World) -> None:
    await prepared.start()
    await prepared.stop()
    await prepared.delete("hookrunner")
    prepared.writes()
    await prepared.start(ready=False)
    await prepared.operator.not_ready("ConfigMap default/hookrunner does not exist; unless it is created before ")
    assert (await event(prepared, "ConfigDeleted")).endswith("uninstalled: a")
    await prepared.module_is("a", state="undecided")
    assert not [line for line in prepared.writes() if "events" not in line]
    await prepared.create("hookrunner", GIVEN)
    await prepared.operator.ready()
    assert await prepared.releases() == ["a.v1 deployed", "b.v1 deployed"]


async def test_after_a_restart_a_configuration_that_stays_away_counts_as_deleted(prepared: World) -> None:
    await prepared.start()
    await prepared.stop()
    await prepared.delete("hookrunner")
    prepared.operator.flags = (*prepared.operator.flags, SHORT)
    await prepared.start()
    await prepared.until(prepared.maps, {"b": {}}, "what is installed")


async def test_a_deleted_secret_has_its_grace_too_and_after_a_restart(prepared: World) -> None:
    prepared.operator.flags = (*prepared.operator.flags, "--config-secret=private")
    await set_secret(prepared, "size: 7")
    await prepared.start()
    await prepared.becomes("a", size="7")
    await prepared.delete("private", "secrets")
    assert (await event(prepared, "ConfigDeleted")).endswith("Z, values lost: a")
    assert await prepared.map("a") == {"size": "7"}
    await prepared.again(ready=False)
    await prepared.operator.not_ready("Secret default/private does not exist; ")
    await set_secret(prepared, "size: 8")
    await prepared.becomes("a", size="8")


async def test_no_module_runs_while_the_secret_cannot_be_read_at_the_start(prepared: World, sandbox: Sandbox) -> None:
    """The ConfigMap alone is not what the user has said."""
    prepared.operator.flags = (*prepared.operator.flags, "--config-secret=private")
    await set_secret(prepared, "size: 7")
    rule = sandbox.faults.add(Fault("answer", "/secrets/private", status=403))
    listed = sandbox.faults.add(Fault("answer", "metadata.name%3Dprivate", status=403))
    await prepared.start(ready=False)
    await prepared.operator.not_ready("the configuration cannot be read: Secret default/private: ")
    await prepared.configure(a="size: 3")
    await prepared.module_is("a", state="undecided")
    assert await prepared.maps() == {}
    sandbox.faults.remove(rule)
    sandbox.faults.remove(listed)
    await prepared.becomes("a", size="7")


async def set_secret(world: World, section: str) -> None:
    """Create the Secret with a section of `a`."""
    data = {"a": base64.b64encode(section.encode()).decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "private"}, "data": data}
    if await world.ask("GET", world.path("private", "secrets"), None) is None:
        await world.ask("POST", world.path(resource="secrets") + "?story=yes", secret)

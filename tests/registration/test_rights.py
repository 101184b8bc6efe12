"""The rights that users of shell-operator have given are enough; the roles here are those of its examples.

Level: control plane."""

from typing import Any

import pytest

from hookrunner.kube.client import Client
from hookrunner.metrics.recorders import Requests
from hookrunner.model.bindings import Admission
from hookrunner.registration.desired import DesiredRegistrations
from hookrunner.registration.removal import has_leftovers
from hookrunner.registration.webhook_objects import DEFINITION, MUTATING, VALIDATING
from tests.controlplane.cluster import Cluster
from tests.flows.waiting import until
from tests.registration.world import ON_A_CLUSTER, World, a_hook, as_user, entry_names

ONE, TWO = "one.example.com", "two.example.com"
CONFIGURATIONS = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]

pytestmark = ON_A_CLUSTER


def no_registrations(world: World) -> DesiredRegistrations:
    return world.desired()


async def test_create_list_and_update_register_webhooks(world: World, cluster: Cluster, namespace: str) -> None:
    world.credentials = await as_user(cluster, namespace, "create", "list", "update", resources=CONFIGURATIONS)
    mutating = a_hook("m.sh", mutating=(Admission(TWO, (world.rule(),)),))
    registrar, _ = await world.registrar(world.desired(world.validating(ONE), mutating))
    await registrar.publish(b"")
    assert registrar.condition() == (True, "")
    assert entry_names(await world.get(VALIDATING)) == [ONE]
    assert entry_names(await world.get(MUTATING)) == [TWO]


@pytest.mark.parametrize("kind", ["validating", "mutating"])
async def test_rights_for_one_kind_of_webhooks_are_enough_for_it(
    world: World, cluster: Cluster, namespace: str, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is said about the other kind, nor about definitions."""
    rights = [f"{kind}webhookconfigurations"]
    world.credentials = await as_user(cluster, namespace, "create", "list", "update", resources=rights)
    bindings: dict[str, Any] = {kind: (Admission(ONE, (world.rule(),)),)}
    registrar, _ = await world.registrar(world.desired(a_hook("h.sh", **bindings)))
    async with Client(world.credentials, Requests(world.metrics)) as client, world.kept(registrar, client=client):
        await until(lambda: "no right to watch" in capfd.readouterr().err, "the watch that is refused")
        assert registrar.condition() == (True, "")
        assert world.credentials.lacked.conditions == {}
        assert await has_leftovers(client, no_registrations(world))
    assert "lost" not in capfd.readouterr().err


async def test_changes_are_repaired_without_a_right_to_watch(world: World, cluster: Cluster, namespace: str) -> None:
    world.credentials = await as_user(cluster, namespace, "create", "list", "update", resources=CONFIGURATIONS)
    registrar, _ = await world.registrar(world.desired(world.validating(ONE)))
    async with Client(world.credentials, Requests(world.metrics)) as client, world.kept(registrar, client=client):
        await world.edit(VALIDATING, lambda obj: obj["webhooks"][0].update(failurePolicy="Ignore"))
        await world.seen(VALIDATING, lambda obj: obj["webhooks"][0]["failurePolicy"] == "Fail")


async def test_without_a_right_to_delete_a_configuration_is_emptied(
    world: World, cluster: Cluster, namespace: str
) -> None:
    world.credentials = await as_user(cluster, namespace, "create", "list", "update", resources=CONFIGURATIONS)
    registrar, meter = await world.registrar(world.desired(world.validating(ONE)))
    await registrar.publish(b"")
    assert entry_names(await world.get(VALIDATING)) == [ONE]
    await registrar.register(no_registrations(world), no_registrations(world))
    assert entry_names(await world.get(VALIDATING)) == []
    assert registrar.condition() == (True, "")
    meter.requests.clear()
    await registrar.publish(b"")
    assert meter.writes == []
    assert world.credentials.lacked.conditions == {}


async def test_list_and_update_convert_definitions(world: World, cluster: Cluster, namespace: str) -> None:
    await world.create(DEFINITION, world.definition())
    rights = ["customresourcedefinitions"]
    world.credentials = await as_user(cluster, namespace, "list", "update", resources=rights)
    registrar, _ = await world.registrar(world.desired(world.converting()))
    await registrar.publish(b"")
    assert registrar.condition() == (True, "")
    definition = await world.get(DEFINITION, world.things)
    assert definition["spec"]["conversion"]["strategy"] == "Webhook"


async def test_right_to_get_replaces_the_right_to_list(world: World, cluster: Cluster, namespace: str) -> None:
    world.credentials = await as_user(cluster, namespace, "create", "get", "update", resources=CONFIGURATIONS)
    registrar, _ = await world.registrar(world.desired(world.validating(ONE)))
    await registrar.publish(b"")
    assert registrar.condition() == (True, "")


async def test_all_rights_that_registering_needs_are_named_at_once(
    world: World, cluster: Cluster, namespace: str, capfd: pytest.CaptureFixture[str]
) -> None:
    world.credentials = await as_user(cluster, namespace, "get", resources=["pods"])
    registrar, _ = await world.registrar(world.desired(world.validating(ONE), world.converting()))
    await registrar.publish(b"")
    ready, message = registrar.condition()
    assert not ready
    configurations = "{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations]"
    definitions = "{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions]"
    assert f"{configurations}, verbs: [create, list, update]}}" in message
    assert f"{definitions}, verbs: [list, update]}}" in message
    assert capfd.readouterr().err.count("level=error") == 2

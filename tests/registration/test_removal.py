"""Registrations that no hook declares any more are removed at the next start. Level: control plane."""

import asyncio

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.registration.desired import DesiredRegistrations, Target
from hookrunner.registration.reconcile import claim
from hookrunner.registration.removal import has_leftovers, withdraw
from hookrunner.registration.webhook_objects import DEFINITION, VALIDATING
from hookrunner.settings import KubeSettings
from kubesandbox.faults import Fault
from tests.controlplane.cluster import Cluster
from tests.kube.server import api_server
from tests.registration.world import World

ONE = "one.example.com"


async def test_start_without_webhooks_removes_earlier_registrations(world: World) -> None:
    await world.create(DEFINITION, world.definition())
    registrar, _ = await world.registrar(world.desired(world.validating(ONE), world.converting()))
    await registrar.publish(b"")
    assert await world.get(VALIDATING)
    await withdraw(world.other, world.desired(), claim(2.0))
    assert await world.get(VALIDATING) is None
    definition = await world.get(DEFINITION, world.things)
    assert definition["spec"]["conversion"]["strategy"] == "None"


async def test_old_process_removes_nothing_of_a_younger_one(world: World) -> None:
    registrar, _ = await world.registrar(world.desired(world.validating(ONE)), started=2.0)
    await registrar.publish(b"")
    await withdraw(world.other, world.desired(), claim(1.0))
    assert await world.get(VALIDATING)


@pytest.mark.looptime
async def test_removal_follows_an_outage_at_once_without_a_warning(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """However long it was: pauses are up to a minute by then."""
    async with (
        api_server() as api,
        Client(Credentials(KubeSettings(), Connection(api.url)), Requests(Metrics(""))) as client,
    ):
        away = api.faults.add(Fault("refuse"))
        capfd.readouterr()
        target = Target(api.url, "", "")
        withdrawing = asyncio.create_task(withdraw(client, DesiredRegistrations("hooks", target, target), claim(2.0)))
        await asyncio.sleep(150)
        api.faults.remove(away)
        await client.get("/version")
        async with asyncio.timeout(3):
            await withdrawing
    warnings = [line for line in capfd.readouterr().err.splitlines() if "level=warn" in line]
    assert [line for line in warnings if "API server is unavailable" not in line] == []


async def test_registrations_of_other_installations_stay(world: World) -> None:
    registrar, _ = await world.registrar(world.desired(world.validating(ONE)))
    await registrar.publish(b"")
    elsewhere = Target("https://127.0.0.1:8", "", "")
    await withdraw(world.other, DesiredRegistrations(world.name, elsewhere, elsewhere), claim(2.0))
    assert await world.get(VALIDATING)


async def test_without_a_right_to_read_nothing_is_removed_or_reported(
    cluster: Cluster, namespace: str, world: World
) -> None:
    user = cluster.user("powerless", namespace, [])
    connection = Connection(cluster.url, ca=cluster.ca.read_text(), authorization=f"Bearer {user.token}")
    async with Client(Credentials(KubeSettings(), connection), Requests(world.metrics)) as client:
        await withdraw(client, world.desired(), claim(2.0))
        assert not await has_leftovers(client, world.desired())


async def test_leftover_registrations_are_found(world: World) -> None:
    await world.create(DEFINITION, world.definition())
    asked = world.desired(world.validating(ONE))
    assert not await has_leftovers(world.other, asked)
    registrar, _ = await world.registrar(world.desired(world.validating(ONE), world.converting()))
    await registrar.publish(b"")
    assert await has_leftovers(world.other, asked)
    assert await has_leftovers(world.other, world.desired(world.converting()))
    assert not await has_leftovers(world.other, world.desired(world.validating(ONE), world.converting()))
    elsewhere = Target("https://127.0.0.1:8", "", "")
    assert not await has_leftovers(world.other, DesiredRegistrations(world.name, elsewhere, elsewhere))

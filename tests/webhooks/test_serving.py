"""The CAs of all servers are published together, and kept in sync from then on. Level: control plane."""

import asyncio

import pytest

from hookrunner.registration.webhook_objects import MUTATING, VALIDATING
from hookrunner.webhooks.serving import Trust
from tests.faults.proxy import Proxy
from tests.flows.waiting import until
from tests.kube.real import credentials_of
from tests.registration.conftest import world
from tests.registration.world import World, entry_names

__all__ = ["world"]

ONE = "one.example.com"


@pytest.mark.parametrize("world", ["cluster"], indirect=True)
async def test_unwritable_object_does_not_block_repairs_of_others(world: World, proxy: Proxy) -> None:
    world.credentials = credentials_of(proxy.kubeconfig)
    proxy.answer(500, "GET mutatingwebhookconfigurations", times=1000)
    registrar, _ = await world.registrar(world.desired(world.validating(ONE)))
    trust = Trust(registrar)
    running = asyncio.gather(trust.keep(world.watches()), trust.part("admission")(b""))
    registered = f'kind="ValidatingWebhookConfiguration",name="{world.name}"}} 1'.encode()
    await until(lambda: registered in world.metrics.exposition(), "the first registration", 15)
    await until(lambda: MUTATING.kind in registrar.condition()[1], "word of the other", 15)
    await world.delete(VALIDATING)
    await world.seen(VALIDATING, lambda obj: obj and entry_names(obj) == [ONE])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_later_server_is_awaited_without_blocking_others(world: World) -> None:
    registrar, _ = await world.registrar(world.desired(world.validating(ONE)))
    trust = Trust(registrar)
    first = trust.part("admission")
    await first(b"")
    await trust.complete()
    second, waits = trust.part("conversion"), asyncio.create_task(trust.complete())
    await world.delete(VALIDATING)
    await first(b"")
    assert entry_names(await world.get(VALIDATING)) == [ONE]
    assert not waits.done()
    await second(b"")
    await waits

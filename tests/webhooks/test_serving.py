"""What all servers want to be trusted is published together, and looked after from then on."""

import asyncio

import pytest

from hookrunner.kube.credentials import Credentials, loaded
from hookrunner.kube.loading import Loading
from hookrunner.registration.merging import MUTATING, VALIDATING
from hookrunner.settings import KubeSettings
from hookrunner.webhooks.plan import Secret, Server
from hookrunner.webhooks.serving import _Trust
from tests.faults.proxy import Proxy
from tests.flows.waiting import until
from tests.registration.conftest import world
from tests.registration.world import World, entry_names

__all__ = ["world"]

ONE = "one.example.com"
SERVER = Server(frozenset({"admission"}), "", 0, "", (), Secret("", "", True), ())


@pytest.mark.parametrize("world", ["cluster"], indirect=True)
async def test_an_object_that_cannot_be_written_keeps_no_other_from_being_repaired(world: World, proxy: Proxy) -> None:
    settings = KubeSettings(config=proxy.kubeconfig)
    world.credentials = Credentials(settings, await loaded(Loading(settings)))
    proxy.answer(500, "GET mutatingwebhookconfigurations", times=1000)
    registrar, _ = await world.registrar(world.wish(world.validating(ONE)))
    trust = _Trust(registrar, 1)
    running = asyncio.gather(trust.keep(world.watches()), trust.part(SERVER)(b""))
    registered = f'kind="ValidatingWebhookConfiguration",name="{world.name}"}} 1'.encode()
    await until(lambda: registered in world.metrics.exposition(), "the first registration", 15)
    await until(lambda: MUTATING.kind in registrar.condition()[1], "word of the other", 15)
    await world.delete(VALIDATING)
    await world.seen(VALIDATING, lambda obj: obj and entry_names(obj) == [ONE])
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

"""Load balancers without a Service, and why they cannot be found. Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from hookrunner.cloud.answers import ErrorCode, Interface, ProviderError
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.cloud.takeover.orphan_search import OrphansUnknown, find_orphans
from tests.cloud.cloud_world import CloudWorld, running
from tests.cloud.fake_cloud import FakeLoadBalancer
from tests.cloud.services.service_samples import service

pytestmark = pytest.mark.looptime(noop_cycles=2)
NO_VERB = ProviderError(ErrorCode.NOT_IMPLEMENTED, "only instances")


@dataclass
class Searched(CloudWorld):
    """A cloud, and a cluster whose Services are watched."""

    def __post_init__(self) -> None:
        self.services = ServiceInformer(self.api)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        async with running(self.services.follow):
            await asyncio.sleep(1)
            yield

    async def refusal(self, watches_services: bool = True) -> str:
        with pytest.raises(OrphansUnknown) as raised:
            await find_orphans(self.cloud, self.services, watches_services)
        return str(raised.value)


async def test_load_balancers_without_a_service_are_orphans() -> None:
    searched = Searched()
    uid = searched.api.put(service("web"))["metadata"]["uid"]
    for key, about in ((uid, "default/web"), ("older", "default/web"), ("gone", "default/gone")):
        searched.cloud.load_balancers[key] = FakeLoadBalancer(f"lb-{key}", about, ())
    async with searched.following():
        orphans = await find_orphans(searched.cloud, searched.services, watches_services=True)
        assert [(orphan.name, orphan.reason) for orphan in orphans] == [
            ("lb-older", "the Service of this name is another one"),
            ("lb-gone", "the Service does not exist"),
        ]


async def test_provider_without_the_verb_is_told_what_to_add() -> None:
    searched = Searched()
    searched.cloud.fail(verbs.LB_LIST, NO_VERB)
    async with searched.following():
        assert await searched.refusal() == (
            "the provider 'sim' does not answer lb-list, so its load balancers cannot be compared with Services: add "
            "the verb (docs/providers.md#lb-list), or compare them in the cloud by hand"
        )


async def test_provider_without_load_balancers_has_no_orphans_to_look_for() -> None:
    searched = Searched()
    searched.cloud.capabilities = searched.cloud.capabilities.without(Interface.LOAD_BALANCER)
    searched.cloud.fail(verbs.LB_LIST, NO_VERB)
    async with searched.following():
        assert "keeps no load balancers: interfaces.loadBalancer" in await searched.refusal()


async def test_another_failure_says_where_to_see_more() -> None:
    searched = Searched()
    searched.cloud.fail(verbs.LB_LIST, ProviderError(ErrorCode.UNAVAILABLE, "exit code 2"))
    async with searched.following():
        said = await searched.refusal()
        assert "lb-list of the provider 'sim' failed: Unavailable: exit code 2" in said
        assert "hookrunner cloud call" in said


async def test_nothing_is_an_orphan_before_all_services_are_known() -> None:
    searched = Searched()
    assert "the services have not been listed" in await searched.refusal()
    assert "--controllers leaves service-lb-controller out" in await searched.refusal(watches_services=False)

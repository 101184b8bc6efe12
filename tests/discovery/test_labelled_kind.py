"""The objects of a kind that have addons' labels. Level: FakeCluster."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, cast

import pytest

from hookrunner.discovery.addon_queue import AddonQueue
from hookrunner.discovery.labelled_kind import LabelledKind
from hookrunner.kube.informer import Opener
from hookrunner.model.events import WatchLost, WatchRestored
from hookrunner.model.resources import Selection
from tests.fakes.cluster import FakeCluster, running, settle
from tests.fakes.objects import deployment

pytestmark = pytest.mark.looptime


class Labelled:
    """A kind on a cluster, whose queue is read here."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.queue = AddonQueue()
        opener = cast(Opener, self)
        self.kind = LabelledKind("Deployment", opener, self.queue)

    def open(self, selection: Selection) -> Any:
        return self.cluster.watch(selection)

    def put(self, name: str, *addons: str, **status: Any) -> Any:
        labels = {f"discovery.addons.k8s.io/{addon}": "" for addon in addons}
        metadata = {"name": name, "namespace": "default", "labels": labels, "generation": 1}
        return self.cluster.put(deployment(name) | {"metadata": metadata, "status": status})

    def shown(self, addon: str) -> list[str]:
        now = asyncio.get_running_loop().time()
        return sorted(f"{part} {part.health.status}" for part in self.kind.components(addon, now))

    async def noted(self) -> list[str]:
        """The addons that have changed, in the next second and a half."""
        await asyncio.sleep(1.5)
        return sorted([await self.queue.take() for _ in range(len(self.queue))])


@pytest.fixture
async def labelled() -> AsyncIterator[Labelled]:
    labelled = Labelled(FakeCluster())
    async with running(labelled.kind.follow()):
        yield labelled


async def test_object_of_two_addons_is_a_component_of_both(labelled: Labelled) -> None:
    labelled.put("a", "web", "dns")
    labelled.put("b")
    assert (await labelled.noted(), labelled.kind.addons) == (["dns", "web"], frozenset({"dns", "web"}))
    assert labelled.shown("web") == labelled.shown("dns") == ["Deployment default/a InProgress"]


async def test_object_that_loses_a_label_or_is_deleted_leaves_its_addon(labelled: Labelled) -> None:
    a, _ = labelled.put("a", "web", "dns"), labelled.put("b", "web")
    await labelled.noted()
    labelled.put("a", "dns")
    assert (await labelled.noted(), labelled.shown("web")) == (["dns", "web"], ["Deployment default/b InProgress"])
    labelled.put("b")
    labelled.cluster.delete(a)
    assert (await labelled.noted(), labelled.kind.addons) == (["dns", "web"], frozenset())


async def test_change_that_matters_not_is_not_noted(labelled: Labelled) -> None:
    labelled.put("a", "web", observedGeneration=1, replicas=1)
    labelled.put("b")
    await labelled.noted()
    labelled.put("a", "web", observedGeneration=1, replicas=1, collisionCount=3)
    labelled.put("b", replicas=7)
    assert await labelled.noted() == []


async def test_relist_drops_what_was_deleted_meanwhile(labelled: Labelled) -> None:
    a, b = labelled.put("a", "web"), labelled.put("b", "dns")
    await labelled.noted()
    for obj in (a, b):
        labelled.cluster.silently(partial(labelled.cluster.delete, obj))
    labelled.cluster.relist()
    assert "dns" in await labelled.noted()
    assert labelled.kind.addons == frozenset()


async def test_lost_watch_makes_health_unknown_after_a_while(labelled: Labelled) -> None:
    labelled.put("a", "web")
    await settle()
    labelled.cluster.tell(WatchLost("no connection", brief=True))
    await asyncio.sleep(74)
    assert labelled.shown("web") == ["Deployment default/a InProgress"]
    await asyncio.sleep(1)
    assert labelled.shown("web") == ["Deployment default/a Unknown"]
    labelled.cluster.tell(WatchRestored())
    await settle()
    assert labelled.shown("web") == ["Deployment default/a InProgress"]


async def test_kind_that_is_served_no_more_has_no_objects_after_a_while(labelled: Labelled) -> None:
    """Not at once: an API server that has just started knows no custom kinds for a moment."""
    labelled.put("a", "web")
    await settle()
    labelled.cluster.tell(WatchLost("unknown kind", brief=False, is_unserved=True))
    await asyncio.sleep(74)
    assert labelled.shown("web") == ["Deployment default/a InProgress"]
    await asyncio.sleep(1)
    assert labelled.shown("web") == []


async def test_kind_without_a_right_counts_as_known_and_says_why() -> None:
    labelled = Labelled(FakeCluster(forbidden={"Deployment"}))
    assert not labelled.kind.is_known(0)
    async with running(labelled.kind.follow()):
        await settle()
        assert (labelled.kind.is_known(0), labelled.kind.obstacle(0)) == (True, "forbidden: Deployment")
        labelled.put("a", "web")
        labelled.cluster.granted.set()
        assert (await labelled.noted(), labelled.kind.obstacle(2)) == (["web"], "")


async def test_kinds_without_a_status_are_watched_without_their_content() -> None:
    labelled = Labelled(FakeCluster())
    names = ("secrets", "configmaps", "clusterroles.rbac.authorization.k8s.io", "pods", "webs.example.com")
    for name in names:
        async with running(LabelledKind(name, cast(Opener, labelled), labelled.queue).follow()):
            await settle()
    assert [(watch.api_version, watch.metadata_only) for watch in labelled.cluster.watches] == [
        ("v1", True),
        ("v1", True),
        ("rbac.authorization.k8s.io/v1", True),
        ("", False),
        ("", False),
    ]

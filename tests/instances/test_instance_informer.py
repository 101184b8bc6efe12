"""Which changes of an instance are news. Level: FakeCluster."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import pytest

from hookrunner.instances.instance_informer import InstanceCache, InstanceChanged, InstanceGone, InstancesListed
from hookrunner.model.events import ObjectSeen, RelistStarted, Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import Selection, key_of
from kubetypes.json_values import JSON
from tests.fakes.cluster import FakeCluster, settle
from tests.instances.samples import ADDON, document


class Watched:
    """A cluster whose instances are followed; `news` are the events since the last look, in words."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.cache = InstanceCache(ADDON)
        self._news: list[str] = []

    async def note_losses(self) -> None:
        while True:
            await self.cache.lost.next()
            self._news.append("lost")

    async def follow(self) -> None:
        async with aclosing(self.cache.follow(self)) as events:
            async for event in events:
                self._news.append(_word(event))

    def open(self, selection: Selection) -> AsyncGenerator[list[Report], None]:
        return self.cluster.watch(selection)

    async def news(self) -> list[str]:
        await settle()
        news, self._news = self._news, []
        return news


def _word(event: object) -> str:
    match event:
        case InstanceChanged(instance, is_new):
            return f"{'new' if is_new else 'changed'} {instance.name} {instance.uid}"
        case InstanceGone(instance):
            return f"gone {instance.name} {instance.uid}"
        case InstancesListed():
            return "listed"
    raise AssertionError(event)


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    watched = Watched()
    watched.cluster.put(document("a"))
    following = asyncio.gather(watched.follow(), watched.note_losses())
    assert await watched.news() == ["new a u-1", "listed"]
    yield watched
    following.cancel()


async def test_instances_are_known_when_the_list_is_complete(watched: Watched) -> None:
    assert (watched.cache.is_listed, [instance.unit for instance in watched.cache]) == (True, ["dns.default.a"])
    assert InstanceCache(ADDON).is_listed is False


async def test_object_that_cannot_be_read_hides_no_others(watched: Watched) -> None:
    broken = document("broken")
    broken["metadata"]["namespace"] = 5
    watched.cluster.put(broken)
    watched.cluster.put(document("b", "u-2"))
    assert await watched.news() == ["new b u-2"]


CHANGES: dict[str, JSON] = {
    "spec": document("a", spec={"version": "1.0.0"}),
    "labels": document("a", labels={"x": "y"}),
    "annotation that we read": document("a", annotations={"hookrunner.io/reconcile": "1"}),
    "annotation that a hook reads": document("a", annotations={"hookrunner.io/corefile-version": "1.6.7"}),
    "deletion": document("a", deletionTimestamp="2026-07-02T12:00:00Z", finalizers=["x"]),
}
SILENCE: dict[str, JSON] = {
    "status": document("a", status={"phase": "Current"}),
    "generation of a kind without the subresource": document("a", generation=7),
    "annotation of others": document("a", annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"}),
    "our finalizer": document("a", finalizers=["hookrunner.io/uninstall"]),
    "field managers": document("a", managedFields=[{"manager": "kubectl"}]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_change_that_a_run_depends_on_is_news(watched: Watched, change: JSON) -> None:
    watched.cluster.put(change)
    assert await watched.news() == ["changed a u-1"]
    watched.cluster.relist()
    assert await watched.news() == []


@pytest.mark.parametrize("change", SILENCE.values(), ids=SILENCE)
async def test_other_changes_are_kept_and_are_no_news(watched: Watched, change: JSON) -> None:
    watched.cluster.put(change)
    assert await watched.news() == []
    known = watched.cache.get("dns.default.a")
    assert known is not None
    assert known.status == change.get("status", {})
    assert known.finalizers == tuple(change["metadata"].get("finalizers", ()))


async def test_fifty_edits_are_fifty_news_and_the_last_is_kept(watched: Watched) -> None:
    for number in range(50):
        watched.cluster.put(document("a", spec={"replicas": number}))
    assert await watched.news() == ["changed a u-1"] * 50
    assert [instance.own for instance in watched.cache] == [{"replicas": 49}]


async def test_object_that_was_created_again_unseen_is_new(watched: Watched) -> None:
    watched.cluster.silently(lambda: watched.cluster.put(document("a", "u-2")))
    watched.cluster.relist()
    assert await watched.news() == ["new a u-2"]


async def test_deleted_object_is_gone_also_if_only_a_list_shows_it(watched: Watched) -> None:
    watched.cluster.put(document("b", "u-2"))
    watched.cluster.delete(document("b"))
    assert await watched.news() == ["new b u-2", "gone b u-2"]
    watched.cluster.silently(lambda: watched.cluster.delete(document("a")))
    watched.cluster.relist()
    assert (await watched.news(), [*watched.cache]) == (["gone a u-1"], [])


async def test_lost_watch_names_its_reason_until_it_is_restored(watched: Watched) -> None:
    watched.cluster.tell(WatchLost("forbidden", brief=False))
    assert (await watched.news(), watched.cache.obstacle, watched.cache.is_listed) == (["lost"], "forbidden", True)
    watched.cluster.tell(WatchRestored())
    assert (await watched.news(), watched.cache.obstacle) == ([], "")


async def test_kind_that_cannot_be_listed_leaves_its_instances_unknown() -> None:
    watched = Watched()
    watched.cluster.forbidden.add("DNS")
    following = asyncio.gather(watched.follow(), watched.note_losses())
    assert (await watched.news(), watched.cache.is_listed, watched.cache.obstacle) == ([], False, "forbidden: DNS")
    following.cancel()


def test_spec_that_is_no_map_is_an_instance_with_a_problem() -> None:
    cache = InstanceCache(ADDON)
    seen = ObjectSeen(None, key_of(document("a")), document("a") | {"spec": "text"}, "1")
    events = list(cache.read([RelistStarted(), seen, Synced("2")]))
    assert [type(event) for event in events] == [InstanceChanged, InstancesListed]
    assert [instance.problems for instance in cache] == [("spec must be a map of fields, not a text of 4 characters",)]

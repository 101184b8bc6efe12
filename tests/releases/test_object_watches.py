"""Watches that several readers share, on a cluster of the tests' own, in virtual time. Level: FakeCluster."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from functools import partial

import pytest

from hookrunner.background import Background
from hookrunner.kube.informer import Added, Deleted, Fact, Modified
from hookrunner.model.events import Report, Synced
from hookrunner.model.resources import Selection
from hookrunner.releases.object_watches import ObjectWatches, WatchReader
from tests.fakes.cluster import FakeCluster
from tests.fakes.objects import config_map

pytestmark = pytest.mark.looptime

MAPS = Selection("v1", "ConfigMap")
SECRETS = Selection("v1", "Secret")


@dataclass
class Opened:
    """Opens watches of the cluster."""

    cluster: FakeCluster

    def open(self, selection: Selection) -> AsyncGenerator[list[Report], None]:
        return self.cluster.watch(selection)


@dataclass
class Shared:
    """A cluster, its shared watches, and what each reader was shown."""

    cluster: FakeCluster
    watches: ObjectWatches
    background: Background
    shown: dict[WatchReader, list[str]] = field(default_factory=dict)

    def reader(self, whole: bool) -> WatchReader:
        reader = self.watches.reader(whole)
        self.shown[reader] = []
        self.background.keep("reader", partial(self._read, reader))
        return reader

    async def after(self, reader: WatchReader) -> list[str]:
        """The facts since the last call."""
        await asyncio.sleep(1)
        shown, self.shown[reader] = self.shown[reader], []
        return shown

    async def _read(self, reader: WatchReader) -> None:
        async for selection, facts in reader.facts():
            self.shown[reader] += [f"{selection.kind} {_word(fact)}" for fact in facts]
            if "crash" in str(self.shown[reader]):
                self.shown[reader].clear()
                raise ValueError


def _word(fact: Fact) -> str:
    match fact:
        case Added(seen) | Modified(seen):
            return f"{type(fact).__name__} {seen.key.name}"
        case Deleted(key):
            return f"Deleted {key.name}"
        case Synced():
            return "Synced"
    return "lost"


@pytest.fixture
async def shared() -> AsyncIterator[Shared]:
    async with asyncio.TaskGroup() as group:
        background, cluster = Background(group), FakeCluster()
        yield Shared(cluster, ObjectWatches(Opened(cluster), background), background)
        background.stop()


def opened(shared: Shared) -> list[str]:
    """The watches that were opened, of whole objects unless they are marked."""
    return [f"{selection.kind}{' metadata' * selection.metadata_only}" for selection in shared.cluster.watches]


async def test_a_reader_is_shown_what_it_needs_and_no_more(shared: Shared) -> None:
    shared.cluster.put(config_map("a"))
    reader = shared.reader(whole=False)
    reader.need({MAPS, SECRETS})
    assert sorted(await shared.after(reader)) == ["ConfigMap Added a", "ConfigMap Synced", "Secret Synced"]
    reader.need({SECRETS})
    shared.cluster.delete(config_map("a"))
    assert await shared.after(reader) == []
    assert (sorted(opened(shared)), shared.cluster.open_watches) == (["ConfigMap metadata", "Secret metadata"], 1)


async def test_readers_of_one_selection_share_a_watch_that_shows_each_of_them_everything(shared: Shared) -> None:
    shared.cluster.put(config_map("a"))
    first, second = shared.reader(whole=False), shared.reader(whole=False)
    first.need({MAPS})
    assert await shared.after(first) == ["ConfigMap Added a", "ConfigMap Synced"]
    second.need({MAPS})
    listed = ["ConfigMap Modified a", "ConfigMap Synced"]
    assert (await shared.after(second), await shared.after(first)) == (listed, listed)
    shared.cluster.delete(config_map("a"))
    assert (await shared.after(second), await shared.after(first)) == (["ConfigMap Deleted a"],) * 2
    assert shared.cluster.open_watches == 1


async def test_whole_objects_are_shown_while_a_reader_needs_them(shared: Shared) -> None:
    metadata, whole = shared.reader(whole=False), shared.reader(whole=True)
    for reader in (metadata, whole):
        reader.need({MAPS})
        await shared.after(reader)
    whole.need(set())
    await shared.after(whole)
    assert opened(shared) == ["ConfigMap metadata", "ConfigMap", "ConfigMap metadata"]
    assert shared.cluster.open_watches == 1
    metadata.need(set())
    await shared.after(metadata)
    assert shared.cluster.open_watches == 0


async def test_an_object_that_is_deleted_between_two_watches_is_not_missed(shared: Shared) -> None:
    shared.cluster.put(config_map("a"))
    metadata, whole = shared.reader(whole=False), shared.reader(whole=True)
    metadata.need({MAPS})
    await shared.after(metadata)
    whole.need({MAPS})
    shared.cluster.delete(config_map("a"))
    assert await shared.after(metadata) == ["ConfigMap Deleted a", "ConfigMap Synced"]
    assert not metadata.present(MAPS).has("default", "a")


async def test_readers_that_join_before_the_first_list_cost_one_list(shared: Shared) -> None:
    first, second = shared.reader(whole=True), shared.reader(whole=False)
    first.need({MAPS})
    second.need({MAPS})
    assert (await shared.after(second), opened(shared)) == (["ConfigMap Synced"], ["ConfigMap"])


async def test_a_reader_that_crashed_begins_with_what_exists(shared: Shared) -> None:
    reader = shared.reader(whole=False)
    reader.need({MAPS})
    await shared.after(reader)
    shared.cluster.put(config_map("crash"))
    await asyncio.sleep(0.1)
    shared.cluster.delete(config_map("crash"))
    await asyncio.sleep(5)
    assert (await shared.after(reader))[-1] == "ConfigMap Synced"

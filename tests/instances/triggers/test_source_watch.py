"""Which addons hear of a change of channels and packages in the cluster, and when. Level: FakeCluster."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hookrunner.instances.triggers.source_watch import SETTLED, SourceWatch
from hookrunner.packages.cluster_source import PACKAGE_LABEL
from hookrunner.packages.source_locations import ClusterLocation
from kubetypes.json_values import JSON
from tests.fakes.cluster import FakeCluster, running
from tests.fakes.objects import config_map
from tests.instances.living import addon

pytestmark = pytest.mark.looptime

LOCATION = ClusterLocation("ConfigMap", "addons")
ADDONS = {name: addon(name) for name in ("dns", "proxy")}


class Watched:
    """A source that is watched; `heard` are the addons that were told of changes, each time."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.heard: list[list[str]] = []

    async def listen(self) -> None:
        opener: Any = self.cluster
        opener.open = self.cluster.watch
        watch = SourceWatch(LOCATION, ADDONS, opener)
        async with asyncio.TaskGroup() as group:
            for index in (0, 1):
                group.create_task(watch.follow(index))
            async for names in watch.changes():
                self.heard.append(sorted(names))

    async def hears(self) -> list[list[str]]:
        await asyncio.sleep(5 * SETTLED)
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    watched = Watched()
    watched.cluster.put(channels("1"))
    watched.cluster.put(package("dns"))
    async with running(watched.listen()):
        yield watched


def channels(text: str) -> JSON:
    return config_map("addon-channels", "addons", stable=text)


def package(component: str, text: str = "") -> JSON:
    obj = config_map(f"package-{component}", "addons", text=text)
    return obj | {"metadata": obj["metadata"] | {"labels": {PACKAGE_LABEL: component}}}


async def test_first_list_concerns_all_addons_of_the_source(watched: Watched) -> None:
    """A run may have read the source before it."""
    assert await watched.hears() == [["dns", "proxy"]]


async def test_moved_channel_concerns_all_addons_of_the_source(watched: Watched) -> None:
    await watched.hears()
    watched.cluster.put(channels("2"))
    assert await watched.hears() == [["dns", "proxy"]]


async def test_package_concerns_the_addon_whose_component_it_is(watched: Watched) -> None:
    await watched.hears()
    for component in ("proxy", "unknown"):
        watched.cluster.put(package(component, "1"))
        assert await watched.hears() == ([["proxy"]] if component == "proxy" else [])


async def test_objects_of_a_package_that_are_written_one_after_another_are_one_change(watched: Watched) -> None:
    await watched.hears()
    for number in range(10):
        watched.cluster.put(package("dns", str(number)))
        await asyncio.sleep(SETTLED / 2)
    assert await watched.hears() == [["dns"]]


async def test_package_that_is_deleted_or_gets_another_label_is_a_change(watched: Watched) -> None:
    await watched.hears()
    moved = package("dns")
    watched.cluster.put(moved | {"metadata": moved["metadata"] | {"labels": {PACKAGE_LABEL: "proxy"}}})
    assert await watched.hears() == [["dns", "proxy"]]
    watched.cluster.delete(moved)
    assert await watched.hears() == [["proxy"]]


async def test_list_that_shows_nothing_new_is_no_change(watched: Watched) -> None:
    await watched.hears()
    watched.cluster.relist()
    assert await watched.hears() == []
    watched.cluster.silently(lambda: watched.cluster.put(package("dns", "2")))
    watched.cluster.relist()
    assert await watched.hears() == [["dns"]]


async def test_other_objects_of_the_namespace_are_not_watched(watched: Watched) -> None:
    await watched.hears()
    watched.cluster.put(config_map("other", "addons"))
    assert await watched.hears() == []
    assert all(selection.metadata_only for selection in watched.cluster.watches)

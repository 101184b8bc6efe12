"""The objects of releases, by addon. Level: FakeCluster."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import pytest

from hookrunner.background import Background
from hookrunner.discovery.addon_queue import AddonQueue
from hookrunner.discovery.installed_components import InstalledComponents, addon_name
from hookrunner.errors import Unreachable
from hookrunner.kube.informer import Opener
from hookrunner.model.events import WatchLost
from hookrunner.model.releases import DeployedRevision, Head
from hookrunner.model.resources import Selection
from hookrunner.releases.object_watches import ObjectWatches
from hookrunner.waits import Batches
from tests.fakes.cluster import FakeCluster, running
from tests.fakes.objects import config_map, deployment

pytestmark = pytest.mark.looptime

MANAGED = {"app.kubernetes.io/managed-by": "Helm"}
MAP: Any = config_map("settings")
WEB: Any = deployment("web")
JOB: Any = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"ttlSecondsAfterFinished": 5}}
JOB |= {"metadata": {"name": "once", "annotations": {}}}


class Records:
    """The records of releases; `reads` are those that were read."""

    def __init__(self) -> None:
        self.deployed: dict[Head, DeployedRevision] = {}
        self.reads: list[str] = []
        self.away = False
        self.broken: set[str] = set()
        self.seconds = 0.0

    async def read_heads(self, namespace: str) -> Mapping[str, Head]:
        if self.away:
            raise Unreachable("no connection")
        return {head.name: head for head in self.deployed}

    async def read_deployed(self, head: Head) -> DeployedRevision:
        if self.away or head.name in self.broken:
            raise Unreachable("no connection")
        await asyncio.sleep(self.seconds)
        self.reads.append(f"{head.name} {head.revision}")
        return self.deployed[head]


class Installed:
    """What is installed in namespace `default`, followed."""

    def __init__(self, background: Background) -> None:
        self.cluster, self.records, self.queue = FakeCluster(), Records(), AddonQueue()
        self.changes = Batches[str]()
        watches = ObjectWatches(cast(Opener, self), background)
        self.parts = InstalledComponents(self.records, self.changes, watches, self.queue)

    def open(self, selection: Selection) -> Any:
        return self.cluster.watch(selection)

    def put(self, obj: Any, **status: Any) -> Any:
        metadata = {"namespace": "default", "labels": MANAGED, "generation": 1} | obj["metadata"]
        return self.cluster.put(obj | {"metadata": metadata, "status": {"observedGeneration": 1} | status})

    def release(self, name: str, *objects: Any, revision: int = 1, addon: str = "", version: str = "1.0.0") -> None:
        """A release is deployed in this revision."""
        self.records.deployed = {head: of for head, of in self.records.deployed.items() if head.name != name}
        head = Head(name, "default", revision, "deployed", owned=True, addon=addon)
        self.records.deployed[head] = DeployedRevision(objects, version)
        self.changes.put(name)

    async def shown(self, addon: str, after: float = 2.0) -> list[str] | None:
        """The components of an addon after a while, None while they are not known."""
        await asyncio.sleep(after)
        parts = self.parts.components(addon, asyncio.get_running_loop().time())
        return None if parts is None else sorted(f"{part} {part.health.status}" for part in parts)


@pytest.fixture
async def installed() -> AsyncIterator[Installed]:
    async with asyncio.TaskGroup() as group:
        background = Background(group)
        installed = Installed(background)
        parts = installed.parts
        facts = parts.follow_facts(parts.whole), parts.follow_facts(parts.metadata)
        async with running(parts.follow_records(lambda: ["default"]), *facts):
            yield installed
        background.stop()


async def test_objects_of_a_release_are_listed_with_their_health(installed: Installed) -> None:
    installed.put(MAP), installed.put(WEB)
    installed.release("web", MAP, WEB, JOB)
    assert await installed.shown("web") == ["ConfigMap default/settings Current", "Deployment default/web InProgress"]
    ready = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}
    installed.put(WEB, **ready, conditions=[{"type": "Available", "status": "True"}])
    assert (await installed.shown("web"))[1] == "Deployment default/web Current"  # type: ignore[index]
    assert [await installed.queue.take() for _ in range(len(installed.queue))] == ["web"]


async def test_instances_of_an_addon_are_one_addon(installed: Installed) -> None:
    installed.put(MAP), installed.put(WEB)
    installed.release("dns.default.a", MAP, addon="dns.default.a", version="1.1.0")
    installed.release("dns.default.b", WEB, addon="dns.default.b", version="1.2.0")
    assert len(await installed.shown("dns") or ()) == 2
    assert (installed.parts.addons, sorted(installed.parts.versions("dns"))) == (frozenset({"dns"}), ["1.1.0", "1.2.0"])


async def test_kinds_of_releases_share_watches_and_need_no_content_without_a_rule(installed: Installed) -> None:
    installed.release("a", MAP, WEB)
    installed.release("b", config_map("other"))
    await installed.shown("a")
    opened = sorted((watch.kind, watch.metadata_only) for watch in installed.cluster.watches)
    assert opened == [("ConfigMap", True), ("Deployment", False)]


async def test_deleted_object_is_missing_and_deleted_release_is_gone(installed: Installed) -> None:
    live = installed.put(MAP)
    installed.release("web", MAP)
    assert await installed.shown("web") == ["ConfigMap default/settings Current"]
    installed.cluster.delete(live)
    assert await installed.shown("web") == ["ConfigMap default/settings NotFound"]
    installed.records.deployed.clear()
    assert await installed.shown("web", 31) == []
    assert (installed.parts.addons, installed.cluster.open_watches) == (frozenset(), 0)


async def test_record_is_read_once_for_each_revision(installed: Installed) -> None:
    installed.release("web", MAP)
    await installed.shown("web", 200)
    installed.release("web", MAP, revision=2, version="2.0.0")
    await installed.shown("web", 200)
    assert (installed.records.reads, installed.parts.versions("web")) == (["web 1", "web 2"], ["2.0.0"])


async def test_records_that_cannot_be_read_leave_what_is_known(installed: Installed) -> None:
    installed.put(MAP)
    installed.release("web", MAP)
    assert await installed.shown("web") == ["ConfigMap default/settings Current"]
    installed.records.away = True
    installed.release("web", MAP, WEB, revision=2)
    assert await installed.shown("web", 20) == ["ConfigMap default/settings Current"]


async def test_new_releases_count_when_their_objects_are_watched(installed: Installed) -> None:
    """Not one by one, while the records of others are read."""
    await installed.shown("web")
    installed.records.seconds = 5.0
    installed.release("web", MAP)
    installed.release("dns", WEB)
    assert await installed.shown("web", 8) == []
    assert await installed.shown("web", 8) == ["ConfigMap default/settings NotFound"]


async def test_record_that_cannot_be_read_keeps_back_its_own_addon_alone(installed: Installed) -> None:
    installed.put(MAP)
    installed.records.broken.add("broken")
    installed.release("broken", MAP)
    installed.release("web", MAP)
    assert await installed.shown("broken") is None
    assert (await installed.shown("web"), installed.parts.is_read) == (["ConfigMap default/settings Current"], True)
    installed.records.broken.clear()
    assert await installed.shown("broken", 6) == ["ConfigMap default/settings Current"]


async def test_nothing_counts_as_read_before_the_records_could_be() -> None:
    async with asyncio.TaskGroup() as group:
        installed = Installed(Background(group))
        installed.records.away = True
        async with running(installed.parts.follow_records(lambda: ["default"])):
            await asyncio.sleep(20)
            assert not installed.parts.is_read
            installed.records.away = False
            await asyncio.sleep(5)
            assert installed.parts.is_read


async def test_health_is_unknown_before_the_list_and_after_a_long_loss(installed: Installed) -> None:
    installed.cluster.listing.clear()
    installed.release("web", WEB)
    assert await installed.shown("web") is None
    installed.put(WEB)
    installed.cluster.listing.set()
    assert await installed.shown("web") == ["Deployment default/web InProgress"]
    installed.cluster.tell(WatchLost("no connection", brief=True))
    assert await installed.shown("web", 76) == ["Deployment default/web Unknown"]


def test_release_is_listed_under_the_name_of_its_addon_or_module() -> None:
    assert addon_name(Head("dns.default.a", "ns", 1, "deployed", addon="dns.default.a")) == "dns"
    assert addon_name(Head("ingress-nginx", "ns", 1, "deployed")) == "ingress-nginx"

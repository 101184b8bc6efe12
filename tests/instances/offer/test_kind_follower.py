"""What becomes of kinds and their instances when the offer changes. Level: FakeCluster."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.addons.addon_values import AddonValues
from hookrunner.addons.offer.addon_offer import AddonOffer, OfferedAddon
from hookrunner.instances.offer.kind_follower import KindFollower
from hookrunner.instances.offer.kind_life import KindParts
from hookrunner.instances.reports.sight import LeftKinds, Sight
from hookrunner.kube.back_off import Outage
from hookrunner.model.addons import FINALIZER, Addon
from tests.convergence.conftest import MakeSite
from tests.instances.living import Living, addon, head_of

pytestmark = pytest.mark.looptime

DNS = "dns.kube-system.x"
EXTERNAL: Mapping[str, str] = {"crd": "external"}


class Cluster:
    """Applies no definitions, and purges nothing; `purged` are the kinds whose instances were looked at for that, which
    takes until `can_purge`."""

    def __init__(self) -> None:
        self.purged: list[str] = []
        self.can_purge = asyncio.Event()
        self.can_purge.set()

    async def ensure(self, *_: object) -> None: ...

    async def purge(self, cache: Any) -> bool:
        self.purged.append(cache.addon.object.kind)
        return await self.can_purge.wait()


class Offering:
    """A world whose kinds are those of an offer."""

    def __init__(self, world: Living, *addons: Addon) -> None:
        self.world, self.offer, self.left, self.shared = world, AddonOffer(), LeftKinds(), list[Any]()
        cluster: Any = Cluster()
        self.cluster = cluster
        background = world.site.background
        outage = Outage()
        parts = KindParts(world.registry, cluster, world.watches, cluster, self._converged, outage, background)
        self.sight = Sight(world.caches, outage, self.left)
        self.set(*addons)
        follower = KindFollower(self.offer, parts, self.left, self.shared.append)
        background.keep("offered kinds", follower.follow)

    async def _converged(self) -> None: ...

    def set(self, *addons: Addon) -> None:
        """From now on these are offered."""
        self.offer.set_directories((OfferedAddon(each, AddonValues(), "") for each in addons), ())


def external(name: str, **keys: Any) -> Addon:
    return addon(name, of=EXTERNAL, **keys)


async def started(make_site: MakeSite, *addons: Addon) -> tuple[Offering, Living]:
    world = Living(make_site())
    offering = Offering(world, *addons)
    await world.start()
    return offering, world


async def installed(make_site: MakeSite, *others: Addon) -> tuple[Offering, Living]:
    """An instance of one addon, of these that are offered, has run."""
    offering, world = await started(make_site, external("dns"), *others)
    world.put("x", "dns")
    assert await world.runs() == [DNS]
    return offering, world


async def test_what_leaves_the_offer_keeps_what_it_has_installed_and_its_kind_is_not_watched(
    make_site: MakeSite,
) -> None:
    offering, world = await installed(make_site, external("other"))
    before = world.object("x")
    offering.set(external("other"))
    assert await world.runs() == []
    assert (world.registry.live, world.ended, [*world.caches]) == ((), [DNS], ["other"])
    assert (world.site.releases.installed, world.object("x")) == ({DNS}, before)
    assert world.cluster.open_watches == 1
    [loss] = offering.sight.losses()
    assert loss.startswith("dns (DNS): not offered since ")
    assert loss.endswith(
        "does not exist any more; 1 instance stays as it is, with all that is installed, until it is offered again"
    )


async def test_what_comes_back_continues(make_site: MakeSite) -> None:
    offering, world = await installed(make_site)
    offering.set()
    await world.runs()
    kept = world.object("x")
    world.cluster.put(kept | {"spec": {"replicas": 2}})
    assert await world.runs() == []
    offering.set(external("dns"))
    assert (await world.runs(), world.planner(DNS).specs, [*offering.left]) == ([DNS], [{"replicas": 2}], [])


async def test_instance_deleted_meanwhile_is_removed_when_its_addon_is_back(make_site: MakeSite) -> None:
    offering, world = await installed(make_site)
    offering.set()
    await world.runs()
    world.cluster.put(deleted(world.object("x")))
    assert (await world.runs(), world.site.releases.installed) == ([], {DNS})
    offering.set(external("dns"))
    await world.runs()
    assert (world.site.releases.installed, world.cluster.objects) == (set(), {})


def deleted(obj: Any) -> Any:
    """As its user does it."""
    metadata = {"deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": [FINALIZER]}
    return obj | {"metadata": obj["metadata"] | metadata}


async def test_deletion_that_is_under_way_goes_on(make_site: MakeSite) -> None:
    offering, world = await installed(make_site)
    world.site.work.takes = {f"{DNS} uninstall": 20.0}
    world.delete("x", "dns")
    await asyncio.sleep(1)
    offering.set()
    await world.runs()
    assert (world.site.releases.installed, world.registry.live) == (set(), ())


async def test_addon_whose_files_have_changed_runs_again_with_them(make_site: MakeSite) -> None:
    offering, world = await installed(make_site)
    changed = replace(external("dns", channel="next"), stamp="2")
    offering.set(changed)
    assert await world.runs() == [DNS]
    assert (world.planner(DNS).addon, [*offering.left], world.site.releases.installed) == (changed, [], {DNS})


async def test_change_during_a_run_waits_for_its_end(make_site: MakeSite) -> None:
    offering, world = await started(make_site, external("dns"))
    world.site.work.takes = {f"{DNS} release": 30.0}
    world.put("x", "dns")
    await world.site.reaches(f"{DNS} release")
    offering.set(replace(external("dns"), stamp="2"))
    assert (await world.runs())[-1:] == [DNS]
    assert (world.planner(DNS).addon.stamp, world.site.releases.installed) == ("2", {DNS})


async def test_run_that_begins_when_its_addon_has_left_writes_nothing(make_site: MakeSite) -> None:
    _, world = await installed(make_site)
    planner = world.planner(DNS)
    world.registry.withdraw("dns")
    served = await planner.served.get()
    obstacle = (await world.gates.admit(planner.instance, planner.addon, served)).obstacle
    assert obstacle
    assert (obstacle.phase, obstacle.message) == ("Pending", "waiting for the addon dns, which has left")


async def test_another_kind_under_one_name_leaves_the_instances_of_the_first(make_site: MakeSite) -> None:
    offering, world = await installed(make_site)
    offering.set(addon("dns", of={**EXTERNAL, "kind": "Names", "plural": "names"}))
    assert (await world.runs(), world.site.releases.installed) == ([], {DNS})
    assert ["its kind is addons.x-k8s.io/v1alpha1 Names now" in left.reason for left in offering.left] == [True]


async def test_kind_without_instances_leaves_without_a_word(make_site: MakeSite) -> None:
    offering, world = await started(make_site, external("dns"))
    offering.set()
    await world.runs()
    assert [*offering.sight.losses()] == []


async def test_instance_that_waits_for_an_addon_runs_when_it_is_offered(make_site: MakeSite) -> None:
    waiting = external("dns", requires={"addons": ["proxy"]})
    offering, world = await started(make_site, waiting)
    world.put("x", "dns")
    assert (await world.runs(), world.phases) == ([], {"x": "Pending"})
    assert "addon proxy, which is not offered" in str(world.obstacle(DNS))
    offering.set(waiting, external("proxy"))
    await world.runs()
    assert "addon proxy, which is not offered" not in str(world.obstacle(DNS))


async def test_withdrawn_rival_lets_no_one_in_by_itself(make_site: MakeSite) -> None:
    """What it has installed is still there."""
    cni = {"exclusive": "cni"}
    offering, world = await started(make_site, external("a", **cni), external("b", **cni))
    world.put("x", "a", created=1)
    world.put("y", "b", created=2)
    await world.runs()
    offering.set(external("b", **cni))
    assert (await world.runs(), world.phases) == ([], {"y": "Conflict"})


async def test_replaced_one_returns_when_its_vanished_successor_is_purged(make_site: MakeSite) -> None:
    """A user has taken the finalizer of the successor away while no process ran."""
    old, new = "old.kube-system.x", "new.kube-system.x"
    world = Living(make_site())
    offering = Offering(world, external("old", exclusive="cni"), external("new", exclusive="cni"))
    offering.cluster.can_purge.clear()
    world.heads[new] = replace(head_of(new), predecessor=old, succession=1)
    world.site.releases.installed.add(new)
    await world.start()
    world.put("x", "old")
    assert (await world.runs(), world.phases) == ([], {"x": "Conflict"})
    world.site.releases.installed.remove(new)
    offering.cluster.can_purge.set()
    assert await world.runs() == [old]


async def test_global_values_of_all_addons_are_shared_at_each_change(make_site: MakeSite) -> None:
    offering, world = await started(make_site)
    values = AddonValues(shared={"zone": "x"})
    offering.offer.set_directories([OfferedAddon(external("dns"), values, "")], ())
    await world.runs()
    assert offering.shared == [{}, {"zone": "x"}]

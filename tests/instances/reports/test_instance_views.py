"""What commands are shown of instances, and which of them they may not roll back. Level: FakeApi."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hookrunner.addons.addon_values import AddonValues
from hookrunner.addons.offer.addon_offer import AddonOffer, OfferedAddon
from hookrunner.addons.offered_versions import Offer, OfferedVersion
from hookrunner.convergence.events import Notices
from hookrunner.errors import RenderFailed
from hookrunner.instances.instance_informer import InstanceCache
from hookrunner.instances.reports.instance_views import InstanceViews
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.instances.reports.sight import Sight
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.kube.back_off import Outage
from hookrunner.model.addon_status import Installed, InstanceFacts, ObjectReport
from hookrunner.model.addons import Addon, Instance, RejectedAddon
from hookrunner.model.events import Synced, WatchLost, WatchRestored
from hookrunner.web.views.pages import View
from tests.instances.planner_world import UNIT, World, plan
from tests.instances.samples import ADDON, instance

VALUES: tuple[View, ...] = ("values", "config", "render")
THEN = "2026-07-01T12:00:00Z"
BAD = RejectedAddon("bad", Path("/nowhere/bad"), "object.kind is required")
CURRENT = InstanceFacts(
    1,
    installed=Installed("1.0", "", UNIT, 2, THEN, "stable"),
    objects=[ObjectReport("ConfigMap default/a", "Current"), ObjectReport("Service default/a", "Current")],
)


@dataclass
class Units:
    """The units of some instances."""

    units: dict[str, LiveUnit] = field(default_factory=dict)

    @property
    def live(self) -> Sequence[LiveUnit]:
        return tuple(self.units.values())

    def get(self, unit: str) -> LiveUnit | None:
        return self.units.get(unit)

    def add(self, world: World, seen: Instance) -> LiveUnit:
        live = self.units[seen.unit] = world.live(seen)
        return live


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.put("1.0")
    return world


@dataclass
class Site:
    """Views of instances in a world."""

    world: World
    units: Units = field(default_factory=Units)

    def __post_init__(self) -> None:
        self.reported = ReportedInstances(Notices(), self.world.metrics, lambda: 0.0)
        self.cache, self.outage = InstanceCache(ADDON), Outage()
        self.sight = Sight({ADDON.name: self.cache}, self.outage)

        async def read_offer(addon: Addon, channels: Sequence[str], installed: Sequence[str]) -> Offer:
            versions = tuple(map(OfferedVersion, installed))
            return Offer(addon.name, addon.component, dict.fromkeys(channels, "1.0"), {}, versions)

        offer = AddonOffer()
        offer.set_directories([OfferedAddon(ADDON, AddonValues(), "")], [BAD])
        self.views = InstanceViews(self.units, self.reported, offer, read_offer, self.sight)


@pytest.fixture
def site(world: World) -> Site:
    return Site(world)


def test_rows_show_what_was_reported_last(site: Site, world: World) -> None:
    for name in ("y", "x"):
        site.units.add(world, instance(name))
    site.reported.take_in(instance("x"), CURRENT)
    known, unknown = site.views.rows()
    assert (known.name, known.version, known.phase, known.revision, known.healthy) == ("x", "1.0", "Current", 2, True)
    assert (known.objects, known.created) == ({"Current": 2}, 1782907200.0)
    assert (unknown.name, unknown.phase, unknown.objects, unknown.pinned) == ("y", "", {}, False)


async def test_objects_are_those_that_were_reported_last(site: Site, world: World) -> None:
    site.units.add(world, instance())
    with pytest.raises(RenderFailed, match="no known objects: hookrunner has not seen them yet"):
        await site.views.objects(UNIT)
    site.reported.take_in(instance(), CURRENT)
    shown = [(row.object, row.status) for row in await site.views.objects(UNIT)]
    assert shown == [("ConfigMap default/a", "Current"), ("Service default/a", "Current")]


async def test_versions_are_asked_for_with_what_instances_follow_and_have(site: Site, world: World) -> None:
    site.units.add(world, instance())
    assert (await site.views.versions("dns", ["next"]))["channels"] == {"next": "1.0"}
    site.reported.take_in(instance(), CURRENT)
    offer = await site.views.versions("dns", ["next"])
    assert list(offer["channels"]) == ["next", "stable"]
    assert [version["version"] for version in offer["versions"]] == ["1.0"]


def test_rows_of_a_kind_that_cannot_be_watched_say_since_when(site: Site, world: World) -> None:
    site.units.add(world, instance())
    site.reported.take_in(instance(), CURRENT)
    list(site.cache.read([Synced("1")]))
    assert [row.unseen_since for row in site.views.rows()] == [0.0]
    began = time.time()
    list(site.cache.read([WatchLost("forbidden", brief=False), WatchLost("no such kind", brief=False)]))
    [row] = site.views.rows()
    assert (row.phase, began <= row.unseen_since <= time.time()) == ("Current", True)
    assert [loss.split("Z: ")[1] for loss in site.sight.losses()] == ["no such kind"]
    list(site.cache.read([WatchRestored()]))
    assert ([row.unseen_since for row in site.views.rows()], [*site.sight.losses()]) == ([0.0], [])


def test_a_kind_that_was_never_listed_is_named_unless_that_passes(site: Site) -> None:
    list(site.cache.read([WatchLost("a restart", brief=True)]))
    assert [*site.sight.losses()] == []
    list(site.cache.read([WatchLost("no right to list", brief=False)]))
    assert [loss.split("Z: ")[1] for loss in site.sight.losses()] == ["no right to list"]


def test_units_are_found_by_addon_and_name(site: Site, world: World) -> None:
    for seen in (instance(), instance(namespace="other"), instance("z")):
        site.units.add(world, seen)
    assert site.views.units("dns", "x") == {"default": UNIT, "other": "dns.other.x"}
    assert (site.views.units("dns", "nope"), site.views.units("web", "x")) == ({}, {})
    assert (site.views.addons(), site.views.rejected()) == ((ADDON,), (BAD,))


async def test_instance_that_never_ran_has_no_values_yet(site: Site, world: World) -> None:
    live = site.units.add(world, instance())
    for view in VALUES:
        assert site.views.objection(UNIT, view) == "dns/x has no values yet: its first run has not begun"
    assert (site.views.objection(UNIT, "patches"), site.views.objection(UNIT, "snapshots")) == ("", "")
    await plan(live)
    assert [site.views.objection(UNIT, view) for view in VALUES] == ["", "", ""]


async def test_spec_that_leads_to_no_package_is_not_rendered(site: Site, world: World) -> None:
    live = site.units.add(world, instance())
    await plan(live)
    assert site.views.objection(UNIT, "render") == ""
    live.planner.update(instance(spec={"version": "9.9"}))
    with pytest.raises(Exception, match=r"9\.9"):
        await plan(live)
    assert site.views.objection(UNIT, "render").startswith("dns/x: PackageError (NotFound): package dns 9.9")
    assert site.views.objection(UNIT, "values") == ""


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (instance(spec={"suspend": True}), "it is suspended"),
        (instance(deletionTimestamp=THEN), "it is being deleted"),
    ],
)
async def test_instance_that_must_not_be_written_is_not_rolled_back(
    seen: Instance, why: str, site: Site, world: World
) -> None:
    site.units.add(world, seen)
    assert site.views.objection(UNIT, "rollback").startswith(f"dns/x is not rolled back: {why}")


def test_other_instances_are_rolled_back(site: Site, world: World) -> None:
    site.units.add(world, instance())
    assert site.views.objection(UNIT, "rollback") == ""

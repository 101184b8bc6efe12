"""Releases between runs: where they are found, when their objects are watched, and which leftovers are purged.

Level: pure."""

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookrunner import log
from hookrunner.convergence.runs.unit_releases import DriftTracker, Leftovers, ReleaseLocator
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.errors import Denied, ReleaseFailed, Unreachable
from hookrunner.model.modules import Choice, Decision
from hookrunner.model.releases import Head, ObjectDrift, ObjectMarks, Predecessor, ReleaseOptions, ServiceAccount
from hookrunner.settings import Settings
from hookrunner.settings.addons import AddonsSettings
from hookrunner.settings.modules import ModulesSettings
from kubetypes.json_values import JSON
from tests.convergence.site import module

pytestmark = pytest.mark.looptime

OPTIONS = ReleaseOptions()
X: JSON = {"kind": "X", "metadata": {"name": "x"}}


def head(name: str, namespace: str = "default", revision: int = 1, **more: Any) -> Head:
    return Head(name, namespace, revision, "deployed", **{"owned": True, **more})


class Records:
    """These releases. `error` is raised instead of an answer; without `may_list_all` those elsewhere are unknown."""

    def __init__(self, *heads: Head) -> None:
        self.there = {one.name: one for one in heads}
        self.error: Exception | None = None
        self.may_list_all = True
        self.listed = 0
        self.charts = dict[str, JSON]()
        self.chart_error: Exception | None = None

    def _answer(self) -> None:
        if self.error:
            raise self.error

    async def list_heads(self, namespace: str) -> dict[str, Head]:
        self._answer()
        return {name: one for name, one in self.there.items() if one.namespace == namespace}

    async def list_strays(self) -> dict[str, Head]:
        self._answer()
        self.listed += 1
        await asyncio.sleep(0)
        if not self.may_list_all:
            raise Denied(403, "Forbidden", "no")
        return {name: one for name, one in self.there.items() if one.namespace != "default"}

    async def read_head(self, name: str, namespace: str) -> Head | None:
        return (await self.list_heads(namespace)).get(name)

    async def read_chart(self, head: Head) -> JSON:
        if self.chart_error:
            raise self.chart_error
        return self.charts.get(head.name, {})

    async def read_manifest(self, head: Head) -> tuple[JSON, ...]:
        self._answer()
        return ({"of": head.revision, "metadata": {}},)


async def test_a_release_is_found_in_its_namespace_in_ours_and_in_an_earlier_one() -> None:
    records = Records(head("a"), head("b", "elsewhere"))
    locator = ReleaseLocator(records, "default")
    for name in "ab":
        found = await locator.head(module(name, 1).unit)
        assert found
        assert found.name == name
    assert await locator.head(module("c", 1).unit) is None
    assert {*await locator.heads()} == {"a", "b"}


async def test_a_release_of_another_owner_elsewhere_is_not_the_modules() -> None:
    locator = ReleaseLocator(Records(head("a", "elsewhere", owned=False)), "default")
    assert await locator.head(module("a", 1).unit) is None


async def test_strays_are_listed_once_and_again_for_a_known_one() -> None:
    """It may have been deleted."""
    records = Records(head("b", "elsewhere"))
    locator = ReleaseLocator(records, "default")
    for name in "aab":
        await locator.head(module(name, 1).unit)
    assert records.listed == 2
    del records.there["b"]
    assert await locator.head(module("b", 1).unit) is None


async def test_modules_that_look_at_once_share_a_list_of_strays() -> None:
    records = Records()
    locator = ReleaseLocator(records, "default")
    await asyncio.gather(*(locator.head(module(name, 1).unit) for name in "abc"))
    assert records.listed == 1


async def test_without_the_right_to_list_all_records_there_are_no_strays() -> None:
    records = Records(head("a"), head("b", "elsewhere"))
    records.may_list_all = False
    assert {*await ReleaseLocator(records, "default").heads()} == {"a"}


class Watched:
    """What is watched, by release."""

    def __init__(self) -> None:
        self.objects: dict[str, JSON] = {}
        self.options: dict[str, ReleaseOptions] = {}

    def track(self, identity: Any, objects: Iterable[JSON], mode: Any, options: ReleaseOptions) -> None:
        self.objects[identity.name] = [*objects]
        self.options[identity.name] = options

    def pause(self, identity: Any) -> None:
        self.objects.pop(identity.name, None)

    def forget(self, identity: Any) -> None:
        self.objects.pop(identity.name, None)

    def known_findings(self, identity: Any) -> tuple[ObjectDrift, ...]:
        return ()


async def tracked(records: Records, steps: Callable[[DriftTracker], object]) -> tuple[DriftTracker, dict[str, JSON]]:
    """What is watched two seconds after these steps."""
    watched = Watched()
    tracker = DriftTracker(records, watched)
    keeping = asyncio.create_task(tracker.keep())
    steps(tracker)
    await asyncio.sleep(2)
    keeping.cancel()
    return tracker, watched.objects


async def test_the_objects_of_a_release_at_rest_are_watched() -> None:
    """Those that were just written, or those of its record."""
    a, b = module("a", 1).unit, module("b", 1).unit

    def steps(tracker: DriftTracker) -> None:
        tracker.track(a, head("a"), OPTIONS, (X,))
        tracker.track(b, head("b", revision=7), OPTIONS)

    tracker, watched = await tracked(Records(), steps)
    assert watched == {"a": [X], "b": [{"of": 7, "metadata": {}}]}
    assert tracker.tracks(a)


async def test_releases_that_come_to_rest_one_after_another_are_tracked_at_once() -> None:
    """Else their objects are read one by one: the watches have shown them before."""
    modules = [module(f"m{number}", 1).unit for number in range(20)]
    watched, sizes = Watched(), []
    tracker = DriftTracker(Records(), watched)
    keeping = asyncio.create_task(tracker.keep())
    for each_module in modules:
        tracker.track(each_module, head(each_module.name), OPTIONS)
        await asyncio.sleep(0.2)
        sizes.append(len(watched.objects))
    await asyncio.sleep(0.4)
    keeping.cancel()
    assert (sizes[:15], len(watched.objects)) == ([0] * 14 + [15], 20)


async def test_a_release_that_is_written_again_before_it_is_watched_is_watched_once() -> None:
    a = module("a", 1).unit

    def steps(tracker: DriftTracker) -> None:
        tracker.track(a, head("a"), OPTIONS)
        tracker.pause(ReleaseLocator(Records(), "default").identity(a))
        tracker.track(a, head("a", revision=2), OPTIONS)

    _, watched = await tracked(Records(), steps)
    assert watched == {"a": [{"of": 2, "metadata": {}}]}


async def test_an_unmanaged_or_deleted_release_is_not_watched() -> None:
    a, b = module("a", 1).unit, module("b", 1).unit

    def steps(tracker: DriftTracker) -> None:
        tracker.track(a, head("a"), OPTIONS)
        tracker.track(a, head("a", unmanaged=True), OPTIONS)
        tracker.track(b, head("b"), OPTIONS)
        tracker.forget(b)

    tracker, watched = await tracked(Records(), steps)
    assert (watched, tracker.tracks(a), tracker.tracks(b)) == ({}, False, False)


async def test_objects_of_an_addon_are_watched_with_the_options_of_their_release() -> None:
    options = ReleaseOptions(marks=ObjectMarks({"of": "a"}), respect_ignore=True)
    watched = Watched()
    tracker = DriftTracker(Records(), watched)
    keeping = asyncio.create_task(tracker.keep())
    tracker.track(module("a", 1).unit, head("a"), options, (X,))
    await asyncio.sleep(2)
    keeping.cancel()
    assert watched.objects == {"a": [X]}
    assert watched.options == {"a": options}


@pytest.mark.parametrize(
    "later", [replace(OPTIONS, predecessor=Predecessor("b", 1)), replace(OPTIONS, account=ServiceAccount("home", "c"))]
)
async def test_a_release_is_watched_with_another_predecessor_or_account_from_the_next_run_on(
    later: ReleaseOptions,
) -> None:
    """Objects that a successor has taken over would be drift of the one that it replaces."""
    watched, a, same = Watched(), module("a", 1).unit, head("a")
    tracker = DriftTracker(Records(), watched)
    keeping = asyncio.create_task(tracker.keep())
    for options in (OPTIONS, later):
        tracker.track(a, same, options, (X,))
        await asyncio.sleep(2)
        assert watched.options == {"a": options}
    keeping.cancel()


async def test_a_record_that_cannot_be_read_is_tried_again() -> None:
    records, watched = Records(), Watched()
    records.error = ReleaseFailed("no")
    tracker = DriftTracker(records, watched)
    keeping = asyncio.create_task(tracker.keep())
    tracker.track(module("a", 1).unit, head("a"), OPTIONS)
    await asyncio.sleep(2)
    assert watched.objects == {}
    records.error = None
    await asyncio.sleep(2)
    assert watched.objects == {"a": [{"of": 1, "metadata": {}}]}
    keeping.cancel()


SOME = ModulesSettings(directories=(Path("modules"),))
NO_ADDONS = AddonsSettings()
COREDNS: JSON = {
    "name": "coredns",
    "version": "1.0.0",
    "appVersion": "1.14.6",
    "home": "https://coredns.io",
    "description": "Names of Services and Pods, for everything that runs in the cluster",
}


class World:
    """Modules `a` and `b`; `purged` remembers releases, and those in `stuck` cannot be deleted."""

    def __init__(
        self,
        *heads: Head,
        certain: bool = True,
        modules: ModulesSettings = SOME,
        addons: AddonsSettings = NO_ADDONS,
        named: Iterable[str] = "ab",
    ) -> None:
        self.states = UnitStates([module(name, 1) for name in named if modules.directories])
        for state in self.states.modules:
            state.decide(Decision(Choice.ON))
        self.records, self.purged = Records(*heads), list[str]()
        self.stuck: set[str] = set()
        locator = ReleaseLocator(self.records, "default")
        purge: Callable[[Head], Awaitable[None]] = self._purge
        self.leftovers = Leftovers(self.states, locator, purge, certain, Settings(modules=modules, addons=addons))

    async def _purge(self, head: Head) -> None:
        self.purged.append(head.name)
        if head.name in self.stuck:
            raise ReleaseFailed("no")


async def test_installed_modules_are_live_from_the_start() -> None:
    world = World(head("a"), head("b", owned=False))
    world.records.error = Unreachable("no")
    assert not await world.leftovers.look()
    world.records.error = None
    assert await world.leftovers.look()
    assert [state.live for state in world.states.modules] == [True, False]


async def test_releases_without_a_module_are_purged_once_from_the_last() -> None:
    world = World(
        head("a"),
        head("x"),
        head("y"),
        head("z"),
        head("other", owned=False),
        modules=replace(SOME, ignored_releases=("z",)),
    )
    world.stuck = {"y"}
    for _ in range(2):
        await world.leftovers.look()
        await world.leftovers.clean_up()
    assert (world.purged, world.leftovers.result) == (["y", "x"], "purged: x, y")
    reasons = [notice.reason for notice in await world.states.notices.next_batch()]
    assert reasons == ["PurgeFailed", "ReleasePurged"]


async def test_nothing_is_purged_while_anything_is_in_doubt() -> None:
    world = World(head("x"))
    await world.leftovers.clean_up()
    assert world.leftovers.result == "nothing was purged: the releases could not be listed"
    await world.leftovers.look()
    world.states.module("a").decide(Decision(Choice.UNDECIDED))
    await world.leftovers.clean_up()
    assert (world.purged, world.leftovers.result) == ([], "nothing was purged: undecided: a")
    world.states.module("a").decide(Decision(Choice.OFF))
    world.records.error = Unreachable("away")
    await world.leftovers.clean_up()
    assert world.leftovers.result == "nothing was purged: the releases could not be listed: away"
    world.records.error = None
    await world.leftovers.clean_up()
    assert world.purged == ["x"]


async def test_releases_of_modules_that_no_longer_ship_are_reported_and_not_purged() -> None:
    """Also where no module is left at all, or only addons are offered; what to do is reported once."""
    heads = head("dns"), head("x")
    instead = World(
        *heads, modules=ModulesSettings(directories=()), addons=AddonsSettings(directories=(Path("addons"),))
    )
    for world in (World(*heads), World(*heads, named=()), instead):
        world.records.charts["dns"] = COREDNS
        for _ in range(2):
            await world.leftovers.look()
            await world.leftovers.clean_up()
        (notice,) = [one for one in await world.states.notices.next_batch() if one.reason == "ModuleRetired"]
        command = "kubectl delete secret,configmap -n default -l owner=helm,name=dns"
        assert (notice.subject, command in notice.message, "apply an instance of CoreDNS" in notice.message) == (
            "dns",
            True,
            True,
        )
        assert notice.message in world.leftovers.result
        assert world.purged == (["x"] if len(world.states.modules) else [])


async def test_start_without_modules_and_addons_lists_no_releases() -> None:
    world = World(head("dns"), modules=ModulesSettings(directories=()))
    await world.leftovers.look()
    await world.leftovers.clean_up()
    assert (world.records.listed, world.leftovers.result) == (0, "nothing was purged: there is no modules directory")


async def test_nothing_is_purged_while_a_chart_cannot_be_read() -> None:
    world = World(head("dns"))
    await world.leftovers.look()
    world.records.chart_error = Unreachable("away")
    await world.leftovers.clean_up()
    assert (world.purged, "away" in world.leftovers.result) == ([], True)
    world.records.chart_error = ReleaseFailed("not a valid Helm release record")
    await world.leftovers.clean_up()
    assert world.purged == ["dns"], "the purge reports it"


@pytest.mark.parametrize(
    ("directories", "level", "why"),
    [((), "info", "there is no modules directory"), ((Path("modules"),), "warn", "undecided: a, b")],
)
async def test_a_start_without_modules_warns_of_nothing(directories: tuple[Path, ...], level: str, why: str) -> None:
    world = World(head("x"), modules=ModulesSettings(directories=directories))
    for state in world.states.modules:
        state.decide(Decision(Choice.UNDECIDED))
    await world.leftovers.look()
    log.configure("text", "info", printed := io.StringIO())
    await world.leftovers.clean_up()
    log.configure("text", "info", sys.__stderr__ or sys.stderr)
    assert (
        f'level={level} logger=convergence.runs.unit_releases msg="nothing is purged" reason="{why}"'
        in printed.getvalue()
    )
    assert world.purged == []


async def test_nothing_is_purged_if_a_rejected_directory_may_be_a_module() -> None:
    world = World(head("x"), certain=False)
    await world.leftovers.look()
    await world.leftovers.clean_up()
    assert (world.purged, "no module can have" in world.leftovers.result) == ([], True)


@pytest.mark.parametrize("name", ["coredns.kube-system.default", "dns"])
async def test_releases_of_addons_are_never_purged_with_those_of_modules(name: str) -> None:
    world = World(replace(head(name), addon=name), head("x"))
    await world.leftovers.look()
    await world.leftovers.clean_up()
    assert world.purged == ["x"]

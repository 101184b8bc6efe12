"""In which order modules run in a round and between rounds, in virtual time: the order of weights, gates and
requirements among modules that are new, that were ready before, that fail and that hang.

Level: FakeCluster."""

import asyncio

import pytest

from hookrunner.background import Background
from tests.convergence.conftest import MakeSite
from tests.convergence.site import Site, module
from tests.fakes.clocks import awkward, run_watched

pytestmark = pytest.mark.looptime


async def begun(site: Site) -> Site:
    """The first converge is over and forgotten."""
    await site.start()
    await site.rests()
    return site


def runs(history: list[str]) -> str:
    """The modules whose `beforeHelm` hooks have run, in this order."""
    return " ".join(step.split()[0] for step in history if step.endswith("beforeHelm"))


async def test_weights_order_the_first_converge(make_site: MakeSite) -> None:
    site = make_site(module("c", 30), module("a", 10), module("b", 20))
    await site.start()
    assert await site.rests() == [f"{name} {step}" for name in "abc" for step in ("beforeHelm", "release")]


async def test_a_lower_weight_that_is_turned_on_later_runs_before_all_others(make_site: MakeSite) -> None:
    """Their hooks and lookups are to see what it brings about."""
    site = await begun(make_site(module("a", 10), module("b", 20), module("c", 30), off="a"))
    site.work.takes["a release"] = 5.0
    site.edit(aEnabled="true")
    history = await site.rests()
    assert history[:2] == ["a beforeHelm", "a release"]
    assert sorted(runs(history)) == sorted("a b c")


async def test_no_module_waits_for_a_higher_weight_that_is_turned_on_later(make_site: MakeSite) -> None:
    site = await begun(make_site(module("a", 10), module("b", 20), module("c", 30), off="b"))
    site.work.takes["a release"] = 5.0
    site.edit(bEnabled="true")
    history = await site.rests()
    assert runs(history[:1]) == "a"
    assert history.index("b beforeHelm") > history.index("a release")


@pytest.mark.parametrize("fails", [True, False])
async def test_modules_that_overtook_a_lower_weight_run_again_when_it_is_ready(
    make_site: MakeSite, fails: bool
) -> None:
    """Because it failed, or hung for longer than patience lasts."""
    site = make_site(module("a", 10), module("b", 20), module("c", 30), module("d", 40, "b"))
    site.work.fails, site.work.takes = ({"a release"}, {}) if fails else (set(), {"a release": 40.0})
    await site.start()
    await site.reaches("c release", "d release")
    assert runs(site.seen()) == "a b c d"
    site.work.fails = set()
    await site.reaches("b release")
    again = runs(await site.rests())
    assert again == ("a b c" if fails else "b c"), "in their order, and once"
    site.work.takes = {}
    site.edit(GLOBAL="x: 1")
    assert sorted(runs(await site.rests())) == sorted("a b c d"), "no more than once"


async def test_a_module_that_failed_without_a_lower_weight_runs_once_when_that_works(make_site: MakeSite) -> None:
    site = make_site(module("a", 10), module("b", 20))
    site.work.fails = {"a release", "b release"}
    await begun(site)
    site.work.fails = set()
    site.edit(a="x: 1")
    assert runs(await site.rests()) == "a b"


async def test_a_global_edit_runs_all_modules_side_by_side_and_each_once(make_site: MakeSite) -> None:
    """29 of distinct weights, as in the benchmark: all begin at the same time, since none waits for another."""
    site = await begun(make_site(*(module(f"m{number:02}", number) for number in range(29))))
    site.edit(GLOBAL="x: 1")
    await site.reaches("m28 beforeHelm")
    assert len({at for at, step in zip(site.work.times, site.work.history, strict=True) if "Helm" in step}) == 1
    assert runs(await site.rests()).split() == [f"m{number:02}" for number in range(29)]


@pytest.mark.parametrize("edit", [{"GLOBAL": "x: 1"}, {"db": "v: 2", "app": "v: 2", "other": "v: 2"}])
@pytest.mark.parametrize("declared", ["requires", "gate"])
async def test_an_edit_upgrades_gates_and_requirements_one_after_the_other(
    make_site: MakeSite, declared: str, edit: dict[str, str]
) -> None:
    """For a global value, and for several sections at once."""
    requires, gate = (["db"], False) if declared == "requires" else ([], True)
    db, app, other = module("db", 20, gate=gate), module("app", 30, *requires), module("other", 10)
    site = await begun(make_site(db, app, other))
    site.work.takes["db release"] = 60.0
    site.edit(**edit)
    history = await site.rests()
    assert history.index("app beforeHelm") > history.index("db release")
    assert runs(history).split()[-1] == "app"
    assert sorted(runs(history).split()) == ["app", "db", "other"]


async def test_dependents_of_a_failed_upgrade_keep_their_values_until_it_succeeds(make_site: MakeSite) -> None:
    site = await begun(make_site(module("db", 20), module("app", 30, "db"), module("other", 40)))
    site.work.fails = {"db release"}
    site.edit(GLOBAL="x: 1")
    assert runs(await site.rests()) == "db other"
    assert (site.converge.is_busy, site.states.module("app").waits_for) == (False, "db")
    site.work.fails = set()
    await site.reaches("app release")
    assert runs(await site.rests()) == "db app"
    assert site.states.module("app").waits_for == ""


async def test_a_retry_does_not_run_before_its_turn(make_site: MakeSite) -> None:
    """It would take the new values before what it requires has."""
    site = make_site(module("db", 20), module("app", 30, "db"))
    site.work.fails = {"app release"}
    await begun(site)
    site.work.takes["db release"] = 60.0
    site.edit(GLOBAL="x: 1")
    await site.reaches("db release")
    site.work.fails = set()
    history = await site.rests()
    assert history == ["db beforeHelm", "db release", "app beforeHelm", "app release"]
    assert site.states["app"].ready


async def test_a_section_that_changes_alone_runs_its_module_at_once(make_site: MakeSite) -> None:
    site = await begun(make_site(module("a", 10), module("b", 20), module("c", 30, gate=True)))
    site.edit(b="x: 1")
    assert await site.rests() == ["b beforeHelm", "b release"]


async def test_a_lower_weight_that_hangs_uses_up_patience_once_and_not_in_each_round(make_site: MakeSite) -> None:
    site = await begun(make_site(module("a", 10), module("b", 20), off="a"))
    site.work.takes["a release"] = 1000.0
    began = site.now()
    site.edit(aEnabled="true")
    await site.reaches("b release")
    assert site.now() - began == pytest.approx(30.0, abs=0.5)
    site.seen()
    site.edit(GLOBAL="x: 1")
    await site.reaches("b release")
    assert site.now() - began == pytest.approx(30.0, abs=0.5)


async def test_an_edit_in_the_middle_of_a_round_keeps_the_order(make_site: MakeSite) -> None:
    """The round begins anew; what had its turn has another after what it waits for."""
    site = await begun(make_site(module("a", 10), module("b", 20), module("c", 30), off="a"))
    site.work.takes["a release"] = 20.0
    site.edit(aEnabled="true")
    await site.reaches("a release")
    site.edit(GLOBAL="x: 1")
    history = await site.rests()
    assert runs(history) == "a a b c"
    assert history.index("b beforeHelm") > history.index("a release")


async def test_the_strict_chain_holds_in_every_round(make_site: MakeSite) -> None:
    """As under addon-operator: one weight after the other, for an edit of several sections, too."""
    modules = module("a", 10), module("b", 20), module("beside", 20), module("c", 30)
    site = await begun(make_site(*modules, strict=True))
    site.work.takes = {"a release": 5.0, "b release": 5.0}
    for edit in ({"GLOBAL": "x: 1"}, {"a": "x: 1", "b": "x: 1", "beside": "x: 1", "c": "x: 1"}):
        site.edit(**edit)
        history = await site.rests()
        assert runs(history) == "a b beside c"
        assert history.index("b beforeHelm") > history.index("a release")
        assert history.index("c beforeHelm") > history.index("b release")


async def test_the_strict_chain_waits_for_what_fails_as_long_as_patience_lasts(make_site: MakeSite) -> None:
    """Also at the start; what has failed then is healed before others go on, if it heals in time."""
    site = make_site(module("a", 10), module("b", 20), strict=True)
    site.work.fails = {"a release"}
    began = site.now()
    await site.start()
    assert site.now() - began == pytest.approx(30.0, abs=1.0)
    await site.rests()
    began = site.now()
    site.edit(GLOBAL="x: 1")
    await site.reaches("a release")
    site.work.fails = set()
    await site.reaches("b release")
    assert site.now() - began < 10.0
    assert runs(await site.rests())[-1] == "b"


async def test_a_module_that_failed_tries_again_as_soon_as_another_kind_is_served(make_site: MakeSite) -> None:
    """It may have been the one that was missing; others stay as they are."""
    site = make_site(module("a", 10), module("b", 20))
    site.work.fails = {"b release"}
    await begun(site)
    site.work.fails, began = set(), site.now()
    site.served.serve("example.com/v1")
    await site.reaches("b release")
    assert site.now() - began < 0.1
    assert runs(await site.rests()) == "b"


def test_patience_ends_where_the_timer_is_early() -> None:
    run_watched(waiting_for_one_that_hangs(), awkward(30.0))


async def waiting_for_one_that_hangs() -> None:
    async with asyncio.TaskGroup() as group:
        site = Site(background := Background(group), module("a", 10), module("b", 20))
        site.work.takes["a release"], site.work.takes["a beforeHelm"] = 1000.0, 0.0
        began = site.now()
        await site.start()
        assert site.now() - began == pytest.approx(30.0, abs=0.1)
        background.stop()

"""What a deletion does, once each, whatever happens meanwhile. Level: FakeCluster."""

import pytest

from hookrunner.model.bindings import BindingType
from tests.convergence.conftest import MakeSite
from tests.convergence.site import Site, module

pytestmark = pytest.mark.looptime

DELETE = {BindingType.BEFORE_DELETE_HELM: 1, BindingType.AFTER_DELETE_HELM: 1}
WHOLE = ["a beforeDeleteHelm", "a uninstall", "a afterDeleteHelm"]
RUN = ["a release"]


async def installed(make_site: MakeSite) -> Site:
    """A module with delete hooks, which is ready."""
    site = make_site(module("a", 10), hooks={"a": {"h": DELETE}})
    await site.start()
    assert await site.rests() == RUN
    return site


async def test_delete_hooks_run_once_although_rounds_begin_meanwhile(make_site: MakeSite) -> None:
    site = await installed(make_site)
    site.work.takes["a beforeDeleteHelm"] = site.work.takes["a afterDeleteHelm"] = 10.0
    site.edit(aEnabled="false")
    for number, step in enumerate(WHOLE):
        await site.reaches(step)
        site.edit(GLOBAL=f"x: {number}")
    assert await site.rests() == WHOLE
    assert (site.states["a"].live, site.states["a"].error) == (False, "")


async def test_a_second_deletion_of_a_deleted_module_does_nothing(make_site: MakeSite) -> None:
    """As it waits behind a run that was asked for in between."""
    site = await installed(make_site)
    site.work.takes["a uninstall"] = 10.0
    site.edit(aEnabled="false")
    await site.reaches("a uninstall")
    site.edit(aEnabled="true")
    await site.asked("a")
    site.edit(aEnabled="false")
    assert await site.rests() == WHOLE


async def test_a_module_turned_on_during_its_deletion_is_installed_afterwards(make_site: MakeSite) -> None:
    site = await installed(make_site)
    site.work.takes["a uninstall"] = 10.0
    site.edit(aEnabled="false")
    await site.reaches("a uninstall")
    site.edit(aEnabled="true")
    assert await site.rests() == [*WHOLE, *RUN]
    assert (site.states["a"].live, site.states["a"].ready) == (True, True)


async def test_a_retry_continues_with_the_delete_hook_that_failed(make_site: MakeSite) -> None:
    hooks = {"a": {"one": DELETE, "two": DELETE, "three": DELETE}}
    site = make_site(module("a", 10), hooks=hooks)
    await site.start()
    site.seen()
    site.work.fails = {"a/two beforeDeleteHelm"}
    site.edit(aEnabled="false")
    assert await site.rests() == ["a/one beforeDeleteHelm", "a/three beforeDeleteHelm", "a/two beforeDeleteHelm"]
    site.work.fails = {"a uninstall"}
    await site.reaches("a uninstall")
    assert await site.rests() == ["a/two beforeDeleteHelm", "a uninstall"]
    site.work.fails = {"a/two afterDeleteHelm"}
    await site.reaches("a/two afterDeleteHelm")
    assert await site.rests() == [
        "a uninstall",
        "a/one afterDeleteHelm",
        "a/three afterDeleteHelm",
        "a/two afterDeleteHelm",
    ]
    site.work.fails = set()
    site.edit(GLOBAL="x: 1")  # a round, which tries at once
    assert await site.rests() == ["a/two afterDeleteHelm"]
    assert not site.states["a"].live


async def test_a_cancelled_deletion_runs_all_delete_hooks_the_next_time(make_site: MakeSite) -> None:
    site = await installed(make_site)
    site.work.fails = {"a afterDeleteHelm"}
    site.edit(aEnabled="false")
    assert await site.rests() == WHOLE
    site.edit(aEnabled="true")
    assert await site.rests() == RUN
    site.work.fails = set()
    site.edit(aEnabled="false")
    assert await site.rests() == WHOLE


@pytest.mark.parametrize("wanted", ["false", "true"])
async def test_a_failure_that_is_no_longer_wanted_delays_nothing(make_site: MakeSite, wanted: str) -> None:
    """A run of a module that was turned off meanwhile, a deletion of one that was turned on."""
    site = await installed(make_site)
    failing = "a release" if wanted == "false" else "a beforeDeleteHelm"
    site.work.takes[failing], site.work.fails = 10.0, {failing}
    site.edit(**({"a": "x: 1"} if wanted == "false" else {"aEnabled": "false"}))
    await site.reaches(failing)
    site.edit(aEnabled=wanted)
    await site.ended("a")
    assert site.states["a"].error == ""
    site.seen()
    site.work.fails, began = set(), site.now()
    await site.rests()
    assert site.now() - began < 5.0, "the first back-off"


async def test_a_deleted_module_can_be_installed_and_deleted_again(make_site: MakeSite) -> None:
    site = await installed(make_site)
    for _ in range(3):
        site.edit(aEnabled="false")
        assert await site.rests() == WHOLE
        site.edit(aEnabled="true")
        assert await site.rests() == RUN

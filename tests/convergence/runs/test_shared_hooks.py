"""Hooks that instances share are asked once, and again when their files have changed. Level: pure."""

from dataclasses import replace
from pathlib import Path

from hookrunner.convergence.runs.hook_loading import SharedHooks
from hookrunner.errors import BadHookConfig
from hookrunner.hooks.catalog import Catalog
from hookrunner.model.bindings import Hook, HookConfig
from hookrunner.model.units import INSTANCE, Unit

UNIT = Unit("dns.apps.x", "dns", "dns.apps.x", Path("/addons/dns"), INSTANCE, hooks_of="dns", stamp="1")


class Loads:
    """One hook, with these problems; `asked` are the names under which it was asked."""

    def __init__(self, *problems: BadHookConfig) -> None:
        self.asked: list[str] = []
        self.problems = problems

    async def __call__(self, unit: Unit) -> Catalog:
        self.asked.append(unit.name)
        hook = Hook(f"{unit.name}/hooks/a.sh", Path("/a.sh"), HookConfig("v1"), unit.name)
        return Catalog((hook,), self.problems)


async def test_hooks_are_asked_once_and_every_unit_has_them_under_its_name() -> None:
    loads = Loads()
    shared = SharedHooks(loads)
    catalogs = [await shared(UNIT), await shared(replace(UNIT, name="dns.apps.y"))]
    assert [catalog.hooks[0].name for catalog in catalogs] == ["dns.apps.x/hooks/a.sh", "dns.apps.y/hooks/a.sh"]
    assert loads.asked == ["dns"]


async def test_changed_files_and_hooks_with_problems_are_asked_again() -> None:
    loads, bad = Loads(), Loads(BadHookConfig("a.sh", ["bad"]))
    shared = SharedHooks(loads)
    for stamp in ("1", "2", "2"):
        await shared(replace(UNIT, stamp=stamp))
    assert loads.asked == ["dns", "dns"]
    shared = SharedHooks(bad)
    assert [len((await shared(UNIT)).problems) for _ in range(2)] == [1, 1]
    assert bad.asked == ["dns", "dns"]

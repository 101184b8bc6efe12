"""Which modules are on and with which values, as edits come in: what an edit changes, what it decides, what is kept.

Level: pure."""

import asyncio
import io
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from hookrunner import log
from hookrunner.convergence.decisions.config_object import ConfigObject, ConfigSources, Contents, Grace
from hookrunner.convergence.decisions.configuration import Edit, Extenders, UserConfiguration
from hookrunner.convergence.decisions.module_decisions import ModuleDecisions
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.errors import ScriptFailed
from hookrunner.model.modules import GLOBAL, Choice, Module
from hookrunner.model.releases import Capabilities
from hookrunner.modules.enabled import REQUIRES, ScriptAnswer, ScriptValues
from hookrunner.modules.shelf import StaticFlag
from hookrunner.settings.modules import EXTENDERS
from hookrunner.values.schemas.schema_files import Schemas, load
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from tests.convergence.site import NOWHERE, module

pytestmark = pytest.mark.looptime

ON = {"aEnabled": "true", "bEnabled": "true"}


class Source(ConfigObject):
    """The ConfigMap or the Secret, as the test writes it."""

    def __init__(self, kind: str) -> None:
        self.contents, self.grace = Contents(), Grace(30.0)
        self.unseen, self.is_known = "", True
        self._kind = kind

    def __str__(self) -> str:
        return f"{self._kind} default/{self._kind.lower()}"

    def write(self, data: Mapping[str, str]) -> None:  # type: ignore[override]
        self.contents = Contents(data, "1")


class CountedFlags(dict[str, StaticFlag]):
    """Static flags; counts how often each is looked at."""

    looks = 0

    def get(self, key: str, default: object = None) -> StaticFlag | None:  # type: ignore[override]
        self.looks += 1
        return super().get(key)


class Scripts:
    """`answers` by module; an error is raised. `asked` remembers whose script was asked with which config."""

    def __init__(self) -> None:
        self.answers: dict[str, bool | Exception] = {}
        self.asked: list[tuple[str, JSON]] = []

    async def ask(self, module: Module, documents: ScriptValues, enabled: Sequence[str]) -> ScriptAnswer:
        self.asked.append((module.name, documents.config))
        answer = self.answers.get(module.name, True)
        if isinstance(answer, Exception):
            raise answer
        return ScriptAnswer(answer, "the script says so")


class World:
    """Modules `a`, whose value `n` is a number, and `b`, which requires it; `c` has a script."""

    def __init__(self, directory: Path) -> None:
        self.config, self.secret = Source("ConfigMap"), Source("Secret")
        modules = [module("a", 10), module("b", 20, "a"), replace(module("c", 30), script=NOWHERE / "enabled")]
        self.states = UnitStates(modules)
        schemas = {name: Schemas() for name in (GLOBAL, "b", "c")} | {"a": _schemas(directory)}
        self.store, self.static, self.scripts = SectionStore({}, schemas), CountedFlags(), Scripts()
        self.dynamic: dict[str, bool] = {}
        extenders = Extenders(EXTENDERS, self.static, self.dynamic, self.scripts)
        sources = ConfigSources(self.config, self.secret)
        self.configuration = UserConfiguration(extenders, self.states, self.store, sources)
        self.decisions = ModuleDecisions(self.configuration, self.states, self.store, self._capabilities)

    def edit(self, **data: str) -> Edit:
        """Replace what the ConfigMap holds."""
        self.config.write(data)
        return self.configuration.adopt()

    async def start(self, **data: str) -> None:
        """With this ConfigMap, and all that is on installed."""
        self.edit(**data)
        await self.decisions.decide()
        for state in self.states.enabled:
            state.mark_live()

    @property
    def choices(self) -> str:
        return " ".join(f"{state.name}:{state.decision.choice}" for state in self.states.modules)

    async def reasons(self) -> list[str]:
        """Of all notices that were published; fails without any."""
        async with asyncio.timeout(1.0):
            return [notice.reason for notice in await self.states.notices.next_batch()]

    async def _capabilities(self) -> Capabilities:
        return Capabilities("v1.35.0", ())


def _schemas(directory: Path) -> Schemas:
    openapi = directory / "openapi"
    openapi.mkdir()
    (openapi / "config-values.yaml").write_text("type: object\nproperties: {n: {type: integer}}\n")
    return load(directory, "a")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_an_edit_of_values_changes_its_section_and_decides_nothing(world: World) -> None:
    await world.start(**ON)
    assert world.choices == "a:on b:on c:off"
    assert world.edit(**ON, a="n: 1") == Edit(frozenset({"a"}))
    assert world.edit(**ON, a="n: 1") == Edit()
    assert world.edit(**ON, a="n: 1", aMaintenance="NoResourceReconciliation").changed == {"a"}
    assert world.configuration.is_maintained("a")


async def test_modules_that_nothing_has_turned_on_are_one_line_of_the_log(world: World) -> None:
    log.configure("plain", "info", printed := io.StringIO())
    await world.start(aEnabled="false")
    world.edit(cEnabled="true")
    await world.decisions.decide()
    world.edit()
    await world.decisions.decide()
    log.configure("text", "info", sys.__stderr__ or sys.stderr)
    lines = [re.split(r"  +", line, maxsplit=2)[1:] for line in printed.getvalue().splitlines()]
    turn_on = 'to turn one on, set its flag in the ConfigMap, as in bEnabled: "true"'
    assert [f"modules are off: {turn_on}", 'modules="b, c"'] in lines
    assert [words[0] for words in lines if "module is" in words[-1]] == ["a", "c", "c"]


async def test_a_flag_is_decisive_and_no_change_of_values(world: World) -> None:
    await world.start(**ON)
    assert world.edit(aEnabled="false", bEnabled="true") == Edit(is_decisive=True)
    assert world.choices == "a:on b:on c:off", "until it is decided"
    assert await world.decisions.decide()
    assert world.choices == "a:off b:off c:off"
    assert not await world.decisions.decide()


async def test_flags_are_judged_once_for_an_edit(world: World) -> None:
    await world.start(**ON)
    world.static.looks = 0
    world.edit(**ON, a="n: 1")
    assert world.static.looks == len(world.states.modules) * len(EXTENDERS)


async def test_what_the_flags_of_global_hooks_say_is_compared_with_the_last_decision(world: World) -> None:
    await world.start(aEnabled="true")
    assert not world.configuration.has_changed_flags()
    world.dynamic["c"] = True
    assert world.configuration.has_changed_flags()


async def test_a_section_that_is_refused_leaves_the_last_good_one_in_force(world: World) -> None:
    await world.start(**ON, a="n: 1")
    assert world.edit(**ON, a="n: many") == Edit()
    assert (world.store.effective("a"), set(world.configuration.bad)) == ({"n": 1}, {"a"})
    assert await world.reasons() == ["ConfigRejected"]
    world.edit(**ON, a="n: many")
    assert world.edit(**ON, a="n: 2") == Edit(frozenset({"a"}), is_decisive=True)
    assert await world.reasons() == ["ConfigAccepted"], "and nothing twice"


async def test_a_module_whose_section_was_refused_from_the_start_is_undecided_for_the_present_reason(
    world: World,
) -> None:
    await world.start(**ON, a="n: many")
    assert world.choices == "a:undecided b:undecided c:off"
    assert world.decisions.failures == 1
    world.edit(**ON, a="n: more")
    first = world.states.module("a").decision.reason
    world.edit(**ON, a="n: [1]")
    assert world.states.module("a").decision.reason != first
    assert world.edit(**ON, a="n: 1").is_decisive
    await world.decisions.decide()
    assert world.choices == "a:on b:on c:off"


async def test_a_module_that_is_turned_off_keeps_the_values_that_it_ran_with(world: World) -> None:
    await world.start(**ON, a="n: 1")
    world.store.begin_run("a")
    world.edit(aEnabled="false")
    await world.decisions.decide()
    assert world.store.is_held("a")
    files = world.store.files("a")
    assert b'"n":1' in files.values.replace(b" ", b"")


async def test_values_are_held_as_soon_as_an_edit_turns_the_module_off(world: World) -> None:
    """The same edit removes them, and hooks may run before the round decides."""
    await world.start(**ON, a="n: 1")
    world.store.begin_run("a")
    world.edit(aEnabled="false", bEnabled="true")
    assert (world.store.is_held("a"), world.store.is_held("b")) == (True, False)
    assert orjson.loads(world.store.files("a").values)["a"] == {"n": 1}


async def test_values_are_held_when_a_decision_turns_the_module_off(world: World) -> None:
    """Flags alone would leave it on."""
    await world.start(**ON, b="x: 1")
    world.store.begin_run("b")
    world.edit(aEnabled="false", bEnabled="true")
    await world.decisions.decide()
    assert world.choices == "a:off b:off c:off"
    assert world.store.is_held("b")
    assert orjson.loads(world.store.files("b").values)["b"] == {"x": 1}


async def test_hooks_see_the_modules_that_are_on_or_not_deleted_yet(world: World) -> None:
    await world.start(**ON)
    world.edit(aEnabled="false", cEnabled="true")
    await world.decisions.decide()
    assert orjson.loads(world.store.files("c").values)["global"]["enabledModules"] == ["a", "b", "c"]
    world.states["b"].remove()
    await world.decisions.decide()
    assert orjson.loads(world.store.files("c").values)["global"]["enabledModules"] == ["a", "c"]


async def test_the_section_of_a_module_that_a_global_hook_turns_on_is_checked_before_it_is_decided(
    world: World,
) -> None:
    """Sections of modules that are off are not checked when they are edited."""
    await world.start(a="n: many")
    assert (world.choices, world.configuration.bad) == ("a:off b:off c:off", frozenset())
    world.dynamic["a"] = True
    await world.decisions.decide()
    assert world.choices == "a:undecided b:off c:off"


async def test_a_refused_section_counts_as_trouble_until_it_is_used_again(world: World) -> None:
    await world.start(**ON, a="n: many")
    assert world.configuration.trouble.count == 1
    world.edit(**ON, a="n: 1")
    world.edit(**ON, a="n: many")
    assert world.configuration.trouble.count == 2


async def test_a_script_that_fails_leaves_its_module_undecided_and_is_worth_asking_again(world: World) -> None:
    world.scripts.answers["c"] = ScriptFailed("no")
    await world.start(cEnabled="true")
    assert (world.choices, world.decisions.is_unsure) == ("a:off b:off c:undecided", True)
    del world.scripts.answers["c"]
    assert await world.decisions.decide()
    assert (world.choices, world.decisions.is_unsure) == ("a:off b:off c:on", False)


async def test_a_script_is_outdated_by_another_config_of_its_module_only(world: World) -> None:
    await world.start(cEnabled="true", c="x: 1")
    state = world.states.module("c")
    assert not world.decisions.is_outdated(state)
    world.edit(cEnabled="true", c="x: 1", a="n: 1")
    assert not world.decisions.is_outdated(state)
    world.edit(cEnabled="true", c="x: 2")
    assert world.decisions.is_outdated(state)
    assert not await world.decisions.contradicts(state)
    assert not world.decisions.is_outdated(state)
    world.scripts.answers["c"] = False
    assert await world.decisions.contradicts(state)
    assert world.choices.endswith("c:on"), "the round decides"


async def test_nothing_is_adopted_before_everything_was_read_once(world: World) -> None:
    world.secret.unseen, world.secret.is_known = "forbidden", False
    assert not world.edit(**ON).changed
    assert world.store.unread == "the configuration cannot be read: Secret default/secret: forbidden"
    await world.decisions.decide()
    assert world.choices == "a:undecided b:undecided c:undecided"
    assert world.decisions.doubt == "the configuration cannot be read: Secret default/secret: forbidden"
    world.secret.unseen, world.secret.is_known = "", True
    edit = world.edit(**ON)
    assert (edit.is_decisive, edit.is_first, world.store.unread) == (True, True, "")
    assert not world.edit(**ON).is_first
    await world.decisions.decide()
    assert world.choices == "a:on b:on c:off"


async def test_no_script_is_asked_before_the_values_are_known(world: World) -> None:
    """It reads them. The module is on by another word than the ConfigMap's, so that it would be asked."""
    world.dynamic["c"] = True
    world.config.unseen, world.config.is_known = "forbidden", False
    world.configuration.adopt()
    await world.decisions.decide()
    assert (world.choices, world.scripts.asked) == ("a:undecided b:undecided c:undecided", [])
    world.config.unseen, world.config.is_known = "", True
    world.edit(c="x: 1")
    await world.decisions.decide()
    assert (world.choices, world.scripts.asked) == ("a:off b:off c:on", [("c", {"global": None, "c": {"x": 1}})])


async def test_the_secret_turns_modules_on_as_well(world: World) -> None:
    world.secret.write({"aEnabled": "true"})
    await world.start()
    assert world.choices == "a:on b:off c:off"


async def test_a_flag_in_the_secret_overrides_the_one_in_the_config_map(world: World) -> None:
    world.secret.write({"aEnabled": "false", "bEnabled": "true"})
    await world.start(aEnabled="true", bEnabled="false", cEnabled="true")
    assert world.choices == "a:off b:off c:on"
    assert world.states.module("b").decision.by == REQUIRES


async def test_a_missing_configuration_is_reported_with_what_will_go(world: World) -> None:
    """With the modules that require those that go, and the sections that lose values."""
    world.dynamic["b"] = True
    await world.start(aEnabled="true", b="x: 1")
    world.config.grace.begin()
    forecast = world.configuration.forecast(world.config)
    assert forecast.startswith("ConfigMap default/configmap is deleted; unless it is created before ")
    assert forecast.endswith("uninstalled: a, b")
    assert world.configuration.adopt() == Edit()
    world.configuration.adopt()
    assert await world.reasons() == ["ConfigDeleted"]
    world.config.grace.end()
    world.configuration.adopt()
    assert await world.reasons() == ["ConfigRestored"]


async def test_a_source_that_never_existed_is_waited_for_only_if_something_is_installed(world: World) -> None:
    """That only it can have turned on."""
    for installed in (False, True):
        world.config.grace.begin()
        world.configuration.adopt()
        assert "does not exist" in world.decisions.doubt
        if installed:
            world.states["a"].mark_live()
        world.configuration.weigh_missing()
        assert world.config.grace.running is installed
        assert bool(world.decisions.doubt) is installed


async def test_the_grace_of_a_source_that_existed_goes_on_whatever_is_installed(world: World) -> None:
    await world.start(c="x: 1")
    world.config.grace.begin()
    world.configuration.weigh_missing()
    assert world.config.grace.running


async def test_a_module_that_is_not_installed_is_off_since_the_last_decision(world: World) -> None:
    await world.start(**ON)
    world.states["a"].remove()
    since = world.states["a"].since
    world.edit(bEnabled="true")
    await world.decisions.decide()
    assert world.states["a"].since > since


async def test_decisions_are_reported_when_they_change(world: World) -> None:
    world.scripts.answers["c"] = ScriptFailed("no")
    await world.start(cEnabled="true")
    assert await world.reasons() == ["ModuleUndecided"]
    since = world.states["c"].since
    await world.decisions.decide()
    assert world.states["c"].since == since
    assert world.states.module("c").decision.choice is Choice.UNDECIDED


async def test_large_sections_are_adopted_as_they_were_read_ahead(world: World) -> None:
    await world.start(a="n: 1")
    world.config.write({"a": "n: 2\n", "b": "list:\n" + "- a\n" * 20_000})
    await world.configuration.read_ahead()
    assert world.configuration.adopt().changed == {"a", "b"}
    assert (len(world.store.effective("b")["list"]), world.store.effective("a")["n"]) == (20_000, 2)


async def test_what_changed_after_reading_ahead_is_adopted_too(world: World) -> None:
    await world.start(a="n: 1")
    world.config.write({"b": "list:\n" + "- a\n" * 20_000})
    await world.configuration.read_ahead()
    assert world.edit(a="n: 3").changed == {"a"}
    assert world.store.effective("a")["n"] == 3

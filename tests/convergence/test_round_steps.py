"""What a round does beside running hooks and modules, and that one module's failure keeps no other from it.

Level: pure."""

from collections.abc import Sequence

import pytest

from hookrunner.convergence.converge import RoundSteps
from hookrunner.errors import BadChart, RegistrationFailed
from hookrunner.model.bindings import ReviewKind
from hookrunner.model.unit_state import ModuleState, UnitState
from tests.convergence.site import module


class Configured:
    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def weigh_missing(self) -> None:
        self._seen.append("weigh missing")


class Decided:
    doubt, is_unsure = "", False

    def __init__(self, seen: list[str]) -> None:
        self.configuration = Configured(seen)
        self._seen = seen

    def global_values(self) -> None: ...

    async def decide(self) -> bool:
        self._seen.append("decide")
        return False


class Hooks:
    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def disarm_schedules(self, state: UnitState) -> None:
        self._seen.append(f"disarm {state.name}")


class Webhooks:
    """Those of `bad` are never withdrawn."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    async def resume(self) -> None:
        self._seen.append("resume")

    async def withdraw(self, state: UnitState, kind: ReviewKind) -> None:
        if state.name == "bad":
            raise RegistrationFailed("no")
        self._seen.append(f"withdraw {kind} {state.name}")


class Definitions:
    """Those of `bad` are never applied."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    async def apply(self, state: UnitState) -> None:
        if state.name == "bad":
            raise BadChart("no")
        self._seen.append(f"define {state.name}")


class Found:
    """`looked`: it is known which modules are installed."""

    def __init__(self, seen: list[str]) -> None:
        self.looked = True
        self._seen = seen

    async def look(self) -> bool:
        return self.looked

    async def clean_up(self) -> None:
        self._seen.append("purge")


class World:
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.leftovers = Found(self.seen)
        parts = Decided(self.seen), Hooks(self.seen), Webhooks(self.seen), Definitions(self.seen), self.leftovers
        self.steps = RoundSteps(*parts)
        self.states: Sequence[UnitState] = [ModuleState(module(name, 1)) for name in ("bad", "good")]


@pytest.fixture
def world() -> World:
    return World()


async def test_missing_sources_are_weighed_before_the_decision_when_it_is_known_what_is_installed(world: World) -> None:
    await world.steps.decide()
    assert world.seen == ["weigh missing", "decide", "resume"]


async def test_missing_sources_are_not_weighed_while_it_is_unknown_what_is_installed(world: World) -> None:
    """A source that nothing seems to depend on would end its grace."""
    world.leftovers.looked = False
    await world.steps.decide()
    assert world.seen == ["decide", "resume"]


async def test_a_webhook_that_cannot_be_withdrawn_holds_up_no_deletion(world: World) -> None:
    """The deletion tries it again. Schedules are quiet before, or they would start hooks of a module that goes."""
    await world.steps.prepare_deletions([*world.states])
    assert world.seen == ["disarm bad", "disarm good", "withdraw admission good"]


async def test_definitions_that_cannot_be_applied_hold_up_no_other_module(world: World) -> None:
    await world.steps.define([*world.states])
    assert world.seen == ["define good"]


async def test_definitions_that_are_applied_are_not_applied_again(world: World) -> None:
    for state in world.states:
        state.set_definitions(())
    await world.steps.define([*world.states])
    assert world.seen == []


async def test_a_round_ends_with_what_no_module_wants_any_more(world: World) -> None:
    await world.steps.clean_up()
    assert world.seen == ["resume", "purge"]

"""The invariants of a module's state, for random sequences of what may happen to it, and that it has one writer.

Level: pure."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import booleans, floats, sampled_from

import hookrunner
from hookrunner.engine.run_gate import MissingSnapshot
from hookrunner.errors import ReleaseFailed, RunBlocked
from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import Choice, Decision, Phase
from hookrunner.model.release_state import ReleaseState
from hookrunner.model.releases import Head, WriteNotes
from hookrunner.model.unit_state import ModuleState
from tests.convergence.site import module
from tests.examples import several
from tests.tables import each

DELETE_HOOKS = BindingType.BEFORE_DELETE_HELM, BindingType.AFTER_DELETE_HELM
ROOMS = "convergence", "modules"


class Life(RuleBasedStateMachine):
    """A module's life, as `unit_tasks` and the others lead it: attempts come one after the other, a run only of a
    module that is on and has its turn, a deletion only of one that is off and live."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.state = ModuleState(module("m", 10))
        self.attempt: str | None = None
        self.deletion_requested = False

    def _can_begin(self) -> bool:
        return self.attempt is None

    @rule(seconds=floats(0.0, 60.0))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule(choice=sampled_from(Choice))
    def decide(self, choice: Choice) -> None:
        self.state.decide(Decision(choice))

    @rule()
    def await_turn(self) -> None:
        self.state.await_turn()

    @rule()
    def wait_for_others(self) -> None:
        self.state.wait_for(["db"])

    @rule(adopting=booleans())
    @precondition(lambda self: self.state.on)
    def request(self, adopting: bool) -> None:
        (self.state.request_adoption if adopting else self.state.request)(self.now)
        assert self.state.turn
        assert not self.state.ready
        assert self.state.adopting or not adopting

    @rule()
    @precondition(lambda self: self.state.decision.choice is Choice.OFF and self.state.live)
    def request_deletion(self) -> None:
        self.state.request_deletion(self.now)
        self.deletion_requested = True
        assert not self.state.parked

    @rule()
    def find_in_the_cluster(self) -> None:
        self.state.mark_live()

    @rule()
    @precondition(lambda self: self.attempt is None)
    def take_a_task(self) -> None:
        """A run if it is on, a deletion if it is off."""
        if self.state.on and self.state.turn:
            self._begin("run")
            self.state.keep()
        elif self.state.on:
            self.state.postpone()
        elif self.state.decision.choice is Choice.OFF and self.state.live:
            self._begin("deletion")
        else:
            self.state.drop_requests()
            self.deletion_requested = False

    def _begin(self, attempt: str) -> None:
        self.attempt = attempt
        self.state.begin(self.now, "")
        assert self.state.release.adopted == ()

    @rule(phase=sampled_from([phase for phase in Phase if phase not in (Phase.READY, Phase.HOOKS_DISABLED)]))
    @precondition(lambda self: self.attempt == "run")
    def step(self, phase: Phase) -> None:
        self.state.reach(phase)

    @rule(type=sampled_from(DELETE_HOOKS))
    @precondition(lambda self: self.attempt == "deletion")
    def run_a_delete_hook(self, type: BindingType) -> None:
        self.state.end_hook(type, "m/h")

    @rule(lacks_snapshot=booleans())
    @precondition(lambda self: self.attempt is not None)
    def fail(self, lacks_snapshot: bool) -> None:
        self.state.fail("no", MissingSnapshot("no") if lacks_snapshot else None)
        self._end()
        assert self.state.parked
        assert isinstance(self.state.failure, MissingSnapshot) is lacks_snapshot

    @rule()
    @precondition(lambda self: self.attempt is not None)
    def fail_in_what_is_not_wanted_any_more(self) -> None:
        self._end()

    @rule()
    @precondition(lambda self: self.attempt == "run")
    def become_ready(self) -> None:
        self.state.reach(Phase.READY)
        self.state.become_ready()
        self.state.succeed(self.now)
        self._end()
        assert not self.state.parked
        assert self.state.last_success > 0

    @rule()
    @precondition(lambda self: self.attempt == "deletion")
    def end_the_deletion(self) -> None:
        self.state.remove()
        self.state.succeed(self.now)
        self._end()
        assert (self.state.live, self.state.turn, self.state.release.revision) == (False, False, 0)

    def _end(self) -> None:
        self.attempt, self.deletion_requested = None, False
        self.state.end_attempt(self.now)

    @invariant()
    def numbers_are_in_order(self) -> None:
        numbers: Any = vars(self.state)
        assert 0 <= numbers["_done"] <= self.state.begun <= self.state.requested
        assert 0 <= numbers["_failed"] <= self.state.begun
        assert 0 <= numbers["_adopts"] <= self.state.requested

    @invariant()
    def an_attempt_keeps_it_busy(self) -> None:
        assert self.attempt is None or self.state.busy_since is not None

    @invariant()
    def what_is_ready_or_set_aside_is_not_busy(self) -> None:
        if self.attempt is None and not self.deletion_requested and self.state.ready:
            assert self.state.busy_since is None

    @invariant()
    def it_owes_something_only_while_something_is_pending(self) -> None:
        if self.attempt is None and not self.deletion_requested and self.state.ready:
            assert self.state.owed_since is None

    @invariant()
    def no_time_is_in_the_future(self) -> None:
        times = (self.state.busy_since, self.state.owed_since, self.state.began_at, self.state.ready_at)
        assert all(at <= self.now for at in times if at is not None)

    @invariant()
    def it_waits_only_before_its_turn(self) -> None:
        assert not (self.state.turn and self.state.waits_for)

    @invariant()
    def of_what_is_not_live_nothing_is_left(self) -> None:
        if not self.state.live:
            assert self.state.last_success == 0
            assert self.state.phase is not Phase.READY
            assert not any(self.state.has_ended(type, "m/h") for type in DELETE_HOOKS)

    @invariant()
    def set_aside_means_parked_and_parked_means_not_ready(self) -> None:
        assert not self.state.set_aside or self.state.parked
        assert not (self.state.parked and self.state.ready)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=several(100), stateful_step_count=40, deadline=None)


def test_hooks_and_definitions_come_and_go_whole() -> None:
    state = ModuleState(module("m", 10))
    assert (state.loaded, state.hooks, state.has_definitions, state.kinds) == (False, (), False, frozenset())
    state.load_hooks([])
    state.set_definitions([])
    assert (state.loaded, state.has_definitions) == (True, True)
    state.set_definitions(["a/v1/Kind"])
    assert state.kinds == {"a/v1/Kind"}
    state.forget_hooks()
    state.lose_definitions()
    assert (state.loaded, state.has_definitions, state.kinds) == (False, False, frozenset())


def test_a_request_during_an_attempt_keeps_it_busy_and_owing() -> None:
    """A failure ends the former: the retry comes after a back-off."""
    state = ModuleState(module("m", 10), Decision(Choice.ON))
    state.request(1.0)
    state.begin(2.0, "")
    state.request(3.0)
    state.succeed(4.0)
    state.end_attempt(4.0)
    assert (state.ready, state.busy_since, state.owed_since) == (False, 4.0, 1.0)
    state.begin(5.0, "")
    state.fail("no")
    state.end_attempt(6.0)
    assert (state.set_aside, state.busy_since, state.owed_since) == (True, None, 1.0)


def test_ignored_fields_are_kept_until_their_object_is_written_again_or_leaves() -> None:
    release = ReleaseState()
    release.note_written(WriteNotes(faults={"default/ConfigMap/a": ".datta", "ClusterRole/b": ".rule"}))
    assert release.faults == {"default/ConfigMap/a": ".datta", "ClusterRole/b": ".rule"}
    role = {"kind": "ClusterRole", "metadata": {"name": "b"}}
    release.note_written(WriteNotes(), [role, {"kind": "Secret", "metadata": {"name": "a"}}])
    assert (release.faults, release.unknown_fields) == ({"ClusterRole/b": ".rule"}, ("ClusterRole/b: .rule",))
    release.note_written(WriteNotes(faults={"ClusterRole/b": ""}), [role])
    assert release.faults == {}
    release.note_written(WriteNotes(faults={"ClusterRole/b": ".rule"}))
    release.remove()
    assert release.faults == {}


def test_unmatched_patches_of_an_earlier_process_hold_until_something_else_is_installed() -> None:
    release, head = ReleaseState(("no such object",)), Head("m", "home", 1, "deployed")
    release.settle(head)
    assert release.unmatched == ("no such object",)
    release.note_rendered(("another",))
    release.settle(replace(head, revision=3, note="rolled-back"))
    release.begin_attempt()
    assert release.unmatched == ("no such object",)


def test_kept_failure_holds_no_frames() -> None:
    """They would hold all that the attempt had in its hands."""
    state = ModuleState(module("m", 10))
    try:
        try:
            raise ReleaseFailed("no")
        except ReleaseFailed as error:
            raise RunBlocked("no") from error
    except RunBlocked as error:
        state.fail("no", error)
    assert state.is_blocked
    assert state.failure is not None
    assert state.failure.__cause__ is not None
    assert state.failure.__traceback__ is state.failure.__cause__.__traceback__ is None


def test_a_field_cannot_be_assigned() -> None:
    state: Any = ModuleState(module("m", 10))
    with pytest.raises(AttributeError, match="error is changed by the methods of ModuleState only"):
        state.error = "no"


@each("room", ROOMS)
def test_nothing_is_set_on_an_object_after_it_was_built(room: str) -> None:
    files = Path(hookrunner.__file__).parent.joinpath(room).rglob("*.py")
    assert [line for file in sorted(files) for line in _foreign_assignments(file)] == []


def _foreign_assignments(file: Path) -> Iterator[str]:
    for function in ast.walk(ast.parse(file.read_text())):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in (part for one in targets if one for part in ast.walk(one)):
                if isinstance(target, ast.Attribute) and isinstance(target.ctx, ast.Store):
                    owner = target.value
                    if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")):
                        yield f"{file.name}:{target.lineno}: {ast.unparse(target)}"

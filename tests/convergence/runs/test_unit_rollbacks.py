"""Which revision a unit goes back to, for which attempt that stands, and that it is not repeated. Level: pure."""

from dataclasses import dataclass, field, replace

import pytest

from hookrunner.charts.release_digests import attempt_digest
from hookrunner.convergence.plan import Plan
from hookrunner.convergence.runs.unit_rollbacks import UnitRollbacks
from hookrunner.errors import ReleaseFailed
from hookrunner.model.releases import Head, ReleaseOptions, ReleaseResult
from hookrunner.model.unit_state import UnitState
from hookrunner.releases.manifest_objects import ReleaseId
from tests.convergence.planners import INSTANCE, FakeBuild, FakePlanner

HEAD = Head(INSTANCE.name, "home", 3, "deployed", "d", True)
RESTORED = replace(HEAD, revision=4, note="rolled-back")
NO_FALLBACK = Plan(FakeBuild(), ReleaseOptions(dry_run=True))
REFUSED = ReleaseFailed("refused")


class Records:
    """Remembers what was restored; `error` is raised by it."""

    def __init__(self) -> None:
        self.restored: list[tuple[int, str, bool]] = []
        self.error: ReleaseFailed | None = None

    async def restore_healthy(
        self, name: str, namespace: str, revision: int, digest: str, options: ReleaseOptions
    ) -> ReleaseResult:
        self.restored.append((revision, digest, options.dry_run))
        if self.error:
            raise self.error
        return ReleaseResult(RESTORED)


class Tracker:
    """Remembers whose objects are not watched meanwhile."""

    def __init__(self) -> None:
        self.paused: list[ReleaseId] = []

    def pause(self, identity: ReleaseId) -> None:
        self.paused.append(identity)


@dataclass
class World:
    """A unit whose plan names revision 2 after a failure, and instead of revision 3."""

    planner: FakePlanner = field(default_factory=lambda: FakePlanner(target=2, late=3))
    records: Records = field(default_factory=Records)
    tracker: Tracker = field(default_factory=Tracker)

    def __post_init__(self) -> None:
        self.rollbacks = UnitRollbacks(self.records, self.tracker.pause)

    @property
    def plan(self) -> Plan:
        return self.planner.present(UnitState(INSTANCE))


@pytest.fixture
def world() -> World:
    return World()


async def test_refused_rollout_restores_the_healthy_revision_for_the_attempt_that_failed(world: World) -> None:
    world.planner.attempt = 7
    assert await world.rollbacks.after_error(world.plan, REFUSED, HEAD, "d2") == ReleaseResult(RESTORED)
    assert world.records.restored == [(2, attempt_digest("d2", 7), True)]
    assert world.tracker.paused == [ReleaseId(INSTANCE.name, "home")], "or its objects would count as drifted"


@pytest.mark.parametrize(("head", "target"), [(None, 2), (HEAD, 0)])
async def test_error_stands_without_a_revision_to_restore(head: Head | None, target: int, world: World) -> None:
    world.planner.target = target
    with pytest.raises(ReleaseFailed, match="refused"):
        await world.rollbacks.after_error(world.plan, REFUSED, head, "d2")
    with pytest.raises(ReleaseFailed, match="refused"):
        await world.rollbacks.after_error(NO_FALLBACK, REFUSED, HEAD, "d2")
    assert world.records.restored == []


async def test_error_of_the_rollback_does_not_hide_the_first_one(world: World) -> None:
    world.records.error = ReleaseFailed("the server is away", brief=True)
    with pytest.raises(ReleaseFailed, match="refused; rolling back failed too: the server is away") as failed:
        await world.rollbacks.after_error(world.plan, REFUSED, HEAD, "d2")
    assert failed.value.brief
    assert failed.value.__cause__ is REFUSED


async def test_revision_that_was_given_up_is_replaced_and_another_one_stays(world: World) -> None:
    assert world.plan.gives_up(HEAD)
    assert await world.rollbacks.restore(world.plan, HEAD, "d") == ReleaseResult(RESTORED)
    assert world.records.restored == [(2, attempt_digest("d", 0), True)]
    assert not world.plan.gives_up(RESTORED)
    assert not NO_FALLBACK.gives_up(HEAD)


@pytest.mark.parametrize("note", ["rolled-back", "pinned"])
def test_failed_attempt_is_reached_by_what_was_restored_until_something_changes(note: str) -> None:
    plan, tried = replace(NO_FALLBACK, asked=1), attempt_digest("d", 1)
    restored = replace(RESTORED, digest=tried, note=note)
    assert plan.digest_to_reach(restored, "d") == tried
    assert plan.digest_to_reach(replace(restored, note="pinned"), "d") == tried
    assert plan.digest_to_reach(restored, "other") == "other"
    assert replace(plan, asked=2).digest_to_reach(restored, "d") == "d", "its user asks for it again"
    assert plan.digest_to_reach(replace(restored, note=""), "d") == "d"
    assert plan.digest_to_reach(None, "d") == "d"


@pytest.mark.parametrize("error", [ReleaseFailed("no", brief=True), ReleaseFailed("no", lacks_rights=True)])
async def test_error_that_says_nothing_about_the_version_restores_nothing(error: ReleaseFailed, world: World) -> None:
    with pytest.raises(ReleaseFailed, match="no"):
        await world.rollbacks.after_error(world.plan, error, HEAD, "d2")
    with pytest.raises(ReleaseFailed, match="refused"):
        await world.rollbacks.after_error(world.plan, REFUSED, RESTORED, "d2")
    unasked = replace(world.plan, fallback=replace(world.plan.fallback, after_errors=False))
    with pytest.raises(ReleaseFailed, match="refused"):
        await world.rollbacks.after_error(unasked, REFUSED, HEAD, "d2")
    assert world.records.restored == []

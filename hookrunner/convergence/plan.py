"""What a run of a unit does with its release, as a value. The unit's planner makes it at the beginning of the run;
every later step takes it, so none can come before.

    plan = await planners.of(state).plan(state)     # RunBlocked, RunPostponed: there is no run now
    inputs = await plan.build.read_inputs()         # after hooks have run, which may change values
    rendered = await plan.build.render(is_first)    # only if the release was made from something else

Plans of modules are made in `runs/module_planner.py`, those of instances of addons in `instances/`.
"""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Protocol

from hookrunner.charts.release_digests import attempt_digest
from hookrunner.model.releases import (
    PINNED,
    ROLLED_BACK,
    Capabilities,
    Head,
    ReleaseInputs,
    ReleaseOptions,
    RenderedChart,
)
from hookrunner.model.unit_state import UnitState
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


class ReleaseBuild(Protocol):
    """What a release is made from: gives its digest and its objects, with the values of the moment. Keeps nothing."""

    def relevant(self, served: Capabilities) -> Capabilities | None:
        """What the objects may depend on of what the cluster serves, None for nothing."""

    async def read_inputs(self) -> ReleaseInputs:
        """What the release should be made from. Raises BadChart, RenderFailed, KubeError."""

    async def render(self, is_first: bool) -> RenderedChart:
        """Its objects; `is_first` says that nothing is installed yet. Raises BadChart, RenderFailed, KubeError, and
        RunBlocked if time alone does not help."""


class WrittenObjects(Protocol):
    """Watches how the objects of releases are: `releases.health.health_tracker.HealthTracker`."""

    def track(self, head: Head, objects: Sequence[JSON], written: bool) -> None:
        """From now on those of this revision."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """The healthy `revision` to go back to, 0 for none. `after_errors`: also when a rollout fails. `given_up` is the
    revision that turned out not to work, 0 for none, and `reason` why it did not."""

    revision: int = 0
    after_errors: bool = False
    given_up: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """`options` say how the release is rolled out, `restoring` how an earlier revision is brought back on request.
    `asked` is everything by which a user may ask for another attempt to reach the same inputs, None if nothing is.
    `addon` and `version` as in DesiredRelease. `health` watches what the run has written, if anything does."""

    build: ReleaseBuild
    options: ReleaseOptions
    restoring: ReleaseOptions = field(default_factory=ReleaseOptions)
    fallback: Fallback = Fallback()
    asked: JSON = None
    addon: str = ""
    version: str = ""
    health: WrittenObjects | None = None

    def with_rendered(self, rendered: RenderedChart) -> "Plan":
        """The plan for these objects, of which patches have changed some."""
        return replace(self, options=replace(self.options, unpatched=rendered.unpatched))

    def digest_to_reach(self, head: Head | None, digest: str) -> str:
        """The digest that the release should have: that of the attempt in whose place the head was restored, because it
        had failed or on request, if nothing has changed since; else the one that the unit's inputs have now."""
        if head is None or head.note not in (ROLLED_BACK, PINNED):
            return digest
        replaced = self.attempt_digest(digest)
        return replaced if head.digest == replaced else digest

    def gives_up(self, head: Head) -> bool:
        """Is this revision given up, and is there an earlier one to go back to?"""
        return self.fallback.revision > 0 and head.revision == self.fallback.given_up

    def attempt_digest(self, digest: str) -> str:
        """The digest of the attempt to reach inputs of this digest that the user asks for now."""
        return digest if self.asked is None else attempt_digest(digest, self.asked)


class Planner(Protocol):
    """Plans the runs of units."""

    async def plan(self, state: UnitState) -> Plan:
        """The first step of each run. Raises RunBlocked if the unit cannot run before something else changes,
        RunPostponed if it cannot yet, else any HookrunnerError."""

    def present(self, state: UnitState) -> Plan:
        """The plan between runs: for what is done on request, and for views. Raises RenderFailed without one."""

    async def uninstall(self, state: UnitState, head: Head) -> None:
        """Remove what the unit has installed, or leave it to its user. Raises ReleaseFailed, KubeError."""


class Planners:
    """The planner of each unit: the one that it has brought along, else that of modules."""

    def __init__(self, modules: Planner) -> None:
        self._modules = modules
        self._brought: dict[str, Planner] = {}

    def of(self, state: UnitState) -> Planner:
        """The planner of a unit."""
        return self._brought.get(state.name, self._modules)

    def add(self, unit: str, planner: Planner) -> None:
        """This unit has a planner of its own."""
        self._brought[unit] = planner

    def remove(self, unit: str) -> None:
        """The unit does not exist any more."""
        self._brought.pop(unit, None)

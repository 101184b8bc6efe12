"""An instance of an addon as convergence sees it, without a package."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hookrunner.convergence.plan import Fallback, Plan, WrittenObjects
from hookrunner.model import units
from hookrunner.model.addon_status import HookCondition
from hookrunner.model.hook_runs import InstanceInput
from hookrunner.model.releases import Capabilities, Head, ReleaseInputs, ReleaseOptions, RenderedChart
from hookrunner.model.unit_state import UnitState
from hookrunner.model.units import Unit
from kubetypes.json_values import JSON

INSTANCE = Unit("dns.default.x", "dns", "dns.default.x", Path("/nowhere"), units.INSTANCE, hooks_of="dns")
OBJECT: JSON = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


@dataclass
class FakeBuild:
    """Always the same object; `rendered` counts. `unmatched` and `unpatched` are what patches come to."""

    digest: str = "1"
    looks_up: bool = False
    rendered: int = 0
    unmatched: tuple[str, ...] = ()
    unpatched: dict[tuple[str, ...], JSON] = field(default_factory=dict)
    values: JSON = None

    def relevant(self, served: Capabilities) -> Capabilities | None:
        return None

    async def read_inputs(self) -> ReleaseInputs:
        return ReleaseInputs(self.digest, self.values, self.looks_up)

    async def render(self, is_first: bool) -> RenderedChart:
        self.rendered += 1
        return RenderedChart("", (OBJECT,), (), "", {}, self.unpatched, self.unmatched)


class Written:
    """Remembers the objects that it watches: revision, objects, whether they were just written."""

    def __init__(self) -> None:
        self.tracked: list[tuple[int, tuple[JSON, ...], bool]] = []

    def track(self, head: Head, objects: Sequence[JSON], written: bool) -> None:
        self.tracked.append((head.revision, tuple(objects), written))


@dataclass
class FakePlanner:
    """Plans the same each time. `blocked` is raised by each run; `planned` counts; the release falls back to the
    revision `target` after a failure and in place of the revision `late`."""

    build: FakeBuild = field(default_factory=FakeBuild)
    version: str = ""
    blocked: Exception | None = None
    attempt: int = 0
    target: int = 0
    late: int = 0
    planned: int = 0
    uninstalled: list[str] = field(default_factory=list)
    health: WrittenObjects | None = None

    async def plan(self, state: UnitState) -> Plan:
        self.planned += 1
        if self.blocked:
            raise self.blocked
        return self.present(state)

    def present(self, state: UnitState) -> Plan:
        options = ReleaseOptions(timeout=5.0, dry_run=True)
        fallback = Fallback(self.target, True, self.late, "it is late")
        return Plan(self.build, options, options, fallback, self.attempt, state.name, self.version, self.health)

    async def uninstall(self, state: UnitState, head: Head) -> None:
        self.uninstalled.append(head.name)


@dataclass
class FakeSubject:
    """What hooks know, and what they have reported."""

    reports: dict[str, Sequence[HookCondition]] = field(default_factory=dict)

    def give(self) -> InstanceInput:
        return InstanceInput(b"{}")

    def report(self, hook: str, conditions: Sequence[HookCondition]) -> None:
        self.reports[hook] = conditions

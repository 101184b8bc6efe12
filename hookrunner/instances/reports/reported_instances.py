"""The last known state of each instance: what gauges, `/readyz` and lists show. A change of it becomes Events.

reported = ReportedInstances(notices, metrics, time.monotonic)
reported.see(instance)                      # it exists
reported.take_in(instance, facts)           # these facts hold from now on
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from hookrunner.convergence.events import Notices
from hookrunner.instances.reports.instance_news import (
    ReportedState,
    announced_after,
    news_of,
    state_of_facts,
    state_of_status,
)
from hookrunner.metrics.names import Metrics
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, InstanceFacts
from hookrunner.model.addons import Instance
from kubetypes.light_dataclasses import dataclass


@dataclass(eq=False, slots=True)
class ReportedInstance:
    """An instance and its state. `objects` says how many of its objects have each status, `behind_since` since when
    (seconds of a monotonic clock) it is not Current, None while it is. `failure` was counted last."""

    instance: Instance
    state: ReportedState
    announced: ReportedState
    behind_since: float | None
    objects: Mapping[str, int] = field(default_factory=dict)
    facts: InstanceFacts | None = None
    failure: Exception | None = None

    @property
    def labels(self) -> tuple[str, str, str]:
        """Addon, namespace and name, the labels of its metrics."""
        return self.instance.labels

    def __str__(self) -> str:
        return "/".join(filter(None, self.labels))

    def replace(self, facts: InstanceFacts, state: ReportedState, now: float) -> None:
        """These facts lead to this state."""
        self.facts, self.state, self.announced = facts, state, announced_after(self.announced, state)
        self.objects = Counter(report.status for report in facts.objects or ())
        if state.is_current:
            self.behind_since = None
        elif self.behind_since is None:
            self.behind_since = now


class ReportedInstances:
    """The states of all instances by unit. `clock` gives monotonic seconds."""

    def __init__(self, notices: Notices, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._notices = notices
        self._metrics = metrics
        self._clock = clock
        self._reported: dict[str, ReportedInstance] = {}

    def __iter__(self) -> Iterator[ReportedInstance]:
        return iter(tuple(self._reported.values()))

    def find(self, unit: str) -> ReportedInstance | None:
        """What is known of an instance, None before it was seen."""
        return self._reported.get(unit)

    def see(self, instance: Instance) -> ReportedInstance:
        """An instance exists; until facts are known, its status says how it is."""
        known = self._reported.get(instance.unit)
        if known and known.instance.uid == instance.uid:
            known.instance = instance
            return known
        state = state_of_status(instance.status)
        since = None if state.is_current else self._clock()
        announced = announced_after(ReportedState(), state)
        seen = self._reported[instance.unit] = ReportedInstance(instance, state, announced, since)
        return seen

    def take_in(self, instance: Instance, facts: InstanceFacts) -> bool:
        """These facts hold from now on; what is new in them becomes Events. Returns whether it works now, and did not
        before."""
        known = self.see(instance)
        if facts == known.facts:
            return False
        state = state_of_facts(facts)
        for notice in news_of(instance.unit, known.announced, state):
            self._notices.publish(notice)
        was_current = known.state.is_current
        known.replace(facts, state, self._clock())
        return state.is_current and not was_current

    def count_failure(self, instance: Instance, failure: Exception | None, obstacle: AddonObstacle | None) -> None:
        """Count an attempt that has failed, once; one that waits as its user asks has not."""
        known = self.see(instance)
        is_new, known.failure = failure is not known.failure, failure
        if is_new and obstacle and obstacle.phase not in (AddonPhase.PENDING, AddonPhase.SUSPENDED):
            self._metrics.addon_run_errors.inc(*known.labels, obstacle.reason)

    def forget(self, unit: str) -> None:
        """The instance is gone, or left to its user."""
        if known := self._reported.pop(unit, None):
            self._metrics.forget_addon(known.labels)

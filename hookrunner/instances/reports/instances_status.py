"""What is shown of all instances: the condition `addons` of `/readyz`, and gauges at each scrape. Reading changes
nothing."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from hookrunner.instances.reports.instance_news import ReportedState
from hookrunner.instances.reports.reported_instances import ReportedInstance, ReportedInstances
from hookrunner.instances.reports.sight import Sight
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.addon_status import AddonPhase
from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.status import one_line, some

LONG = 30.0
"""Seconds for which an instance may not be Current before `/readyz` names it."""

_ACTION = "hookrunner addon list"

_Samples: TypeAlias = Iterator[tuple[LabelValues, float]]


class InstancesStatus:
    """Views of all instances. `clock` gives the seconds in which `reported` counts."""

    def __init__(self, reported: ReportedInstances, sight: Sight, clock: Callable[[], float]) -> None:
        self._reported = reported
        self._sight = sight
        self._clock = clock

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """Names instances that have not been Current for a while, and kinds that are not seen. They make nothing
        unready: a Pod that is restarted repairs no addon."""
        return {"addons": (True, some([*map(str, self._troubles())], "; "))}

    def needs(self) -> Iterator[UserNeed]:
        """The same, each on its own: what needs the user."""
        return self._troubles()

    def export(self, metrics: Metrics) -> None:
        """Let the gauges be read at each scrape."""
        metrics.addon_info.from_function(self._infos)
        metrics.addon_phase.from_function(self._phases)
        metrics.addon_healthy.from_function(self._healthy)
        metrics.addon_objects.from_function(self._objects)
        metrics.addon_update_available.from_function(self._updates)

    def _troubles(self) -> Iterator[UserNeed]:
        for loss in self._sight.losses():
            yield UserNeed(Urgency.CRITICAL, "addons", "", loss, _ACTION)
        for known in self._reported:
            if self._is_late(known):
                yield UserNeed(_urgency(known.state), "addons", str(known), _trouble(known.state), _ACTION)

    def _is_late(self, known: ReportedInstance) -> bool:
        return known.behind_since is not None and self._clock() - known.behind_since >= LONG

    def _infos(self) -> _Samples:
        named = (known for known in self._reported if known.state.version)
        return (((*known.labels, known.state.version, known.state.channel), 1) for known in named)

    def _phases(self) -> _Samples:
        phases = ((known.labels, known.state.phase) for known in self._reported)
        return (((*labels, phase.value), 1) for labels, phase in phases if phase)

    def _healthy(self) -> _Samples:
        return ((known.labels, known.state.is_current) for known in self._reported)

    def _objects(self) -> _Samples:
        counts = ((known.labels, count) for known in self._reported for count in known.objects.items())
        return (((*labels, status), number) for labels, (status, number) in counts)

    def _updates(self) -> _Samples:
        versions = ((known.labels, known.state.available) for known in self._reported)
        return (((*labels, version), 1) for labels, version in versions if version)


def _trouble(state: ReportedState) -> str:
    text = f"{state.phase or 'not reconciled yet'}{f' ({state.reason})' * bool(state.reason)}"
    return one_line(f"{text}: {state.message}" if state.message else text)


def _urgency(state: ReportedState) -> Urgency:
    if state.phase is AddonPhase.SUSPENDED:
        return Urgency.ADVICE
    waits = state.is_on_the_way or state.phase in (AddonPhase.PENDING, AddonPhase.IN_PROGRESS, AddonPhase.TERMINATING)
    return Urgency.WAITING if waits else Urgency.FAILING

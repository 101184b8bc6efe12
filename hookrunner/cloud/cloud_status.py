"""What is shown of the cloud controller manager: conditions of `/readyz`, gauges at each scrape, `hookrunner cloud
status`. Reading changes nothing.

A replica that does not lead is ready: its provider has answered, its watches are up to date, and it can take over.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias, TypeVar

from hookrunner.cloud.answers import ProviderError
from hookrunner.cloud.leader_terms import LeaderTerms
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.initialization_loop import InitializationLoop
from hookrunner.cloud.nodes.lifecycle_loop import LifecycleLoop
from hookrunner.cloud.nodes.node_informer import NodeInformer
from hookrunner.cloud.provider.provider_calls import CallRecord
from hookrunner.cloud.queue_loop import QueueLoop
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.cloud.services.service_loop import ServiceLoop
from hookrunner.cloud.shown_texts import Mask
from hookrunner.cloud.takeover.orphan_search import BalancerSource, find_orphans
from hookrunner.metrics.cloud import CloudMetrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.cloud import (
    CallDump,
    CloudDump,
    CloudNodeDump,
    CloudServiceDump,
    DeletionDump,
    OrphanDump,
    ProviderDump,
)
from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.status import one_line, some
from hookrunner.model.timestamps import rfc3339
from hookrunner.printable import printable
from kubetypes.light_dataclasses import dataclass

LONG = 300.0
"""Seconds for which a Node may be without initialisation before `/readyz` names it."""

_RELEASE = "hookrunner cloud status, then hookrunner cloud release"

_Loop = TypeVar("_Loop")
_Samples: TypeAlias = Iterator[tuple[LabelValues, float]]


class CallLog(Protocol):
    """The last calls of the provider: `provider/provider_calls.py`."""

    @property
    def recent(self) -> Iterable[CallRecord]: ...

    @property
    def paused_until(self) -> float: ...


class WatchedProvider(BalancerSource, Protocol):
    """The provider, as far as it is shown: `provider/executable_provider.py`."""

    @property
    def condition(self) -> tuple[bool, str]: ...

    @property
    def calls(self) -> CallLog: ...


class Leadership(Protocol):
    """Who leads: `controllers/leader_election.py`, or always this process."""

    @property
    def is_leader(self) -> bool: ...

    @property
    def holder(self) -> str: ...

    @property
    def problem(self) -> str: ...


@dataclass(frozen=True, slots=True)
class CloudReports:
    """Views of the cloud, and what they show. `path` is the provider's; `obstacle` why the settings and the provider do
    not fit together; `watches_services` whether Services are looked at; `mask` takes the provider's secrets out of
    texts."""

    path: str
    provider: WatchedProvider
    leadership: Leadership
    nodes: NodeInformer
    services: ServiceInformer
    terms: LeaderTerms
    obstacle: Callable[[], str]
    watches_services: Callable[[], bool]
    mask: Mask = str

    def conditions(self) -> dict[str, tuple[bool, str]]:
        """For `/readyz`. Neither Nodes nor held deletions make it unready: a Pod that is restarted cures neither."""
        background = self.terms.background
        return {
            "provider": self._provider_condition(),
            "watches": (not (unseen := [*self._unseen()]), "; ".join(map(str, unseen))),
            "leader": (True, self._leader()),
            "nodes": (True, some([*map(str, self._late_nodes())], "; ")),
            "deletions": (True, self._held_text()),
            **({"background": background.condition()} if background else {}),
        }

    def needs(self) -> Iterator[UserNeed]:
        """What needs the user: the same, each on its own, Services that fail, and what holds loops up."""
        ready, problem = self._provider_condition()
        if problem:
            yield _need("provider", "", problem, Urgency.FAILING if ready else Urgency.CRITICAL)
        if (paused_until := self.provider.calls.paused_until) > time.time():
            text = f"paused until {rfc3339(paused_until)}: the cloud throttles"
            yield _need("provider", "", text, Urgency.WAITING)
        if self.leadership.problem:
            yield _need("leader", "", self._line(self.leadership.problem))
        yield from self._unseen()
        yield from self._late_nodes()
        for service in self._services():
            if service.state in ("failed", "invalid"):
                name = f"{service.namespace}/{service.name}"
                yield replace(_need("services", name, service.reason), again=service.again)
        for loop, text in self._loop_problems():
            if text:
                yield _need("loops", loop, text)
        for deletion in self._deletions():
            if deletion.held:
                yield replace(_need("deletions", deletion.node, deletion.reason, Urgency.WAITING), action=_RELEASE)

    def dump(self) -> CloudDump:
        """For `hookrunner cloud status`."""
        return CloudDump(
            provider=self._provider(),
            leads=self.leadership.is_leader,
            leader=self._line(self.leadership.holder),
            loops=self._loop_problems(),
            nodes=tuple(self._node(node) for node in self.nodes),
            deletions=self._deletions(),
            services=tuple(self._services()),
            calls=tuple(map(self._call, self.provider.calls.recent)),
        )

    def release(self) -> Sequence[str]:
        """Let deletions go on that are held; the names of their Nodes."""
        return [name for loop in self._loops(LifecycleLoop) for name in loop.release()]

    async def find_orphans(self) -> Sequence[OrphanDump]:
        """Load balancers of the cloud without a Service. Raises HookrunnerError, which says what to do."""
        found = await find_orphans(self.provider, self.services, self.watches_services())
        line = self._line
        return [OrphanDump(line(one.name), line(one.service), line(one.uid), one.reason) for one in found]

    def export(self, metrics: CloudMetrics) -> None:
        """Let the gauges be read at each scrape."""
        metrics.cloud_nodes.from_function(lambda: _counted(self._state_of(node) for node in self._judged_nodes()))
        metrics.cloud_services.from_function(lambda: _counted(service.state for service in self._services()))
        metrics.cloud_node_delete_candidates.from_function(lambda: [((), len(self._deletions()))])
        metrics.cloud_node_deletes_held.from_function(lambda: [((), len(self._held()))])
        metrics.cloud_backoff_objects.from_function(self._backing_off)
        metrics.cloud_leader.from_function(lambda: [((), self.leadership.is_leader)])
        metrics.cloud_provider_paused_until.from_function(lambda: [((), self.provider.calls.paused_until)])

    def _provider_condition(self) -> tuple[bool, str]:
        ready, message = self.provider.condition
        obstacle = self.obstacle()
        return ready and not obstacle, self._line("; ".join(filter(None, [obstacle, message])))

    def _loop_problems(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, self._line(getattr(loop, "problem", ""))) for name, loop in self.terms.loops.items())

    def _unseen(self) -> Iterator[UserNeed]:
        informers: dict[str, NodeInformer | ServiceInformer] = {"Nodes": self.nodes}
        if self.watches_services():
            informers["Services"] = self.services
        for kind, informer in informers.items():
            if informer.obstacle:
                yield _need("watches", kind, informer.obstacle, Urgency.CRITICAL)

    def _leader(self) -> str:
        leadership = self.leadership
        who = "this replica" if leadership.is_leader else leadership.holder or "no one that is known"
        return self._line(f"{who} leads{f'; {leadership.problem}' if leadership.problem else ''}")

    def _judged_nodes(self) -> Iterable[CloudNode]:
        """The Nodes, where this replica initialises them: no other knows which of them need no initialisation."""
        return self.nodes if self._loops(InitializationLoop) else ()

    def _late_nodes(self) -> list[UserNeed]:
        nodes = [node for node in self._judged_nodes() if self._state_of(node) == "uninitialized"]
        late = [node for node in nodes if time.time() - node.created_at >= LONG]
        return [_need("nodes", node.name, self._reason_of(node) or "not initialised") for node in late]

    def _held_text(self) -> str:
        held = self._held()
        return f"held: {', '.join(held)}; `hookrunner cloud release` lets them go" if held else ""

    def _held(self) -> list[str]:
        return [deletion.node for deletion in self._deletions() if deletion.held]

    def _deletions(self) -> tuple[DeletionDump, ...]:
        return tuple(deletion for loop in self._loops(LifecycleLoop) for deletion in loop.dump())

    def _provider(self) -> ProviderDump:
        provider, paused_until = self.provider, self.provider.calls.paused_until
        _, problem = self._provider_condition()
        try:
            capabilities = provider.capabilities
        except ProviderError:
            return ProviderDump(self.path, paused_until=paused_until, problem=problem)
        name, interfaces = capabilities.provider_name, tuple(map(str, capabilities.interfaces))
        return ProviderDump(self.path, name, interfaces, paused_until, problem)

    def _node(self, node: CloudNode) -> CloudNodeDump:
        provider_id, reason = self._line(node.provider_id), self._reason_of(node)
        return CloudNodeDump(node.name, self._state_of(node), provider_id, node.created_at, reason)

    def _state_of(self, node: CloudNode) -> str:
        try:
            if node.provider_id and not self.provider.capabilities.owns(node.provider_id):
                return "foreign"
        except ProviderError:
            pass
        if node.is_initialized:
            return "initialized"
        return (
            "skipped" if any(node.name in loop.skipped for loop in self._loops(InitializationLoop)) else "uninitialized"
        )

    def _reason_of(self, node: CloudNode) -> str:
        reasons = (loop.problems.get(node.name) for loop in self._loops(InitializationLoop))
        return self._line(next(filter(None, reasons), ""))

    def _services(self) -> Iterator[CloudServiceDump]:
        for loop in self._loops(ServiceLoop):
            for shown in loop.describe():
                ingress = tuple(map(self._line, shown.ingress))
                yield replace(shown, ingress=ingress, reason=self._line(shown.reason))

    def _call(self, call: CallRecord) -> CallDump:
        return CallDump(call.verb, call.began_at, call.seconds, call.code, self._line(call.message))

    def _line(self, text: str) -> str:
        """A text that may be the provider's, as people may see it."""
        return printable(one_line(self.mask(text)))

    def _backing_off(self) -> _Samples:
        for name, loop in self.terms.loops.items():
            if isinstance(loop, QueueLoop):
                yield (name,), loop.backing_off

    def _loops(self, kind: type[_Loop]) -> list[_Loop]:
        """The loops of this kind that run here."""
        return [loop for loop in self.terms.loops.values() if isinstance(loop, kind)]


def _need(kind: str, name: str, message: str, urgency: Urgency = Urgency.FAILING) -> UserNeed:
    return UserNeed(urgency, kind, name, message, "hookrunner cloud status")


def _counted(states: Iterator[str]) -> _Samples:
    for state, number in Counter(states).items():
        yield (state,), number

"""Keeps the load balancers of Services: a loop from the watch over a work queue to the writes.

    loop = ServiceLoop(services, nodes, actions, reports, policy)
    await loop.run()          # while this process is the leader
    loop.stop()               # what is under way is finished, then `run` returns

One object is for one term as the leader. Everything that is done for one Service, also giving its load balancer other
nodes, goes through one key of the queue, so that an older set of nodes never overtakes a newer one; one Service that
hangs holds up no other. What was last done about each is kept as a `BalancerRecord`.
"""

import asyncio
import dataclasses
import time
import zlib
from collections.abc import Iterator

from hookrunner.cloud.answers import ErrorCode, ProviderError
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.node_informer import NodeInformer, NodeSubscription
from hookrunner.cloud.projection_informer import ProjectionSubscription
from hookrunner.cloud.queue_loop import QueueLoop
from hookrunner.cloud.services.backends import Backends, BackendSets, changes_backends
from hookrunner.cloud.services.balancer_actions import BalancerActions
from hookrunner.cloud.services.cloud_service import CloudService
from hookrunner.cloud.services.service_decisions import (
    BalancerRecord,
    ServiceAction,
    ServiceDecision,
    ServicePolicy,
    decide_service,
    has_other_backends,
    identify_attempt,
    name_state,
    needs_sync,
)
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.cloud.services.service_reports import (
    NodeSyncTimer,
    ServiceReports,
    report_failed_deletion,
    report_failed_sync,
    report_failed_update,
)
from hookrunner.errors import HookrunnerError, KubeError
from hookrunner.model.cloud import CloudServiceDump
from hookrunner.model.status import one_line
from hookrunner.waits import Pauses

PAUSES = Pauses(5.0, 300.0)
"""Seconds of the back-off, as upstream."""


class SyncFailed(HookrunnerError):
    """A load balancer could not be brought to its wanted state; the work queue tries it again."""


class ServiceLoop(QueueLoop):
    """Keeps load balancers. `records`: what was last done about each Service, by `namespace/name`."""

    def __init__(
        self,
        services: ServiceInformer,
        nodes: NodeInformer,
        actions: BalancerActions,
        reports: ServiceReports,
        policy: ServicePolicy,
    ) -> None:
        super().__init__("service-lb", PAUSES)
        self.records: dict[str, BalancerRecord] = {}
        self._services = services
        self._nodes = nodes
        self._actions = actions
        self._reports = reports
        self._policy = policy
        self._backends = BackendSets()
        self._sync_timer = NodeSyncTimer(reports.metrics)

    def describe(self) -> Iterator[CloudServiceDump]:
        """How far each Service is that has a load balancer, should have one, or had one."""
        keys = {service.key for service in self._services} | self.records.keys()
        for key in sorted(keys):
            service, record = self._services.get(key), self._recall(key)
            if state := name_state(service, record, self._policy):
                namespace, _, name = key.partition("/")
                ingress = tuple(entry.ip or entry.hostname for entry in service.ingress) if service else ()
                yield CloudServiceDump(namespace, name, state, ingress, one_line(record.problem), record.again)

    async def run(self) -> None:
        """Keep load balancers until `stop`."""
        with self._services.subscribe() as services, self._nodes.subscribe() as nodes:
            feeds = self._enqueue_changes(services), self._compare_nodes(nodes)
            await self._work(self._reconcile, self._policy.concurrent_syncs, *feeds)

    async def _enqueue_changes(self, changes: ProjectionSubscription[CloudService]) -> None:
        while True:
            for change in await changes.next_batch():
                if (some := change.after or change.before) and needs_sync(change.before, change.after, self._policy):
                    self._queue.add(some.key)

    async def _compare_nodes(self, changes: NodeSubscription) -> None:
        """After a change of Nodes, give each load balancer its nodes that has others. One that is being ensured looks
        again when that is done; one whose last attempt failed takes the nodes of its next one."""
        follows = not self._policy.as_upstream
        while True:
            batch = await changes.next_batch()
            if any(changes_backends(change.before, change.after, follows) for change in batch):
                identity = self._backends.select(self._nodes).identity
                outdated = [key for key, record in self.records.items() if has_other_backends(record, identity)]
                self._sync_timer.begin(outdated)
                for key in outdated:
                    self._queue.add(key)

    async def _reconcile(self, key: str) -> float | None:
        if not (await self._services.wait_for_view(self._stopped) and await self._nodes.wait_for_view(self._stopped)):
            return None
        backends = self._backends.select(self._nodes)
        decision = decide_service(self._services.get(key), self._recall(key), backends.identity, self._policy)
        try:
            pause = await self._act(key, decision, backends)
        except (ProviderError, KubeError) as error:
            return self._fail(key, decision, backends.nodes, error)
        if decision.action is not ServiceAction.NOTHING:
            self._reports.metrics.cloud_service_syncs.inc("ok")
        return pause

    async def _act(self, key: str, decision: ServiceDecision, backends: Backends) -> float | None:
        """Do what was decided; the exact seconds until the key is due again, None for never."""
        match decision:
            case ServiceDecision(ServiceAction.ENSURE, CloudService() as service):
                return await self._ensure(key, service, backends)
            case ServiceDecision(ServiceAction.UPDATE, CloudService() as service):
                return await self._update(key, service, backends)
            case ServiceDecision(ServiceAction.CLEAN_UP, CloudService() as service):
                await self._actions.clean_up(service)
                self._forget(key)
            case ServiceDecision(ServiceAction.DELETE_OLD, CloudService() as service):
                await self._actions.delete_old(service)
                self._forget(key)
                return 0.0
            case ServiceDecision(service=None):
                self._forget(key)
        return None

    def _forget(self, key: str) -> None:
        self.records.pop(key, None)
        self._sync_timer.end(key)

    def _recall(self, key: str) -> BalancerRecord:
        return self.records.get(key) or BalancerRecord()

    async def _ensure(self, key: str, service: CloudService, backends: Backends) -> float | None:
        if not await self._actions.begin(service):
            return None
        record = BalancerRecord(service, backends=backends.identity)
        self.records[key] = record
        is_here = await self._actions.ensure(service, backends.nodes)
        self.records[key] = dataclasses.replace(record, is_settled=True, is_elsewhere=not is_here)
        return self._settle(key, service)

    async def _update(self, key: str, service: CloudService, backends: Backends) -> float | None:
        metrics, began = self._reports.metrics, time.monotonic()
        metrics.loadbalancer_sync.inc()
        await self._actions.update(service, backends.nodes)
        metrics.update_loadbalancer_host_latency_seconds.observe(time.monotonic() - began)
        known = self._recall(key)
        self.records[key] = dataclasses.replace(known, service=service, backends=backends.identity)
        return self._settle(key, service)

    def _settle(self, key: str, service: CloudService) -> float | None:
        """Look at the Nodes again, which may have changed meanwhile: `_compare_nodes` skips what is being ensured, and
        compares with the nodes of before an update. Seconds until it is ensured again anyway."""
        self._queue.forget(key)
        self._sync_timer.end(key)
        if has_other_backends(self.records[key], self._backends.select(self._nodes).identity):
            self._queue.add(key)
        return until_resync(service.uid, self._policy.resync_period, asyncio.get_running_loop().time())

    def _fail(
        self, key: str, decision: ServiceDecision, backends: tuple[CloudNode, ...], error: ProviderError | KubeError
    ) -> float | None:
        """Say that an attempt failed. Seconds until the next, None for never. Raises SyncFailed if the queue has
        to say when."""
        self._report(decision, backends, error)
        pause = error.pause if isinstance(error, ProviderError) else None
        waits = self._is_final(decision, error)
        if decision.action is ServiceAction.UPDATE and pause is None:
            pause = 0.0  # at once, as upstream: to ensure it may succeed where an update does not
        again = PAUSES.after(self._queue.failures(key) + 1) if pause is None else pause
        self.records[key] = dataclasses.replace(
            self._recall(key),
            is_settled=False,
            problem=str(error),
            again=0.0 if waits else time.time() + again,
            refused=identify_attempt(decision.service) if waits and decision.service else None,
        )
        if pause is None and not waits:
            raise SyncFailed(f"Service {key}: {error}") from None
        return None if waits else pause

    def _is_final(self, decision: ServiceDecision, error: Exception) -> bool:
        """Is another attempt pointless until the Service changes? One that is gone does not change any more, and a load
        balancer that cannot be updated can perhaps be ensured."""
        is_invalid = isinstance(error, ProviderError) and error.code is ErrorCode.INVALID
        about_service = decision.action in (ServiceAction.ENSURE, ServiceAction.CLEAN_UP)
        return is_invalid and about_service and not self._policy.as_upstream

    def _report(
        self, decision: ServiceDecision, backends: tuple[CloudNode, ...], error: ProviderError | KubeError
    ) -> None:
        metrics = self._reports.metrics
        metrics.cloud_service_syncs.inc(error.code.value if isinstance(error, ProviderError) else "KubeError")
        match decision.action:
            case ServiceAction.UPDATE:
                metrics.nodesync_error.inc()
                event = report_failed_update(backends, error)
            case ServiceAction.DELETE_OLD:
                event = report_failed_deletion(error)
            case _:
                event = report_failed_sync(error)
        if decision.service:
            self._reports.record(decision.service, event)


def until_resync(uid: str, period: float, now: float) -> float | None:
    """Seconds until a Service is ensured again although nothing has changed; None if it is not. Each has a place of its
    own in the period, so that they do not all come at once."""
    if not period:
        return None
    place = zlib.crc32(uid.encode()) / (1 << 32) * period
    return period - (now - place) % period

"""Looks at the Pods of workloads that are in progress, and finds those that never become ready.

    watchdog.follow(target, health)          # begins and ends with the workload's progress
    async for target in watchdog.findings(): ...
    watchdog.judge(target, health)           # with what its Pods say

Pods are not watched: a cluster may have 100,000 of them, and most workloads are ready. Those of a workload in progress
are listed after 5 s, then ever more rarely, up to every 60 s. Without the right to list Pods nothing is found.
"""

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime

from hookrunner import log
from hookrunner.errors import KubeError
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.impersonation import acting_as
from hookrunner.kube.writes import ListOptions, ObjectRef
from hookrunner.model.releases import ServiceAccount
from hookrunner.model.resources import Resource
from hookrunner.releases.drift_checks import RecheckQueue
from hookrunner.releases.health.object_status import ObjectHealth, failed, field_of
from hookrunner.releases.health.pod_findings import PodObstacle, current_pods, find_obstacle, with_pod
from hookrunner.releases.manifest_objects import KindResolver, ObjectId
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_FIRST, _LONGEST = 5.0, 60.0
_PODS = Resource("v1", "Pod", "pods", True)
_REPLICA_SETS = Resource("apps/v1", "ReplicaSet", "replicasets", True)
_WORKLOADS = frozenset({("apps", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")}) | {
    ("batch", "Job")
}

_log = log.get(__name__)


@dataclass(slots=True)
class _FollowedWorkload:
    """A workload in progress: the account as which it is read, seconds until its Pods are looked at again, as
    hookrunner itself, and what they said last."""

    account: ServiceAccount | None
    pause: float = _FIRST
    obstacle: PodObstacle | None = None


class PodWatchdog:
    """The workloads in progress of one cluster."""

    def __init__(self, client: Client, kinds: KindResolver) -> None:
        self._client = client
        self._kinds = kinds
        self._followed: dict[ObjectId, _FollowedWorkload] = {}
        self._due = RecheckQueue()

    def follow(self, target: ObjectId, health: ObjectHealth | None, account: ServiceAccount | None = None) -> None:
        """Take in the health of an object, with or without what its Pods say. It is read as this account."""
        if (target.group, target.kind) not in _WORKLOADS:
            return
        if health and health.status in ("Current", "NotFound", "Terminating"):
            self.forget(target)
        elif health and health.status == "InProgress" and target not in self._followed:
            self._followed[target] = _FollowedWorkload(account)
            self._due.add_after(target, _FIRST)

    def forget(self, target: ObjectId) -> None:
        """Look at its Pods no more."""
        self._followed.pop(target, None)

    def judge(self, target: ObjectId, health: ObjectHealth) -> ObjectHealth:
        """The health of a workload in progress with what its Pods say."""
        workload = self._followed.get(target)
        if workload is None or workload.obstacle is None or health.status != "InProgress":
            return health
        if workload.obstacle.is_fatal:
            return failed("PodFailing", workload.obstacle.message)
        return replace(health, message=with_pod(health.message, workload.obstacle))

    async def findings(self) -> AsyncGenerator[ObjectId, None]:
        """Yield a workload when its Pods say something else than before; for one reader."""
        while True:
            target = await self._due.take()
            if (workload := self._followed.get(target)) is None:
                continue
            try:
                obstacle = await self._find(target, workload.account)
            except KubeError as error:
                _log.debug("Pods cannot be looked at", workload=str(target), error=error)
                obstacle = None
            if self._followed.get(target) is not workload:
                continue
            workload.pause = min(workload.pause * 2, _LONGEST)
            self._due.add_after(target, workload.pause)
            if obstacle != workload.obstacle:
                workload.obstacle = obstacle
                yield target

    async def _find(self, target: ObjectId, account: ServiceAccount | None) -> PodObstacle | None:
        workload = await writes.read(acting_as(self._client, account), await self._kinds.resolve_ref(target))
        selector = field_of(workload, "spec", "selector", "matchLabels")
        if not selector:
            return None
        options = ListOptions(labels=",".join(f"{key}={value}" for key, value in sorted(selector.items())))
        pods = await self._list(_PODS, target.namespace, options)
        owned = replace(options, metadata_only=True)
        is_deployment = target.kind == "Deployment"
        replica_sets = await self._list(_REPLICA_SETS, target.namespace, owned) if is_deployment else []
        return find_obstacle(current_pods(workload, pods, replica_sets), datetime.now(UTC))

    async def _list(self, resource: Resource, namespace: str, options: ListOptions) -> list[JSON]:
        page = await writes.read_list(self._client, ObjectRef(resource, namespace), options)
        return list(page["items"])

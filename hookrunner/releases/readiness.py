"""Waits until objects are ready by watching them; never by polling.

    await Readiness(discovery, watches).wait_ready(objects, "default", timeout=300)

One watch for each kind and namespace, restricted to objects that Helm manages. Kinds that are ready as soon as they
exist are not watched.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from operator import itemgetter
from typing import TypeAlias

from hookrunner import log
from hookrunner.errors import ObjectsDeleted, ReleaseFailed
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.informer import Added, Deleted, Informer, Modified
from hookrunner.kube.watch import Watches
from hookrunner.model.events import Report, WatchLost
from hookrunner.model.resources import ObjectKey, Selection
from hookrunner.model.status import some
from hookrunner.releases.health.object_health import has_rule
from hookrunner.releases.health.object_status import CURRENT, ObjectHealth, failed, unknown
from hookrunner.releases.kstatus import verdict
from hookrunner.releases.manifest_objects import MANAGED
from kubetypes.json_values import JSON

_LOG_AFTER = 30.0
"""Seconds after which the log names the objects that are not ready."""

_DELETED = "Deleted"
"""The reason of an object that others have deleted."""

_log = log.get(__name__)

Rule: TypeAlias = Callable[[JSON], ObjectHealth]
"""Whether an object meets a condition; None stands for an absent object."""


class Readiness:
    """Waits on one cluster."""

    def __init__(self, discovery: Discovery, watches: Watches) -> None:
        self._discovery = discovery
        self._watches = watches

    async def wait_ready(self, objects: Iterable[JSON], namespace: str, timeout: float) -> None:
        """Wait until all are ready by the rules of kstatus: objects of a release, as manifests have them.

        `namespace` is for those that name none.

        Raises ReleaseFailed, naming each object that is not ready and why, after `timeout` seconds or as soon as one
        has failed, ObjectsDeleted if nothing else is wrong than that; KubeError if the kinds cannot be resolved.
        """
        await self.wait_until([obj for obj in objects if has_rule(obj)], namespace, timeout, has(verdict))

    async def wait_until(self, objects: Iterable[JSON], namespace: str, timeout: float, rule: Rule) -> None:
        """Wait until `rule` finds each object ready. Raises as `wait_ready` does."""
        selected = await self._select(objects, namespace)
        if not selected:
            return
        awaited = [_Awaited(keys, rule) for keys in selected.values()]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._read(selection, watched))
                for selection, watched in zip(selected, awaited, strict=True)
            ]
            logging = group.create_task(_log_not_ready(awaited, timeout))
            await _wait_for_results(tasks, awaited, timeout)
            for task in (*tasks, logging):
                task.cancel()
        _check(awaited, timeout)

    async def _select(self, objects: Iterable[JSON], namespace: str) -> Mapping[Selection, set[ObjectKey]]:
        """Resolve the kinds; the watches that are needed, and the keys that are awaited on each."""
        groups: defaultdict[tuple[str, str, str], list[JSON]] = defaultdict(list)
        for obj in objects:
            resource = await self._discovery.resolve(obj["apiVersion"], obj["kind"])
            object_namespace = obj["metadata"].get("namespace") or namespace if resource.namespaced else ""
            groups[resource.api_version, resource.kind, object_namespace].append(obj)
        return {
            _selection(*where, members): {ObjectKey(where[2], where[1], obj["metadata"]["name"]) for obj in members}
            for where, members in groups.items()
        }

    async def _read(self, selection: Selection, awaited: "_Awaited") -> None:
        async with aclosing(self._watches.open(selection)) as batches:
            async for reports in batches:
                awaited.read(reports)
                if awaited.settled:
                    return


class _Awaited:
    """The awaited objects of one watch and their states."""

    def __init__(self, keys: set[ObjectKey], rule: Rule) -> None:
        self._rule = rule
        self._found = {key: unknown("has not been seen yet") for key in keys}
        self._informer = Informer(self._found)

    @property
    def settled(self) -> bool:
        """Are all ready, or has one failed?"""
        return self.failed or not self.not_ready()

    @property
    def failed(self) -> bool:
        return any(health.has_failed for health in self._found.values())

    def not_ready(self) -> list[tuple[ObjectKey, ObjectHealth]]:
        return [
            (key, health) for key, health in sorted(self._found.items(), key=itemgetter(0)) if not health.is_current
        ]

    def read(self, reports: Iterable[Report]) -> None:
        """Take in a batch of the watch."""
        for fact in self._informer.facts(reports):
            match fact:
                case Added(seen) | Modified(seen) if seen.key in self._found:
                    self._found[seen.key] = self._rule(seen.obj)
                case Deleted(key) if key in self._found and not self._has_ended(key):
                    self._found[key] = self._rule(None)
                case WatchLost(reason):
                    for key, _ in self.not_ready():
                        self._found[key] = unknown(f"cannot be watched: {reason}")

    def _has_ended(self, key: ObjectKey) -> bool:
        """Is it a Job that is complete, and so may be deleted by its `ttlSecondsAfterFinished`?"""
        return key.kind == "Job" and self._found[key] == CURRENT


async def _wait_for_results(tasks: list[asyncio.Task[None]], awaited: list[_Awaited], timeout: float) -> None:
    """Wait until all are ready, one has failed, or the time is up."""
    deadline = asyncio.get_running_loop().time() + timeout
    waiting = set(tasks)
    while waiting and not any(watched.failed for watched in awaited):
        left = deadline - asyncio.get_running_loop().time()
        done, waiting = await asyncio.wait(waiting, timeout=max(left, 0), return_when=asyncio.FIRST_COMPLETED)
        if not done:
            return


async def _log_not_ready(awaited: list[_Awaited], timeout: float) -> None:
    """Log once which objects are not ready. Their messages are left out, because they may contain secrets."""
    await asyncio.sleep(_LOG_AFTER)
    left = some([str(key) for watched in awaited for key, _ in watched.not_ready()])
    _log.warn("objects are not ready yet, kubectl describe says why", objects=left, timeout=f"{timeout:g} s")


def _check(awaited: list[_Awaited], timeout: float) -> None:
    """Raise ReleaseFailed with the objects that failed, or else with those that are not ready."""
    left = [pair for watched in awaited for pair in watched.not_ready()]
    hopeless = [pair for pair in left if pair[1].has_failed]
    late = "" if hopeless else f" (waited {timeout:g} s)"
    message = some([f"{key} {health}" for key, health in hopeless or left], "; ") + late
    if hopeless and all(health.reason == _DELETED for _, health in hopeless):
        raise ObjectsDeleted(message, [key for key, _ in hopeless])
    if left:
        raise ReleaseFailed(message)


def _selection(api_version: str, kind: str, namespace: str, objects: list[JSON]) -> Selection:
    """One object by its name, several by the label that all objects of releases have in the cluster."""
    if len(objects) == 1:
        return Selection(api_version, kind, namespace, fields=f"metadata.name={objects[0]['metadata']['name']}")
    return Selection(api_version, kind, namespace, MANAGED)


def is_gone(obj: JSON) -> ObjectHealth:
    """A rule: the object is deleted, with all finalizers run."""
    if obj is None:
        return CURRENT
    finalizers = ", ".join(obj["metadata"].get("finalizers") or ())
    message = f"still exists, because of its finalizers: {finalizers}" if finalizers else "still exists"
    return ObjectHealth("Terminating", message=message)


def has(rule: Rule) -> Rule:
    """The same rule, but an object that is deleted meanwhile has failed."""
    return lambda obj: failed(_DELETED, "was deleted while it was awaited") if obj is None else rule(obj)

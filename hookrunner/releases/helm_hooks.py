"""Runs a release's Helm hooks for one event, as Helm 4.1 was observed to do.

    async with aclosing(helm_hooks.run(hooks, "pre-install", identity, timeout=300)) as runs:
        async for run in runs: ...                  # a HookRun as each begins and as it ends

Hooks run one after the other, by weight and then by name. An existing object is deleted first, and its deletion is
awaited, unless its delete policies leave that out; then it is applied by the field manager `helm`, without any mark of
ownership: a hook's object belongs to no release and outlives it. Jobs and Pods are watched until they complete; objects
of other kinds only need to exist. The policies `hook-succeeded` and `hook-failed` delete objects at the end of the
event. A CustomResourceDefinition is never deleted.
Source: https://helm.sh/docs/topics/charts_hooks/
"""

from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from typing import Literal

from hookrunner import log
from hookrunner.errors import Denied, KubeError, NotFound, ReleaseFailed
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.lacked_rights import alternatives
from hookrunner.kube.writes import DeleteOptions, ObjectRef, WriteOptions
from hookrunner.model.releases import HelmHook
from hookrunner.releases.kstatus import ended
from hookrunner.releases.manifest_objects import CRD, MANAGER, KindResolver, ReleaseId, object_id
from hookrunner.releases.readiness import Readiness, has, is_gone
from hookrunner.releases.records.record import now
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)
_FIRST, _AFTER_SUCCESS, _AFTER_FAILURE = "before-hook-creation", "hook-succeeded", "hook-failed"
_VERBS = ["list", "watch", "create", "delete"]
_COMPLETE = frozenset({("batch", "Job"), ("", "Pod")})


@dataclass(frozen=True, slots=True)
class HelmHookRun:
    """The progress of one hook. Times are in the format of release records; `completed` is empty while it runs."""

    hook: HelmHook
    started: str
    completed: str = ""
    phase: Literal["Running", "Succeeded", "Failed"] = "Running"


class HelmHooks:
    """Runs hooks on one cluster."""

    def __init__(self, client: Client, kinds: KindResolver, readiness: Readiness) -> None:
        self._client = client
        self._kinds = kinds
        self._readiness = readiness

    async def run(
        self, hooks: Iterable[HelmHook], event: str, identity: ReleaseId, timeout: float
    ) -> AsyncGenerator[HelmHookRun, None]:
        """Run the hooks of an event; yield each when it begins and when it has ended. `timeout` in seconds is for each.

        Raises ReleaseFailed after the first hook that failed, with its name and the reason; the others do not run.
        """
        done: list[_Step] = []
        for hook in ordered(hooks, event):
            step = _Step(hook, event, identity, timeout)
            await self._delete_last_run(step)
            started = now()
            yield HelmHookRun(hook, started)
            problem = await self._try_run(step)
            yield HelmHookRun(hook, started, now(), "Failed" if problem else "Succeeded")
            if problem:
                await self._clean([step], _AFTER_FAILURE)
                await self._clean(done, _AFTER_SUCCESS)
                raise problem
            done.append(step)
        await self._clean(reversed(done), _AFTER_SUCCESS)

    async def _delete_last_run(self, step: "_Step") -> None:
        try:
            await self._delete(step, _FIRST)
        except (ReleaseFailed, KubeError) as error:
            raise ReleaseFailed(
                f"{step}: the object of its last run cannot be deleted: {error}", error.brief
            ) from error

    async def _try_run(self, step: "_Step") -> ReleaseFailed | None:
        """Run one hook; the error, if it failed."""
        try:
            await self._run_hook(step)
        except (ReleaseFailed, KubeError) as error:
            problem = ReleaseFailed(f"{step} failed: {error}", error.brief, lacks_rights=refusals.lacks_rights(error))
            problem.__cause__ = error
            return problem
        return None

    async def _run_hook(self, step: "_Step") -> None:
        obj, timeout = step.hook.obj, step.timeout
        options = WriteOptions(MANAGER, force=False, strict=True)
        with alternatives():
            try:
                await writes.apply(self._client, await self._ref(step), obj, options)
            except Denied as error:
                if not refusals.is_forbidden(error):
                    raise
                await self._create(step)
        if (obj["apiVersion"].rpartition("/")[0], obj["kind"]) in _COMPLETE:
            await self._readiness.wait_until([obj], step.identity.namespace, timeout, has(ended))

    async def _create(self, step: "_Step") -> None:
        """Create the object by POST, as Helm does: a role made for Helm's hooks may lack `patch`."""
        ref, options = replace(await self._ref(step), name=""), WriteOptions(MANAGER, strict=True)
        try:
            await writes.create(self._client, ref, step.hook.obj, options)
        except Denied as error:
            raise refusals.explain_rights(error, f"run {step}", refusals.rbac_rule(ref.resource, _VERBS)) from error

    async def _clean(self, steps: Iterable["_Step"], policy: str) -> None:
        """Delete the hooks that this policy deletes. A failed deletion neither undoes a success nor hides a failure."""
        for step in steps:
            try:
                await self._delete(step, policy)
            except (ReleaseFailed, KubeError) as error:
                _log.warn("Helm hook could not be deleted", hook=str(step), error=error)

    async def _delete(self, step: "_Step", policy: str) -> None:
        """Delete a hook's object and wait until it is deleted, if this is one of the hook's policies."""
        if policy not in step.hook.delete_policies or step.hook.kind == CRD:
            return
        try:
            answer = await writes.delete(self._client, await self._ref(step), DeleteOptions("Background"))
        except NotFound:
            return
        if answer.json["kind"] != "Status":  # it is deleted later: finalizers, or processes that have to end
            await self._readiness.wait_until([step.hook.obj], step.identity.namespace, step.timeout, is_gone)

    async def _ref(self, step: "_Step") -> ObjectRef:
        return await self._kinds.resolve_ref(object_id(step.hook.obj, step.identity))


@dataclass(frozen=True, slots=True)
class _Step:
    """One hook, run for one event of one release."""

    hook: HelmHook
    event: str
    identity: ReleaseId
    timeout: float

    def __str__(self) -> str:
        return f"{self.event} hook {self.hook.kind} {self.hook.name} ({self.hook.path})"


def ordered(hooks: Iterable[HelmHook], event: str) -> list[HelmHook]:
    """The hooks of an event in the order in which they run. Equal ones stay in Helm's order of kinds."""
    chosen = [hook for hook in hooks if event in hook.events]
    return sorted(chosen, key=lambda hook: (hook.weight, hook.name))

"""From a unit's plan to its objects in the cluster: nothing to do, or render and roll out.

A digest on the release's record says what it was made from. If the digest is the same, there is nothing to do. That is
decided before anything is rendered, so that `genCA` or `now` in a template do not cause a new revision with each run.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from hookrunner import log
from hookrunner.charts.release_digests import digest_with_manifest
from hookrunner.charts.renderer import Renderer
from hookrunner.convergence.plan import Plan, Planners
from hookrunner.convergence.runs.unit_releases import DriftTracker, ReleaseLocator
from hookrunner.convergence.runs.unit_rollbacks import UnitRollbacks
from hookrunner.errors import KubeError, ReleaseFailed, RenderFailed, RunBlocked
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.metrics.names import Metrics
from hookrunner.model.releases import (
    ROLLED_BACK,
    Capabilities,
    DesiredRelease,
    Head,
    ObjectDrift,
    ReleaseInputs,
    ReleaseResult,
    RenderedChart,
)
from hookrunner.model.status import some
from hookrunner.model.unit_state import UnitState
from hookrunner.releases.drift import Drift
from hookrunner.releases.releases import Releases
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_DEPLOYED = "deployed"
_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Helm:
    """What releases are made with, and where they live. `namespace` is that of modules that name none."""

    renderer: Renderer
    releases: Releases
    drift: Drift
    capabilities: ClusterCapabilities
    namespace: str


class ReleaseReconciler:
    """Brings releases in line with values, `at_once` at the same time. `locator` knows where releases are, `tracker`
    watches their objects between runs."""

    def __init__(self, helm: Helm, planners: Planners, metrics: Metrics, at_once: int) -> None:
        self._helm = helm
        self._planners = planners
        self._metrics = metrics
        self._slots = asyncio.Semaphore(at_once)
        self._turns = defaultdict[str, asyncio.Lock](asyncio.Lock)
        self._rolled_out: dict[str, tuple[Head, str]] = {}
        self.locator = ReleaseLocator(helm.releases, helm.namespace)
        self.tracker = DriftTracker(helm.releases, helm.drift)
        self._rollbacks = UnitRollbacks(helm.releases, self.tracker.pause)

    async def prewarm_if_new(self) -> None:
        """Start the render worker if no release is ours yet, for then all modules will be rendered."""
        with suppress(KubeError):
            if not any(head.owned for head in (await self.locator.heads()).values()):
                self._helm.renderer.prewarm()

    async def has_releases(self) -> bool:
        """May an earlier process have installed a module?"""
        try:
            return any(head.owned and not head.addon for head in (await self.locator.heads()).values())
        except KubeError:
            return True

    async def head(self, state: UnitState) -> Head | None:
        """The latest revision of a module's release, wherever it is."""
        return await self.locator.head(state.unit)

    async def reconcile(self, state: UnitState, plan: Plan) -> None:
        """Bring the release in line with the unit's values and the plan of its run, repair the objects that drifted
        meanwhile, and watch all of them. Raises BadChart, RenderFailed, ReleaseFailed, KubeError, RunBlocked."""
        with self._timed(self._metrics.module_helm_seconds.observe, state):
            async with self._turns[state.name], self._slots:
                try:
                    plan, result = await self._bring_in_line(state, plan)
                    state.release.settle(result.head, result.undone)
                    if result.head.note == ROLLED_BACK and state.unit.kind.fails_rolled_back:
                        raise ReleaseFailed(_still_rolled_back(state.name))
                    await self._repair(state, plan)
                    self._note_written(state, result.objects)
                    self.tracker.track(state.unit, result.head, plan.options, result.objects)
                    if plan.health and result.objects is not None:
                        plan.health.track(result.head, result.objects, written=True)
                finally:
                    self._note_written(state)

    async def uninstall(self, state: UnitState) -> None:
        """Delete the release, wherever it is."""
        self.tracker.forget(state.unit)
        if head := await self.head(state):
            await self._planners.of(state).uninstall(state, head)
            _log.info("release deleted", revision=head.revision)

    def forget(self, state: UnitState) -> None:
        """Drop what is remembered of a unit that will not come back."""
        self.tracker.forget(state.unit)
        self._rolled_out.pop(state.name, None)
        self._turns.pop(state.name, None)

    async def rollback(self, state: UnitState, revision: int | None) -> Head:
        """Bring an earlier revision back, until the module's values or its chart change; an instance's until something
        changes by which its user asks for another attempt. A run that is under way ends before: it would apply what it
        has computed already."""
        async with self._turns[state.name]:
            return await self._rollback(state, revision)

    async def _rollback(self, state: UnitState, revision: int | None) -> Head:
        plan, identity = self.plan(state), self.locator.identity(state.unit)
        inputs, _ = await self._read_inputs(state, plan, await self.head(state))
        wanted = plan.attempt_digest(inputs.digest)
        restored = await self._helm.releases.rollback(*identity, revision, wanted, plan.restoring)
        _log.info("release rolled back on request", **state.unit.fields, revision=restored.head.revision)
        state.release.settle(restored.head)
        self.tracker.track(state.unit, restored.head, plan.restoring, restored.objects)
        if plan.health and restored.objects is not None:
            plan.health.track(restored.head, restored.objects, written=True)
        return restored.head

    def plan(self, state: UnitState) -> Plan:
        """The present plan, for what is done between runs. Raises RenderFailed without one."""
        return self._planners.of(state).present(state)

    def drift(self, state: UnitState) -> tuple[ObjectDrift, ...]:
        """Its objects that have drifted from what was applied."""
        return self.tracker.findings(self.locator.identity(state.unit))

    def problems(self, state: UnitState) -> list[str]:
        """What is known to be wrong with the records of its release."""
        return self._helm.releases.problems(*self.locator.identity(state.unit))

    async def is_broken(self, state: UnitState) -> bool:
        """Is it known that the record of its latest revision cannot be read?"""
        head = await self.head(state)
        return head is not None and self._helm.releases.is_broken(head)

    def needs_repair(self, state: UnitState, finding: ObjectDrift) -> bool:
        """Log and count that an object has drifted; should the module run for it?"""
        fields = ", ".join(finding.fields)
        _log.warn("object deleted" if finding.missing else "object changed", object=str(finding), fields=fields)
        if finding.missing:
            self._metrics.modules_absent_resources.inc(state.name, str(finding))
        return state.on and (finding.missing or state.unit.drift == "repair")

    def may_depend(self, state: UnitState, before: Capabilities, present: Capabilities) -> bool:
        """May its objects depend on what the cluster serves otherwise than before? That is not known before its first
        run."""
        try:
            build = self.plan(state).build
        except RenderFailed:
            return True
        return build.relevant(before) != build.relevant(present)

    async def render(self, state: UnitState) -> RenderedChart:
        """The objects with the present values, as the next revision would have them. Raises BadChart, RenderFailed."""
        return await self.plan(state).build.render(await self.head(state) is None)

    async def read_deployed_objects(self, state: UnitState) -> tuple[JSON, ...]:
        """The objects of a module's deployed revision, empty without one."""
        head = await self.head(state)
        return await self._helm.releases.read_manifest(head) if head else ()

    async def read_history(self, state: UnitState) -> tuple[Head, ...]:
        """All revisions of a unit's release, the latest last. Raises KubeError."""
        return await self._helm.releases.read_history(*self.locator.identity(state.unit))

    async def last_values(self, state: UnitState) -> JSON:
        """The values of a module's deployed revision by section, None without one."""
        head = await self.head(state)
        return await self._helm.releases.read_values(head) if head else None

    async def _bring_in_line(self, state: UnitState, plan: Plan) -> tuple[Plan, ReleaseResult]:
        """Leave the release as it is, go back to an earlier revision, or roll out what is rendered now; the plan for
        these objects, and the release."""
        unit, head = state.unit, await self.head(state)
        identity = self.locator.identity(unit)
        if head and head.namespace != identity.namespace:
            raise ReleaseFailed(_namespace_changed(unit.name, head))
        settled = head if head and self._is_settled(head, plan) else None
        if settled and settled.unmanaged:
            return plan, ReleaseResult(settled)
        inputs, rendered = await self._read_inputs(state, plan, head)
        current = plan.digest_to_reach(head, inputs.digest)
        if settled and current in (settled.digest, self._known_digest(settled)):
            plan = plan.with_rendered(rendered) if rendered else plan
            if plan.gives_up(settled):
                restored = await self._rollbacks.restore(plan, settled, inputs.digest)
                return plan, replace(restored, undone=plan.fallback.reason)
            return plan, ReleaseResult(settled)
        rendered = rendered or await self._render(state, plan, head)
        plan = plan.with_rendered(rendered)
        desired = DesiredRelease(*identity, rendered, inputs.values, current, plan.options, plan.addon, plan.version)
        return plan, await self._upgrade(state, plan, head, desired)

    def _is_settled(self, head: Head, plan: Plan) -> bool:
        """Was the last rollout successful, in the present mode, and can its record be read?"""
        good = head.status == _DEPLOYED and head.unmanaged == plan.options.unmanaged
        return good and not self._helm.releases.is_broken(head)

    def _known_digest(self, head: Head) -> str:
        """The digest that has led to just this revision, though its record may have another."""
        known, digest_ = self._rolled_out.get(head.name, (None, ""))
        return digest_ if known == head else ""

    async def _read_inputs(
        self, state: UnitState, plan: Plan, head: Head | None
    ) -> tuple[ReleaseInputs, RenderedChart | None]:
        """What the release should be made from. Where templates look into the cluster, the digest includes the rendered
        manifest, which is returned too."""
        with self._timed(self._operation("check-upgrade"), state):
            inputs = await plan.build.read_inputs()
        if not inputs.looks_up:
            return inputs, None
        rendered = await self._render(state, plan, head)
        return replace(inputs, digest=digest_with_manifest(inputs.digest, rendered.manifest)), rendered

    async def _render(self, state: UnitState, plan: Plan, head: Head | None) -> RenderedChart:
        labels = state.unit.labels
        with self._timed(self._operation("template"), state), self._metrics.time_addon_step(labels, "render"):
            rendered = await plan.build.render(head is None)
        state.release.note_rendered(rendered.unmatched)
        return rendered

    async def _upgrade(self, state: UnitState, plan: Plan, head: Head | None, wanted: DesiredRelease) -> ReleaseResult:
        self.tracker.pause(self.locator.identity(state.unit))
        labels = state.unit.labels
        try:
            with self._timed(self._operation("upgrade"), state), self._metrics.time_addon_step(labels, "apply"):
                result = await self._helm.releases.reconcile(wanted)
        except ReleaseFailed as error:
            if plan.options.blames_patches(error.invalid):  # to try it again helps only when an input changes
                raise RunBlocked(str(error)) from error
            restored = await self._rollbacks.after_error(plan, error, head, wanted.digest)
            return replace(restored, undone=str(error))
        self._rolled_out[wanted.name] = result.head, wanted.digest
        if result.changed:
            _log.info("release rolled out", revision=result.head.revision, written=result.changed)
        return result

    def _note_written(self, state: UnitState, objects: tuple[JSON, ...] | None = None) -> None:
        notes = self._helm.releases.take_notes(*self.locator.identity(state.unit))
        state.release.note_written(notes, objects)

    async def _repair(self, state: UnitState, plan: Plan) -> None:
        """Repair what has drifted, as far as the unit asks for that."""
        identity, repairs = self.locator.identity(state.unit), state.unit.drift == "repair"
        if drifted := [finding for finding in self.drift(state) if finding.missing or repairs]:
            await self._helm.releases.repair(*identity, drifted, plan.options)
            _log.info("objects repaired", objects=some([*map(str, drifted)]))
            self._metrics.modules_helm_release_redeployed.inc(state.name)
            self._helm.drift.mark_repaired(identity, drifted)

    def _operation(self, name: str) -> Callable[..., None]:
        def observe(seconds: float, module: str, activation: str) -> None:
            self._metrics.helm_operation_seconds.observe(seconds, module, activation, name)

        return observe

    @contextmanager
    def _timed(self, observe: Callable[..., None], state: UnitState) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            observe(time.monotonic() - began, state.name, state.activation)


def _namespace_changed(name: str, head: Head) -> str:
    """Objects do not move along with `namespace` in `module.yaml`: the data in their volumes would be lost."""
    return (
        f"{name}: `namespace` in module.yaml has changed, but it is installed in {head.namespace}, and objects "
        f"do not move along; to have it removed there and installed again, turn the module off and on, or: "
        f"helm uninstall {name} --namespace {head.namespace}"
    )


def _still_rolled_back(name: str) -> str:
    return (
        f"{name}: the last upgrade failed and was rolled back; change its values or its chart, see "
        f"`hookrunner module list`"
    )

"""From a unit's blueprint to its objects in the cluster: nothing to do, or render and roll out.

A digest on the release's record says what it was made from. If the digest is the same, there is nothing to do. That is
decided before anything is rendered, so that `genCA` or `now` in a template do not cause a new revision with each run.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from hookrunner import log
from hookrunner.charts.chart_files import scan
from hookrunner.charts.release_digests import digest_with_manifest, inputs_digest
from hookrunner.charts.renderer import Renderer
from hookrunner.convergence.plan import Blueprint, ReleaseInputs
from hookrunner.convergence.runs.unit_releases import DriftTracker, ReleaseLocator
from hookrunner.convergence.runs.unit_rollbacks import UnitRollbacks, digest_to_reach
from hookrunner.convergence.unit_state import UnitState
from hookrunner.errors import BadChart, KubeError, ReleaseFailed
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Module
from hookrunner.model.releases import DesiredRelease, Head, ObjectDrift, ReleaseOptions, RenderedChart, RenderRequest
from hookrunner.model.status import some
from hookrunner.releases.drift import Drift
from hookrunner.releases.releases import Releases
from hookrunner.releases.rollout import PINNED, ROLLED_BACK
from hookrunner.settings import ModulesSettings
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON

MAINTENANCE_LABEL = "maintenance.deckhouse.io/no-resource-reconciliation"

_DEPLOYED = "deployed"
_log = log.get("helm")


@dataclass(frozen=True, slots=True)
class Helm:
    """What releases are made with, and where they live. `namespace` is that of modules that name none."""

    renderer: Renderer
    releases: Releases
    drift: Drift
    capabilities: ClusterCapabilities
    namespace: str


@dataclass(frozen=True, slots=True)
class ChartBlueprint:
    """The blueprint of a module: its release is made from its chart. `namespace` is that of the release; `labels` go on
    every object."""

    module: Module
    renderer: Renderer
    store: SectionStore
    capabilities: ClusterCapabilities
    namespace: str
    labels: Mapping[str, str]

    @property
    def reads_capabilities(self) -> bool:
        """May its objects depend on what the cluster serves?"""
        try:
            return self.module.chart and scan(self.module.directory).reads_capabilities
        except BadChart:
            return False

    async def read_inputs(self) -> ReleaseInputs:
        """The digest of files, values, labels and, if a template reads them, capabilities. Raises BadChart,
        KubeError."""
        files = scan(self.module.directory)
        capabilities = await self.capabilities.get() if files.reads_capabilities else None
        values = self.store.document(self.module.section)
        return ReleaseInputs(inputs_digest(files.fingerprint, values, capabilities, self.labels), files.looks_up)

    async def render(self, is_first: bool) -> RenderedChart:
        """The rendered chart. Renders are upgrades of revision 1, except for the very first one. Raises BadChart,
        RenderFailed, KubeError."""
        request = RenderRequest(
            directory=self.module.directory,
            name=self.module.name,
            namespace=self.namespace,
            values=self.store.document(self.module.section),
            capabilities=await self.capabilities.get(),
            install=is_first,
            labels=self.labels,
        )
        return await self.renderer.render(request)

    async def preview(self, is_first: bool) -> RenderedChart:
        """The rendered chart. Raises as `render`."""
        return await self.render(is_first)

    def options(self, usual: ReleaseOptions) -> ReleaseOptions:
        """As usual."""
        return usual


class ReleaseReconciler:
    """Brings releases in line with values, as many at once as the settings allow. `maintained` says of a key whether
    its objects should be left alone. `locator` knows where releases are, `tracker` watches their objects between
    runs."""

    def __init__(
        self,
        settings: ModulesSettings,
        helm: Helm,
        store: SectionStore,
        metrics: Metrics,
        maintained: Callable[[str], bool],
    ) -> None:
        self._settings = settings
        self._helm = helm
        self._store = store
        self._metrics = metrics
        self._maintained = maintained
        self._slots = asyncio.Semaphore(settings.concurrency)
        self._turns = defaultdict[str, asyncio.Lock](asyncio.Lock)
        self._rolled_out: dict[str, tuple[Head, str]] = {}
        self.locator = ReleaseLocator(helm.releases, helm.namespace)
        self.tracker = DriftTracker(helm.releases, helm.drift)
        self._rollbacks = UnitRollbacks(helm.releases, self.tracker)

    async def prewarm_if_new(self) -> None:
        """Start the render worker if no release is ours yet, for then all modules will be rendered."""
        with suppress(KubeError):
            if not any(head.owned for head in (await self.locator.heads()).values()):
                self.prewarm()

    def prewarm(self) -> None:
        """Start the render worker: something will be rendered soon."""
        self._helm.renderer.prewarm()

    async def has_releases(self) -> bool:
        """May an earlier process have installed a module?"""
        try:
            return any(head.owned and not head.addon for head in (await self.locator.heads()).values())
        except KubeError:
            return True

    async def head(self, state: UnitState) -> Head | None:
        """The latest revision of a module's release, wherever it is."""
        return await self.locator.head(state.module)

    async def reconcile(self, state: UnitState) -> None:
        """Bring the release in line with the module's values. Raises BadValues, BadChart, RenderFailed, ReleaseFailed,
        KubeError."""
        self._store.for_helm(state.module.section)
        with self._timed(self._metrics.module_helm_seconds.observe, state):
            async with self._turns[state.module.name], self._slots:
                try:
                    await self._reconcile(state)
                finally:
                    identity = self.locator.identity(state.module)
                    state.add_adopted(self._helm.releases.take_adoptions(*identity))
                    state.add_kept(self._helm.releases.take_kept(*identity))

    async def uninstall(self, state: UnitState) -> None:
        """Delete the release, wherever it is."""
        self.tracker.forget(state.module)
        if head := await self.head(state):
            await (state.blueprint.uninstall(head) if state.blueprint else self.purge(head))
            _log.info("release deleted", revision=head.revision)

    def forget(self, state: UnitState) -> None:
        """Drop what is remembered of a unit that will not come back."""
        self.tracker.forget(state.module)
        self._rolled_out.pop(state.module.name, None)
        self._turns.pop(state.module.name, None)

    async def purge(self, head: Head) -> None:
        """Delete a release."""
        await self._helm.releases.removal.uninstall(head.name, head.namespace, self._settings.helm_timeout)

    async def rollback(self, state: UnitState, revision: int | None) -> Head:
        """Bring an earlier revision back, until the module's values or its chart change; an instance's until something
        changes by which its user asks for another attempt. A run that is under way ends before: it would apply what it
        has computed already."""
        async with self._turns[state.module.name]:
            return await self._rollback(state, revision)

    async def _rollback(self, state: UnitState, revision: int | None) -> Head:
        digest_, _ = await self._compute_digest(state, await self.head(state))
        if state.blueprint:
            digest_ = state.blueprint.attempt_digest(digest_)
        identity, options = self.locator.identity(state.module), self._blueprint(state).options(ReleaseOptions())
        head = await self._helm.releases.rollback(*identity, revision, digest_, options)
        _log.info("release rolled back on request", module=head.name, revision=head.revision)
        _set_revision(state, head)
        if state.blueprint:
            state.blueprint.settle(head)
        self.tracker.track(state.module, head, options)
        return head

    def drift(self, state: UnitState) -> tuple[ObjectDrift, ...]:
        """Its objects that have drifted from what was applied."""
        return self._helm.drift.known_findings(self.locator.identity(state.module))

    def problems(self, state: UnitState) -> list[str]:
        """What is known to be wrong with the records of its release."""
        return self._helm.releases.problems(*self.locator.identity(state.module))

    async def is_broken(self, state: UnitState) -> bool:
        """Is it known that the record of its latest revision cannot be read?"""
        head = await self.head(state)
        return head is not None and self._helm.releases.is_broken(head)

    def needs_repair(self, state: UnitState, finding: ObjectDrift) -> bool:
        """Log and count that an object has drifted; should the module run for it?"""
        fields = ", ".join(finding.fields)
        _log.warn("object deleted" if finding.missing else "object changed", object=str(finding), fields=fields)
        if finding.missing:
            self._metrics.modules_absent_resources.inc(state.module.name, str(finding))
        return state.on and (finding.missing or state.module.traits.drift == "repair")

    def reads_capabilities(self, state: UnitState) -> bool:
        """May its objects depend on what the cluster serves?"""
        return self._blueprint(state).reads_capabilities

    async def render(self, state: UnitState) -> RenderedChart:
        """The objects with the present values, as the next revision would have them. Raises BadChart, RenderFailed."""
        return await self._blueprint(state).preview(await self.head(state) is None)

    async def read_deployed_objects(self, state: UnitState) -> tuple[JSON, ...]:
        """The objects of a module's deployed revision, empty without one."""
        head = await self.head(state)
        return await self._helm.releases.read_manifest(head) if head else ()

    async def last_values(self, state: UnitState) -> JSON:
        """The values of a module's deployed revision by section, None without one."""
        head = await self.head(state)
        return await self._helm.releases.read_values(head) if head else None

    async def _reconcile(self, state: UnitState) -> None:
        module, head = state.module, await self.head(state)
        identity = self.locator.identity(module)
        if head and head.namespace != identity.namespace:
            raise ReleaseFailed(_namespace_changed(module, head))
        left_alone = self._maintained(module.section)
        settled = head if head and self._is_settled(head, left_alone) else None
        if settled and left_alone:
            await self._finish(state, settled)
            return
        inputs, rendered = await self._compute_digest(state, head)
        current = digest_to_reach(state.blueprint, head, inputs) if state.blueprint else inputs
        if settled and current in (settled.digest, self._known_digest(settled)):
            await self._finish(state, await self._rollbacks.if_given_up(state, settled, inputs, self.options(state)))
            return
        rendered = rendered or await self._render(state, head)
        values = self._store.document(module.section)
        desired = DesiredRelease(*identity, rendered, values, current, self.options(state))
        if state.blueprint:
            desired = replace(desired, addon=module.name, version=state.blueprint.version)
        await self._upgrade(state, head, desired)

    def _is_settled(self, head: Head, left_alone: bool) -> bool:
        """Was the last rollout successful, and can its record be read?"""
        good = head.status == _DEPLOYED and head.unmanaged == left_alone
        return good and not self._helm.releases.is_broken(head)

    def _known_digest(self, head: Head) -> str:
        """The digest that has led to just this revision, though its record may have another."""
        known, digest_ = self._rolled_out.get(head.name, (None, ""))
        return digest_ if known == head else ""

    async def _compute_digest(self, state: UnitState, head: Head | None) -> tuple[str, RenderedChart | None]:
        """The digest of what the release should be made from. Where templates look into the cluster, that includes the
        rendered manifest, which is returned too."""
        with self._timed(self._operation("check-upgrade"), state):
            inputs = await self._blueprint(state).read_inputs()
        if not inputs.looks_up:
            return inputs.digest, None
        rendered = await self._render(state, head)
        return digest_with_manifest(inputs.digest, rendered.manifest), rendered

    async def _render(self, state: UnitState, head: Head | None) -> RenderedChart:
        with self._timed(self._operation("template"), state):
            return await self._blueprint(state).render(head is None)

    async def _upgrade(self, state: UnitState, head: Head | None, wanted: DesiredRelease) -> None:
        self.tracker.pause(self.locator.identity(state.module))
        try:
            with self._timed(self._operation("upgrade"), state), state.time_step("apply"):
                settled = await self._helm.releases.reconcile(wanted)
        except ReleaseFailed as error:
            await self._finish(state, await self._rollbacks.after_error(state, error, head, wanted))
            return
        self._rolled_out[wanted.name] = settled.head, wanted.digest
        if settled.changed:
            _log.info("release rolled out", revision=settled.head.revision, written=settled.changed)
        await self._finish(state, settled.head, wanted.rendered.objects)

    async def _finish(self, state: UnitState, head: Head, objects: tuple[JSON, ...] | None = None) -> None:
        """The head is in line with the values; repair the objects that drifted meanwhile, and watch all of them."""
        _set_revision(state, head)
        if state.blueprint:
            state.blueprint.settle(head)
        elif head.note == ROLLED_BACK:
            raise ReleaseFailed(
                f"{head.name}: the last upgrade failed and was rolled back; change its values or its chart, see "
                f"`hookrunner module list`"
            )
        repairs = state.module.traits.drift == "repair"
        if drifted := [finding for finding in self.drift(state) if finding.missing or repairs]:
            identity = self.locator.identity(state.module)
            await self._helm.releases.repair(*identity, drifted, self.options(state))
            _log.info("objects repaired", objects=some([*map(str, drifted)]))
            self._metrics.modules_helm_release_redeployed.inc(head.name)
            self._helm.drift.mark_repaired(identity, drifted)
        faults = self._helm.releases.take_faults(*self.locator.identity(state.module))
        if state.blueprint:
            state.blueprint.note_faults(faults, objects)
        self.tracker.track(state.module, head, self.options(state), objects)

    def _blueprint(self, state: UnitState) -> Blueprint:
        """What the unit's release is made from."""
        module, helm = state.module, self._helm
        namespace, labels = self.locator.identity(module).namespace, self._labels(module)
        return state.blueprint or ChartBlueprint(
            module, helm.renderer, self._store, helm.capabilities, namespace, labels
        )

    def _labels(self, module: Module) -> dict[str, str]:
        unmanaged = {MAINTENANCE_LABEL: ""} if self._maintained(module.section) else {}
        return {**self._settings.extra_labels, **unmanaged}

    def options(self, state: UnitState) -> ReleaseOptions:
        """How its release is rolled out."""
        traits = state.module.traits
        usual = ReleaseOptions(
            adopt=state.may_adopt,
            adopt_orphans=self._settings.adopt_orphans,
            wait=traits.wait,
            timeout=self._settings.helm_timeout,
            rollback_on_failure=traits.rollback_on_failure,
            unmanaged=self._maintained(state.module.section),
        )
        return self._blueprint(state).options(usual)

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
            observe(time.monotonic() - began, state.module.name, state.activation)


def _set_revision(state: UnitState, head: Head) -> None:
    state.set_revision(head.revision, pinned=head.note == PINNED)


def _namespace_changed(module: Module, head: Head) -> str:
    """Objects do not move along with `namespace` in `module.yaml`: the data in their volumes would be lost."""
    return (
        f"{module.name}: `namespace` in module.yaml has changed, but it is installed in {head.namespace}, and objects "
        f"do not move along; to have it removed there and installed anew, turn the module off and on, or: "
        f"helm uninstall {module.name} --namespace {head.namespace}"
    )

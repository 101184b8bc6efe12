"""From a module's values to its objects in the cluster: nothing to do, or render and settle (design.md §4.1).

What a release was made from is known by a digest on its record. Same digest, nothing to do: that is decided before
anything is rendered, so that `genCA` or `now` in a template never make a module restless.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hookrunner import log
from hookrunner.charts.chart_files import Scan, digest, scan, together
from hookrunner.charts.renderer import Renderer
from hookrunner.convergence.runs.capabilities import KnownCapabilities
from hookrunner.convergence.runs.following import Following
from hookrunner.convergence.runs.module_releases import Places
from hookrunner.convergence.state import ModuleState
from hookrunner.errors import BadChart, KubeError, ReleaseFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Module
from hookrunner.model.releases import Finding, Head, Render, Rendered, Terms, Wanted
from hookrunner.model.resources import JSON
from hookrunner.model.status import some
from hookrunner.releases.drift.drift import Drift
from hookrunner.releases.releases import Releases
from hookrunner.releases.rollout import PINNED
from hookrunner.settings import ModulesSettings
from hookrunner.values.store import Store

MAINTENANCE_LABEL = "maintenance.deckhouse.io/no-resource-reconciliation"

_DEPLOYED = "deployed"
_log = log.get("helm")


@dataclass(frozen=True, slots=True)
class Helm:
    """What releases are made with, and where they live. `namespace` is that of modules that name none."""

    renderer: Renderer
    releases: Releases
    drift: Drift
    known: KnownCapabilities
    namespace: str


class Releasing:
    """Settles releases, so many at once as the settings allow. `maintained` says of a key whether its objects are to be
    left alone. `places` tells where they are, `following` how they fare between."""

    def __init__(
        self,
        settings: ModulesSettings,
        helm: Helm,
        store: Store,
        metrics: Metrics,
        maintained: Callable[[str], bool],
    ) -> None:
        self._settings = settings
        self._helm = helm
        self._store = store
        self._metrics = metrics
        self._maintained = maintained
        self._turns = asyncio.Semaphore(settings.concurrency)
        self._as_good: dict[str, tuple[Head, str]] = {}
        self.places = Places(helm.releases, helm.namespace)
        self.following = Following(helm.releases, helm.drift)

    async def foresee(self) -> None:
        """Where no release is ours yet, all modules will be rendered."""
        with suppress(KubeError):
            if not any(head.owned for head in (await self.places.heads()).values()):
                self.expect()

    async def has_releases(self) -> bool:
        """May an earlier process have installed something?"""
        try:
            return any(head.owned for head in (await self.places.heads()).values())
        except KubeError:
            return True

    def expect(self) -> None:
        """Something will be rendered soon."""
        self._helm.renderer.expect()

    async def head(self, state: ModuleState) -> Head | None:
        """The latest revision of a module's release, wherever it is."""
        return await self.places.head(state.module)

    async def settle(self, state: ModuleState) -> None:
        """Make the release what it is to be. Raises BadValues, BadChart, RenderFailed, ReleaseFailed, KubeError."""
        self._store.for_helm(state.module.key)
        with self._timed(self._metrics.module_helm_seconds.observe, state):
            async with self._turns:
                await self._settle(state)

    async def uninstall(self, state: ModuleState) -> None:
        """Take the release away, wherever it is."""
        self.following.forget(state.module)
        if head := await self.head(state):
            await self.purge(head)
            _log.info("Release is removed.", revision=head.revision)

    async def purge(self, head: Head) -> None:
        """Take a release away."""
        await self._helm.releases.uninstall(head.name, head.namespace, self._settings.helm_timeout)

    async def rollback(self, state: ModuleState, revision: int | None) -> Head:
        """Bring an earlier revision back, for as long as nothing else is wanted."""
        digest_, _ = await self._sought(state, await self.head(state))
        head = await self._helm.releases.rollback(*self.places.identity(state.module), revision, digest_)
        _log.info("Release is rolled back on request.", module=head.name, revision=head.revision)
        _is_at(state, head)
        self.following.settled(state.module, head)
        return head

    def drift(self, state: ModuleState) -> tuple[Finding, ...]:
        """Its objects that are not as they were applied."""
        return self._helm.drift.found(self.places.identity(state.module))

    def problems(self, state: ModuleState) -> list[str]:
        """What is known to be wrong with the records of its release."""
        return self._helm.releases.problems(*self.places.identity(state.module))

    async def broken(self, state: ModuleState) -> bool:
        """Is it known that the record of its head cannot be read?"""
        head = await self.head(state)
        return head is not None and self._helm.releases.broken(head)

    def found(self, state: ModuleState, finding: Finding) -> bool:
        """An object is not as it was applied; is something to be done about it?"""
        fields = ", ".join(finding.fields)
        _log.warn(
            "An object is gone." if finding.missing else "An object was changed.", object=str(finding), fields=fields
        )
        if finding.missing:
            self._metrics.modules_absent_resources.inc(state.module.name, str(finding))
        return state.on and (finding.missing or state.module.traits.drift == "repair")

    def reads_capabilities(self, state: ModuleState) -> bool:
        """Might its objects depend on what the cluster serves?"""
        try:
            return state.module.chart and scan(state.module.directory).reads_capabilities
        except BadChart:
            return False

    async def render(self, state: ModuleState) -> Rendered:
        """The chart with the values of this moment, as its next revision would be. Raises BadChart, RenderFailed."""
        return await self._helm.renderer.render(await self._order(state.module, await self.head(state)))

    async def deployed(self, state: ModuleState) -> tuple[JSON, ...]:
        """The objects of a module's deployed revision, none if there is none."""
        head = await self.head(state)
        return await self._helm.releases.manifest(head) if head else ()

    async def last_values(self, state: ModuleState) -> JSON:
        """The values of a module's deployed revision by section, None if it has no such revision."""
        head = await self.head(state)
        return await self._helm.releases.values(head) if head else None

    async def _settle(self, state: ModuleState) -> None:
        module, head = state.module, await self.head(state)
        identity = self.places.identity(module)
        if head and head.namespace != identity.namespace:
            raise ReleaseFailed(_moved(module, head))
        left_alone = self._maintained(module.key)
        settled = head if head and self._at_rest(head, left_alone) else None
        if settled and left_alone:
            await self._at_work(state, settled)
            return
        current, rendered = await self._sought(state, head)
        if settled and current in (settled.digest, self._known_as(settled)):
            await self._at_work(state, settled)
            return
        rendered = rendered or await self._rendered(state, head)
        values = self._store.document(module.key)
        await self._upgrade(state, Wanted(*identity, rendered, values, current, self._terms(state)))

    def _at_rest(self, head: Head, left_alone: bool) -> bool:
        """Has it come to a good end, which can be read?"""
        good = head.status == _DEPLOYED and head.unmanaged == left_alone
        return good and not self._helm.releases.broken(head)

    def _known_as(self, head: Head) -> str:
        """The digest that has led to just this revision, though its record may tell another."""
        known, digest_ = self._as_good.get(head.name, (None, ""))
        return digest_ if known == head else ""

    async def _sought(self, state: ModuleState, head: Head | None) -> tuple[str, Rendered | None]:
        """What the release is to be made from, as a digest. Where templates look into the cluster only the result
        tells, which then comes along."""
        with self._timed(self._operation("check-upgrade"), state):
            found = scan(state.module.directory)
            current = await self._digest(state.module, found)
        if not found.looks_up:
            return current, None
        rendered = await self._rendered(state, head)
        return together(current, rendered.manifest), rendered

    async def _rendered(self, state: ModuleState, head: Head | None) -> Rendered:
        with self._timed(self._operation("template"), state):
            return await self._helm.renderer.render(await self._order(state.module, head))

    async def _upgrade(self, state: ModuleState, wanted: Wanted) -> None:
        self.following.pause(self.places.identity(state.module))
        try:
            with self._timed(self._operation("upgrade"), state):
                settled = await self._helm.releases.settle(wanted)
        finally:
            state.add_adopted(self._helm.releases.adopted(wanted.name, wanted.namespace))
        self._as_good[wanted.name] = settled.head, wanted.digest
        if settled.changed:
            _log.info("Release is settled.", revision=settled.head.revision, written=settled.changed)
        await self._at_work(state, settled.head, wanted.rendered.objects)

    async def _at_work(self, state: ModuleState, head: Head, objects: tuple[JSON, ...] | None = None) -> None:
        """The head is what is wanted; what its objects have lost meanwhile is brought back."""
        _is_at(state, head)
        if head.note == "rolled-back":
            raise ReleaseFailed(
                f"{head.name}: the last upgrade failed and was rolled back; change its values or its chart, see "
                f"`hookrunner module list`"
            )
        if lost := [one for one in self.drift(state) if one.missing or state.module.traits.drift == "repair"]:
            identity = self.places.identity(state.module)
            await self._helm.releases.repair(*identity, lost, self._terms(state))
            _log.info("Objects are again as they were applied.", objects=some([*map(str, lost)]))
            self._metrics.modules_helm_release_redeployed.inc(head.name)
            self._helm.drift.repaired(identity, lost)
        self.following.settled(state.module, head, objects)

    async def _digest(self, module: Module, found: Scan) -> str:
        capabilities = await self._helm.known.get() if found.reads_capabilities else None
        return digest(found.fingerprint, self._store.document(module.key), capabilities, self._labels(module))

    async def _order(self, module: Module, head: Head | None) -> Render:
        """Renders are upgrades of revision 1, except for the very first one."""
        return Render(
            directory=module.directory,
            name=module.name,
            namespace=self.places.identity(module).namespace,
            values=self._store.document(module.key),
            capabilities=await self._helm.known.get(),
            install=head is None,
            labels=self._labels(module),
        )

    def _labels(self, module: Module) -> dict[str, str]:
        unmanaged = {MAINTENANCE_LABEL: ""} if self._maintained(module.key) else {}
        return {**self._settings.extra_labels, **unmanaged}

    def _terms(self, state: ModuleState) -> Terms:
        traits = state.module.traits
        return Terms(
            adopt=state.may_adopt,
            adopt_orphans=self._settings.adopt_orphans,
            wait=traits.wait,
            timeout=self._settings.helm_timeout,
            rollback_on_failure=traits.rollback_on_failure,
            unmanaged=self._maintained(state.module.key),
        )

    def _operation(self, name: str) -> Callable[..., None]:
        def observe(seconds: float, module: str, activation: str) -> None:
            self._metrics.helm_operation_seconds.observe(seconds, module, activation, name)

        return observe

    @contextmanager
    def _timed(self, observe: Callable[..., None], state: ModuleState) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            observe(time.monotonic() - began, state.module.name, state.activation)


def _is_at(state: ModuleState, head: Head) -> None:
    state.set_revision(head.revision, pinned=head.note == PINNED)


def _moved(module: Module, head: Head) -> str:
    """Objects do not move along with `namespace` in `module.yaml`: what is in their volumes would be lost."""
    return (
        f"{module.name}: `namespace` in module.yaml has changed, but it is installed in {head.namespace}, and objects "
        f"do not move along; to have it removed there and installed anew, turn the module off and on, or: "
        f"helm uninstall {module.name} --namespace {head.namespace}"
    )

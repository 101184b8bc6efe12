"""From a module's values to its objects in the cluster: nothing to do, or render and settle (design.md §4.1).

What a release was made from is known by a digest on its record. Same digest, nothing to do: that is decided before
anything is rendered, so that `genCA` or `now` in a template never make a module restless.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hookrunner import log
from hookrunner.charts.digests import digest, together
from hookrunner.charts.files import Scan, scan
from hookrunner.charts.renderer import Renderer
from hookrunner.convergence.known import KnownCapabilities
from hookrunner.convergence.state import State
from hookrunner.errors import BadChart, Denied, KubeError, ReleaseFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Module
from hookrunner.model.releases import Finding, Head, Render, Rendered, Terms, Wanted
from hookrunner.model.resources import JSON
from hookrunner.model.status import some
from hookrunner.releases.drift import Drift
from hookrunner.releases.ordering import Identity
from hookrunner.releases.releases import Releases
from hookrunner.settings import ModulesSettings
from hookrunner.values.store import Store

MAINTENANCE_LABEL = "maintenance.deckhouse.io/no-resource-reconciliation"

_DEPLOYED = "deployed"
_CALM = 0.5
"""Seconds from a release at rest until its objects are followed, with those of all that came to rest meanwhile."""

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
    left alone."""

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
        self._followed: dict[str, Head] = {}
        self._strays: Mapping[str, Head] | None = None
        self._as_good: dict[str, tuple[Head, str]] = {}
        self._settled: asyncio.Queue[tuple[State, Head, tuple[JSON, ...] | None]] = asyncio.Queue()

    async def heads(self) -> dict[str, Head]:
        """The latest revision of each release in our namespace, and of each of ours elsewhere, by name. Raises
        KubeError."""
        here = self._helm.releases.heads(self._helm.namespace)
        strays, heads = await asyncio.gather(self._look_for_strays(), here)
        return {**strays, **heads}

    async def foresee(self) -> None:
        """Where no release is ours yet, all modules will be rendered."""
        with suppress(KubeError):
            if not any(head.owned for head in (await self.heads()).values()):
                self.expect()

    def expect(self) -> None:
        """Something will be rendered soon."""
        self._helm.renderer.expect()

    async def head(self, state: State) -> Head | None:
        """The latest revision of a module's release, from memory if it is known. It may be in a namespace that an
        earlier `module.yaml` named."""
        here = await self._helm.releases.head(state.module.name, self._namespace(state.module))
        return here or await self._elsewhere(state.module)

    async def inherit(self, state: State) -> Head | None:
        """The same, in the first look at what an earlier life has left. Raises KubeError, ReleaseFailed."""
        here = await self._helm.releases.inherit(state.module.name, self._namespace(state.module))
        return here or await self._elsewhere(state.module)

    async def settle(self, state: State) -> None:
        """Make the release what it is to be. Raises BadValues, BadChart, RenderFailed, ReleaseFailed, KubeError."""
        self._store.for_helm(state.module.key)
        with self._timed(self._metrics.module_helm_seconds.observe, state):
            async with self._turns:
                await self._settle(state)

    async def uninstall(self, state: State) -> None:
        """Take the release away, wherever it is."""
        await self.forget(state)
        if head := await self.head(state):
            await self.purge(head)
            _log.info("Release is removed.", revision=head.revision)

    async def purge(self, head: Head) -> None:
        """Take a release away."""
        await self._helm.releases.uninstall(head.name, head.namespace, self._settings.helm_timeout)

    async def rollback(self, state: State, revision: int | None) -> Head:
        """Bring an earlier revision back, for as long as nothing else is wanted."""
        module = state.module
        digest_, _ = await self._sought(state, await self.head(state))
        head = await self._helm.releases.rollback(module.name, self._namespace(module), revision, digest_)
        _log.info("Release is rolled back on request.", module=module.name, revision=head.revision)
        state.revision = head.revision
        await self._follow(state, head)
        return head

    def drift(self, state: State) -> tuple[Finding, ...]:
        """Its objects that are not as they were applied."""
        return self._helm.drift.found(self.identity(state.module))

    def problems(self, state: State) -> list[str]:
        """What is known to be wrong with the records of its release."""
        return self._helm.releases.problems(state.module.name, self._namespace(state.module))

    async def broken(self, state: State) -> bool:
        """Is it known that the record of its head cannot be read?"""
        head = await self.head(state)
        return head is not None and self._helm.releases.broken(head)

    def found(self, state: State, finding: Finding) -> bool:
        """An object is not as it was applied; is something to be done about it?"""
        fields = ", ".join(finding.fields)
        _log.warn(
            "An object is gone." if finding.missing else "An object was changed.", object=str(finding), fields=fields
        )
        if finding.missing:
            self._metrics.modules_absent_resources.inc(state.module.name, str(finding))
        return state.on and (finding.missing or state.module.traits.drift == "repair")

    def reads_capabilities(self, state: State) -> bool:
        """Might its objects depend on what the cluster serves?"""
        try:
            return state.module.chart and scan(state.module.directory).reads_capabilities
        except BadChart:
            return False

    async def forget(self, state: State) -> None:
        """Its objects are nobody's business any more."""
        if head := self._followed.pop(state.module.name, None):
            self._helm.drift.forget(Identity(head.name, head.namespace))

    async def render(self, state: State) -> Rendered:
        """The chart with the values of this moment, as its next revision would be. Raises BadChart, RenderFailed."""
        return await self._helm.renderer.render(await self._order(state.module, await self.head(state)))

    async def deployed(self, state: State) -> tuple[JSON, ...]:
        """The objects of a module's deployed revision, none if there is none."""
        head = await self.head(state)
        return await self._helm.releases.manifest(head) if head else ()

    def follows(self, state: State) -> bool:
        """Are its objects followed?"""
        return state.module.name in self._followed and state.module.traits.drift != "off"

    def identity(self, module: Module) -> Identity:
        """Of a module's release."""
        return Identity(module.name, self._namespace(module))

    async def _settle(self, state: State) -> None:
        module, head = state.module, await self.head(state)
        if head and head.namespace != self._namespace(module):
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
        terms = self._terms(module)
        await self._upgrade(state, Wanted(module.name, self._namespace(module), rendered, values, current, terms))

    def _at_rest(self, head: Head, left_alone: bool) -> bool:
        """Has it come to a good end, which can be read?"""
        good = head.status == _DEPLOYED and head.unmanaged == left_alone
        return good and not self._helm.releases.broken(head)

    def _known_as(self, head: Head) -> str:
        """The digest that has led to just this revision, though its record may tell another."""
        known, digest_ = self._as_good.get(head.name, (None, ""))
        return digest_ if known == head else ""

    async def _sought(self, state: State, head: Head | None) -> tuple[str, Rendered | None]:
        """What the release is to be made from, as a digest. Where templates look into the cluster only the result
        tells, which then comes along."""
        found = scan(state.module.directory)
        current = await self._digest(state.module, found)
        if not found.looks_up:
            return current, None
        rendered = await self._rendered(state, head)
        return together(current, rendered.manifest), rendered

    async def _rendered(self, state: State, head: Head | None) -> Rendered:
        with self._timed(self._operation("template"), state):
            return await self._helm.renderer.render(await self._order(state.module, head))

    async def _upgrade(self, state: State, wanted: Wanted) -> None:
        self._helm.drift.pause(Identity(wanted.name, wanted.namespace))
        self._followed.pop(wanted.name, None)
        with self._timed(self._operation("upgrade"), state):
            settled = await self._helm.releases.settle(wanted)
        self._as_good[wanted.name] = settled.head, wanted.digest
        if settled.changed:
            _log.info("Release is settled.", revision=settled.head.revision, written=settled.changed)
        await self._at_work(state, settled.head, wanted.rendered.objects)

    async def _at_work(self, state: State, head: Head, objects: tuple[JSON, ...] | None = None) -> None:
        """The head is what is wanted; what its objects have lost meanwhile is brought back."""
        state.revision = head.revision
        if head.note == "rolled-back":
            raise ReleaseFailed(
                f"{head.name}: the last upgrade failed and was rolled back; change its values or its chart, see "
                f"`hookrunner module list`"
            )
        if lost := [one for one in self.drift(state) if one.missing or state.module.traits.drift == "repair"]:
            await self._helm.releases.repair(head.name, head.namespace, lost, self._terms(state.module))
            _log.info("Objects are again as they were applied.", objects=some([*map(str, lost)]))
            self._metrics.modules_helm_release_redeployed.inc(head.name)
            self._helm.drift.repaired(self.identity(state.module), lost)
        await self._follow(state, head, objects)

    async def _follow(self, state: State, head: Head, objects: tuple[JSON, ...] | None = None) -> None:
        if head.unmanaged:
            await self.forget(state)
        elif self._followed.get(head.name) != head:
            self._followed[head.name] = head
            self._settled.put_nowait((state, head, objects))

    async def keep_following(self) -> None:
        """For ever: follow the objects of what was settled, and see whether its record can be read. What that takes to
        begin, reading records and opening watches, is not to be in the way of the next modules."""
        while True:
            settled = [await self._settled.get()]
            await asyncio.sleep(_CALM)
            settled += [self._settled.get_nowait() for _ in range(self._settled.qsize())]
            for one in settled:
                await self._begin_to_follow(*one)

    async def _begin_to_follow(self, state: State, head: Head, objects: tuple[JSON, ...] | None) -> None:
        try:
            objects = await self._helm.releases.manifest(head) if objects is None else objects
        except (KubeError, ReleaseFailed) as error:
            _log.debug("Objects cannot be followed yet.", module=head.name, error=str(error))
            self._settled.put_nowait((state, head, objects))
            return
        if self._followed.get(head.name) is head:  # else something has been done with it meanwhile
            self._helm.drift.follow(Identity(head.name, head.namespace), objects, state.module.traits.drift)

    async def _elsewhere(self, module: Module) -> Head | None:
        """Its release in another namespace than `module.yaml` says now. One that is known is looked for again: somebody
        may have taken it away."""
        if self._strays is None or module.name in self._strays:
            await self._look_for_strays()
        usual = await self._helm.releases.head(module.name, self._helm.namespace)
        found = (self._strays or {}).get(module.name, usual)
        return found if found and found.owned and found.namespace != self._namespace(module) else None

    async def _look_for_strays(self) -> Mapping[str, Head]:
        """Who may not list all records sees none but those in our namespace."""
        try:
            self._strays = await self._helm.releases.strays()
        except Denied as error:
            self._strays = {}
            _log.debug("Releases in other namespaces cannot be looked for.", error=str(error))
        return self._strays

    async def _digest(self, module: Module, found: Scan) -> str:
        capabilities = await self._helm.known.get() if found.reads_capabilities else None
        return digest(found.fingerprint, self._store.document(module.key), capabilities, self._labels(module))

    async def _order(self, module: Module, head: Head | None) -> Render:
        """Renders are upgrades of revision 1, except for the very first one."""
        return Render(
            directory=module.directory,
            name=module.name,
            namespace=self._namespace(module),
            values=self._store.document(module.key),
            capabilities=await self._helm.known.get(),
            install=head is None,
            labels=self._labels(module),
        )

    def _labels(self, module: Module) -> dict[str, str]:
        unmanaged = {MAINTENANCE_LABEL: ""} if self._maintained(module.key) else {}
        return {**self._settings.extra_labels, **unmanaged}

    def _terms(self, module: Module) -> Terms:
        traits = module.traits
        return Terms(
            adopt=traits.adopt,
            wait=traits.wait,
            timeout=self._settings.helm_timeout,
            rollback_on_failure=traits.rollback_on_failure,
            unmanaged=self._maintained(module.key),
        )

    def _namespace(self, module: Module) -> str:
        return module.traits.namespace or self._helm.namespace

    def _operation(self, name: str) -> Callable[..., None]:
        def observe(seconds: float, module: str, activation: str) -> None:
            self._metrics.helm_operation_seconds.observe(seconds, module, activation, name)

        return observe

    @contextmanager
    def _timed(self, observe: Callable[..., None], state: State) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            observe(time.monotonic() - began, state.module.name, state.activation)


def _moved(module: Module, head: Head) -> str:
    """Objects do not move along with `namespace` in `module.yaml`: what is in their volumes would be lost."""
    return (
        f"{module.name}: `namespace` in module.yaml has changed, but it is installed in {head.namespace}, and objects "
        f"do not move along; to have it removed there and installed anew, turn the module off and on, or: "
        f"helm uninstall {module.name} --namespace {head.namespace}"
    )

"""Plans of modules: their releases are made from their charts, with what `module.yaml` and the settings say."""

from collections.abc import Callable, Iterable, Mapping

from hookrunner.charts.chart_files import scan
from hookrunner.charts.release_digests import inputs_digest
from hookrunner.convergence.plan import Plan
from hookrunner.convergence.runs.release_reconciler import Helm
from hookrunner.errors import BadChart
from hookrunner.model.modules import Module
from hookrunner.model.releases import Capabilities, Head, ReleaseInputs, ReleaseOptions, RenderedChart, RenderRequest
from hookrunner.model.unit_state import UnitState
from hookrunner.settings import ModulesSettings
from hookrunner.values.section_store import SectionStore
from kubetypes.light_dataclasses import dataclass

MAINTENANCE_LABEL = "maintenance.deckhouse.io/no-resource-reconciliation"


@dataclass(frozen=True, slots=True)
class ChartBuild:
    """The chart of a module (`plan.ReleaseBuild`). `labels` go on every object."""

    module: Module
    labels: Mapping[str, str]
    helm: Helm
    store: SectionStore

    def relevant(self, served: Capabilities) -> Capabilities | None:
        """What its objects may depend on of what the cluster serves, None for nothing."""
        try:
            return scan(self.module.directory).capabilities.relevant(served) if self.module.chart else None
        except BadChart:
            return None

    async def read_inputs(self) -> ReleaseInputs:
        """The digest of files, values, labels and, if a template reads them, capabilities. Raises BadChart,
        KubeError."""
        files = scan(self.module.directory)
        reads = files.capabilities
        capabilities = reads.relevant(await self.helm.capabilities.get()) if reads.any else None
        values = self.store.document(self.module.key)
        digest = inputs_digest(files.fingerprint, values, capabilities, self.labels)
        return ReleaseInputs(digest, values, files.looks_up)

    async def render(self, is_first: bool) -> RenderedChart:
        """The rendered chart. Renders are upgrades of revision 1, except for the very first one. Raises BadChart,
        RenderFailed, KubeError."""
        request = RenderRequest(
            directory=self.module.directory,
            name=self.module.name,
            namespace=self.module.traits.namespace or self.helm.namespace,
            values=self.store.document(self.module.key),
            capabilities=await self.helm.capabilities.get(),
            install=is_first,
            labels=self.labels,
        )
        return await self.helm.renderer.render(request)


class ModulePlanner:
    """The planner of all modules (`plan.Planner`). `maintained` says of a key whether its objects should be left
    alone."""

    def __init__(
        self,
        modules: Iterable[Module],
        settings: ModulesSettings,
        helm: Helm,
        store: SectionStore,
        maintained: Callable[[str], bool],
    ) -> None:
        self._modules = {module.name: module for module in modules}
        self._settings = settings
        self._helm = helm
        self._store = store
        self._maintained = maintained

    async def plan(self, state: UnitState) -> Plan:
        """A module waits for nothing but its turn."""
        return self.present(state)

    def present(self, state: UnitState) -> Plan:
        """As a run would begin with now."""
        module, settings = self._modules[state.name], self._settings
        is_maintained = self._maintained(module.key)
        labels = {**settings.extra_labels, **({MAINTENANCE_LABEL: ""} if is_maintained else {})}
        options = ReleaseOptions(
            adopt=module.traits.adopt or state.may_adopt,
            adopt_orphans=settings.adopt_orphans,
            wait=module.traits.wait,
            timeout=settings.helm_timeout,
            rollback_on_failure=module.traits.rollback_on_failure,
            unmanaged=is_maintained,
        )
        return Plan(ChartBuild(module, labels, self._helm, self._store), options)

    async def uninstall(self, state: UnitState, head: Head) -> None:
        """Delete the release. Raises ReleaseFailed, KubeError."""
        await self.purge(head)

    async def purge(self, head: Head) -> None:
        """Delete a release. Raises ReleaseFailed, KubeError.

        In a namespace in which no module is, anyone who may create Secrets there may have written its record. What a
        record names is deleted only if it is marked as of this release, but its Helm hooks would create any object."""
        removal, timeout = self._helm.releases.removal, self._settings.helm_timeout
        places = {self._helm.namespace, *(module.traits.namespace for module in self._modules.values())}
        await removal.uninstall(head.name, head.namespace, timeout, hooks=head.namespace in places)

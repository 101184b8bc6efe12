"""The blueprint of a module: the chart in its directory, with the module's values."""

from collections.abc import Mapping
from dataclasses import dataclass

from hookrunner.charts.chart_files import digest, scan
from hookrunner.charts.renderer import Renderer
from hookrunner.convergence.blueprint import ReleaseInputs
from hookrunner.errors import BadChart
from hookrunner.kube.discovery import ClusterCapabilities
from hookrunner.model.modules import Module
from hookrunner.model.releases import ReleaseOptions, RenderedChart, RenderRequest
from hookrunner.values.section_store import SectionStore


@dataclass(frozen=True, slots=True)
class ChartBlueprint:
    """`namespace` is that of its release; `labels` go on every object."""

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
        return ReleaseInputs(digest(files.fingerprint, values, capabilities, self.labels), files.looks_up)

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

    def options(self, usual: ReleaseOptions) -> ReleaseOptions:
        """As usual."""
        return usual

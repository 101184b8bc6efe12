"""An instance of an addon as convergence sees it, without a package."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hookrunner.convergence.blueprint import OwnBlueprint, ReleaseInputs
from hookrunner.model.modules import Module
from hookrunner.model.releases import ReleaseOptions, RenderedChart
from kubetypes.json_values import JSON

INSTANCE = Module("dns.default.x", "dns", 0, Path("/nowhere"), Path("/nowhere"), chart=True, addon="dns")
OBJECT: JSON = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


@dataclass
class FakeBlueprint(OwnBlueprint):
    """Always the same object. `blocked` is raised by each run; `prepared` and `rendered` count."""

    digest: str = "1"
    looks_up: bool = False
    reads_capabilities: bool = False
    blocked: Exception | None = None
    prepared: int = 0
    rendered: int = 0
    on_prepare: Callable[[], object] = lambda: None

    async def prepare(self) -> None:
        self.prepared += 1
        self.on_prepare()
        if self.blocked:
            raise self.blocked

    async def read_inputs(self) -> ReleaseInputs:
        return ReleaseInputs(self.digest, self.looks_up)

    async def render(self, is_first: bool) -> RenderedChart:
        self.rendered += 1
        return RenderedChart("", (OBJECT,), (), "", {})

    def options(self, usual: ReleaseOptions) -> ReleaseOptions:
        return replace(usual, timeout=5.0)

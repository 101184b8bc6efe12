"""An instance of an addon as convergence sees it, without a package."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from hookrunner.convergence.plan import OwnBlueprint, ReleaseInputs
from hookrunner.errors import ReleaseFailed
from hookrunner.hooks.workspace import InstanceInput
from hookrunner.metrics.addons import RunStep
from hookrunner.model.addon_status import HookCondition
from hookrunner.model.modules import Module
from hookrunner.model.releases import Head, ReleaseOptions, RenderedChart
from kubetypes.json_values import JSON

INSTANCE = Module("dns.default.x", "dns", 0, Path("/nowhere"), Path("/nowhere"), chart=True, addon="dns")
OBJECT: JSON = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}


@dataclass
class FakeBlueprint(OwnBlueprint):
    """Always the same object. `blocked` is raised by each run; `target` is restored after a failure and in place
    of the revision `given_up`; `prepared` and `rendered` count."""

    digest: str = "1"
    version: str = ""
    looks_up: bool = False
    reads_capabilities: bool = False
    blocked: Exception | None = None
    attempt: int = 0
    target: int = 0
    given_up: int = 0
    settled: Head | None = None
    prepared: int = 0
    rendered: int = 0
    faults: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    reports: dict[str, Sequence[HookCondition]] = field(default_factory=dict)
    uninstalled: list[str] = field(default_factory=list)

    async def prepare(self) -> None:
        self.prepared += 1
        if self.blocked:
            raise self.blocked

    def explain(self, error: Exception) -> None:
        self.errors.append(str(error))

    def settle(self, head: Head) -> None:
        self.settled = head

    def note_faults(self, written: Mapping[str, str], objects: Iterable[JSON] | None) -> None:
        self.faults.update(written)

    def attempt_digest(self, digest: str) -> str:
        return f"{digest}.{self.attempt}"

    def target_after(self, error: ReleaseFailed, head: Head) -> int:
        return self.target

    def target_instead(self, head: Head) -> int:
        return self.target if head.revision == self.given_up else 0

    def give(self) -> InstanceInput:
        return InstanceInput(b"{}")

    def report(self, hook: str, conditions: Sequence[HookCondition]) -> None:
        self.reports[hook] = conditions

    def time_step(self, step: RunStep) -> AbstractContextManager[None]:
        return nullcontext()

    async def uninstall(self, head: Head) -> None:
        self.uninstalled.append(head.name)

    async def read_inputs(self) -> ReleaseInputs:
        return ReleaseInputs(self.digest, self.looks_up)

    async def preview(self, is_first: bool) -> RenderedChart:
        return await self.render(is_first)

    async def render(self, is_first: bool) -> RenderedChart:
        self.rendered += 1
        return RenderedChart("", (OBJECT,), (), "", {})

    def options(self, usual: ReleaseOptions) -> ReleaseOptions:
        return replace(usual, timeout=5.0)

"""What is compared: instances of one addon, or as many modules, that install the same chart of ten objects each.

All modules have one weight, so that none waits for another, as instances do not either. Either kind of unit has one
hook after its release, which tells the time: what a run had to do is done then.
"""

from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from benchmarks import charts
from benchmarks.addons.unit_files import instance, write_addon, write_modules
from benchmarks.programs import Program, Running, running
from benchmarks.scenarios import Bed
from benchmarks.watching import exists, see, shows_phase

_PROGRESSING = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}
_READY: dict[str, dict[str, Any]] = {
    "deployments": {
        "observedGeneration": 1,
        "conditions": [{"type": "Available", "status": "True"}, _PROGRESSING],
    },
    "poddisruptionbudgets": {
        "observedGeneration": 1,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "disruptionsAllowed": 0,
        "expectedPods": 0,
    },
}
"""The statuses that controllers would write. None run, so that they take no time from what is measured."""


@dataclass(frozen=True, slots=True)
class Units:
    """Units in a directory, and the namespace that they are installed into."""

    bed: Bed
    directory: Path
    namespace: str
    count: int

    @property
    def names(self) -> list[str]:
        """The releases, as templates see them."""
        return charts.names(self.count)

    @property
    def some(self) -> list[str]:
        """A few of them, from the first to the last."""
        return self.names[:: max(1, self.count // self.bed.sizes.changes)]

    async def write_statuses(self) -> None:
        """Write what controllers would: that all objects are as they should be."""
        for name in self.names:
            for kind, status in _READY.items():
                await self._write_status(kind, name, status)

    async def set_available(self, name: str, available: bool) -> None:
        """Write the status of a release's Deployment."""
        condition = {"type": "Available", "status": str(available)}
        await self._write_status("deployments", name, {"conditions": [condition, _PROGRESSING]})

    async def _write_status(self, kind: str, name: str, status: dict[str, Any]) -> None:
        group = "apps" if kind == "deployments" else "policy"
        path = f"/apis/{group}/v1/namespaces/{self.namespace}/{kind}/{name}/status"
        await self.bed.cluster.merge(path, {"status": status})

    async def count_objects(self) -> int:
        """How many objects of the chart there are."""
        return await self.bed.cluster.count(charts.collections(self.namespace))

    async def clear(self) -> None:
        """Delete what they have installed: watches of all namespaces would show it to those that are measured next."""
        secrets = charts.collection("v1", "Secret", self.namespace)
        for path in (*charts.collections(self.namespace), secrets):
            await self.bed.cluster.remove(path)

    def run(self, program: Program, variables: dict[str, str]) -> AbstractContextManager[Running]:
        """Start a program on them, in a directory of its own."""
        return running(program, self.bed.new_directory(), self.bed.cluster.kubeconfig, {}, variables)


class Contestant(Protocol):
    """One kind of units."""

    @property
    def units(self) -> Units:
        """Which they are, and where."""

    async def create(self, program: Program) -> None:
        """Put them into the directory and the cluster; nothing is installed yet."""

    def start(self, program: Program) -> AbstractContextManager[Running]:
        """Start a program on them. The hook of each run writes the word `done`."""

    async def settle(self) -> None:
        """Write what controllers would, and wait until hookrunner has nothing more to say of it."""

    def change(self, name: str, size: int) -> Awaitable[None]:
        """Change the value of one unit that a ConfigMap shows."""


@dataclass(frozen=True, slots=True)
class Modules:
    """As modules."""

    units: Units

    async def create(self, program: Program) -> None:
        """See Contestant."""
        write_modules(self.units.directory, self.units.names)
        data = {"global": "color: red\n"} | {charts.key(name): "size: 1\n" for name in self.units.names}
        await self.units.bed.cluster.write(self.units.namespace, {"metadata": {"name": charts.CONFIG}, "data": data})

    def start(self, program: Program) -> AbstractContextManager[Running]:
        """See Contestant."""
        variables = {
            "ADDON_OPERATOR_MODULES_DIR": str(self.units.directory / "modules"),
            "ADDON_OPERATOR_NAMESPACE": self.units.namespace,
            "ADDON_OPERATOR_CONFIG_MAP": charts.CONFIG,
        }
        return self.units.run(program, variables)

    async def settle(self) -> None:
        """See Contestant."""
        await self.units.write_statuses()

    async def change(self, name: str, size: int) -> None:
        """See Contestant."""
        data = {charts.key(name): f"size: {size}\n"}
        await self.units.bed.cluster.patch(self.units.namespace, charts.CONFIG, data)


@dataclass(frozen=True, slots=True)
class Instances:
    """As instances of one addon, whose kind is in a group of its own."""

    units: Units

    @property
    def _group(self) -> str:
        return f"{self.units.namespace}.example.com"

    @property
    def path(self) -> str:
        """The collection of the instances."""
        return f"/apis/{self._group}/v1alpha1/namespaces/{self.units.namespace}/units"

    async def create(self, program: Program) -> None:
        """See Contestant. A life without any instance defines the kind."""
        write_addon(self.units.directory, self._group)
        with self.start(program) as operator:
            await exists(self.units.bed.cluster, self.path, operator)
        for name in self.units.names:
            await self.units.bed.cluster.post(self.path, self._object(name))

    def start(
        self, program: Program, more: Mapping[str, str] = MappingProxyType({})
    ) -> AbstractContextManager[Running]:
        """See Contestant. `more` are variables for it."""
        variables = {
            "HOOKRUNNER_ADDONS_DIR": str(self.units.directory / "addons"),
            "ADDON_OPERATOR_NAMESPACE": self.units.namespace,
            "ADDON_OPERATOR_CONFIG_MAP": charts.CONFIG,
            **more,
        }
        return self.units.run(program, variables)

    async def settle(self) -> None:
        """See Contestant."""
        await self.units.write_statuses()
        async with aclosing(self.units.bed.cluster.watch_path(self.path)) as shown:
            await see(shown, [*map(instance, self.units.names)], shows_phase("Current"))

    async def change(self, name: str, size: int) -> None:
        """See Contestant."""
        await self.units.bed.cluster.merge(f"{self.path}/{instance(name)}", {"spec": {"size": size}})

    def _object(self, name: str) -> dict[str, Any]:
        kind = {"apiVersion": f"{self._group}/v1alpha1", "kind": "Unit"}
        return kind | {"metadata": {"name": instance(name)}, "spec": {"size": 1}}

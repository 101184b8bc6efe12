"""One object of kind CoreDNS against `kubectl apply --server-side` of everything that it installs."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import charts, hooks
from benchmarks.programs import Program, Running, running
from benchmarks.scenarios import Bed, Figures
from benchmarks.watching import disappears, exists, see
from tests.controlplane.tools import find_tool

_ADDONS = Path(__file__).parents[2] / "addons"
_NAMESPACE = "kube-system"
_PATH = f"/apis/addons.x-k8s.io/v1alpha1/namespaces/{_NAMESPACE}/coredns"
_INSTANCE: dict[str, Any] = {
    "apiVersion": "addons.x-k8s.io/v1alpha1",
    "kind": "CoreDNS",
    "metadata": {"name": "default", "namespace": _NAMESPACE},
    "spec": {"dnsIP": "10.96.0.10"},
}
_DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/coredns.addons.x-k8s.io"
_COMPARED = ("defined", "first", "again")
_QUIET = 0.5
"""Seconds without work before something is applied."""


async def install(bed: Bed, program: Program) -> Figures:
    """Seconds from the write of the object until a watch has shown all objects: `defined` right after the start that
    defines the kind, `first` after another start, `again` for those that follow. `kubectl`: until kubectl ends that
    applies the same objects, from its start."""
    figures: Figures = {"defined": [], "first": [], "again": []}
    place = Place(bed, bed.new_directory())
    place.write()
    await bed.cluster.remove(_DEFINITION)
    for start in ("defined", "first"):
        with place.start(program) as operator:
            await operator.wait(1, "afterAll")
            await exists(bed.cluster, _PATH, operator)
            figures[start].append(await place.install())
            for _ in range(bed.sizes.installs):
                figures["again"].append(await place.install())
    figures["kubectl"] = [await place.apply() for _ in range(2 * bed.sizes.installs + 1)][1:]
    ratios = {f"{name}_ratio": [median(figures[name]) / median(figures["kubectl"])] for name in _COMPARED}
    return figures | ratios


@dataclass(frozen=True, slots=True)
class Place:
    """A directory with the objects that CoreDNS installs, and with a hook that tells when a start is over."""

    bed: Bed
    directory: Path

    def write(self) -> None:
        """Put everything there."""
        hooks.write(
            self.directory / "global", {"after.sh": hooks.writes({"configVersion": "v1", "afterAll": 1}, "afterAll")}
        )
        (self.directory / "instance.json").write_text(json.dumps(_INSTANCE))
        command = [sys.executable, "-m", "hookrunner", "addon", "render", "instance.json", "-o", "json"]
        shown = subprocess.run(
            [*command, f"--addons-dir={_ADDONS}"], cwd=self.directory, stdout=subprocess.PIPE, check=True
        )
        self._file.write_bytes(shown.stdout)

    def start(self, program: Program) -> AbstractContextManager[Running]:
        """Start a program that offers CoreDNS."""
        variables = {
            "HOOKRUNNER_ADDONS_DIR": str(_ADDONS),
            "HOOKRUNNER_ADDONS": "coredns",
            "ADDON_OPERATOR_GLOBAL_HOOKS_DIR": str(self.directory / "global"),
            "ADDON_OPERATOR_NAMESPACE": _NAMESPACE,
            "ADDON_OPERATOR_CONFIG_MAP": charts.CONFIG,
        }
        return running(program, self.bed.new_directory(), self.bed.cluster.kubeconfig, {}, variables)

    async def install(self) -> float:
        """Seconds from the write of the instance until everything is there; then it is deleted again."""
        seconds = await self._until_all_exist(lambda: self.bed.cluster.post(_PATH, _INSTANCE))
        await self.bed.cluster.remove(f"{_PATH}/default")
        await disappears(self.bed.cluster, f"{_PATH}/default")
        return seconds

    async def apply(self) -> float:
        """Seconds that kubectl takes; then everything is deleted again."""
        began = time.perf_counter()
        await asyncio.to_thread(self._kubectl, "apply", "--server-side", "-f", str(self._file))
        seconds = time.perf_counter() - began
        await asyncio.to_thread(self._kubectl, "delete", "-f", str(self._file))
        return seconds

    @property
    def _file(self) -> Path:
        return self.directory / "objects.json"

    @property
    def _objects(self) -> dict[str, set[str]]:
        """Names by collection."""
        found: dict[str, set[str]] = {}
        for obj in json.loads(self._file.read_text())["items"]:
            path = charts.collection(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace", ""))
            found.setdefault(path, set()).add(obj["metadata"]["name"])
        return found

    async def _until_all_exist(self, change: Callable[[], Awaitable[None]]) -> float:
        """Seconds from a change until each collection has shown its objects, none of which exists."""
        await asyncio.sleep(_QUIET)
        cluster = self.bed.cluster
        version = (await cluster.read(f"{_PATH}?limit=1"))["metadata"]["resourceVersion"]
        began = time.perf_counter()
        watching = [
            asyncio.create_task(see(cluster.watch_path(path, version), names, lambda _: True))
            for path, names in self._objects.items()
        ]
        await change()
        return max(await asyncio.gather(*watching)) - began

    def _kubectl(self, *arguments: str) -> None:
        environment = dict(os.environ, KUBECONFIG=str(self.bed.cluster.kubeconfig))
        environment["KUBECACHEDIR"] = str(self.directory / "kubectl-cache")
        subprocess.run([find_tool("kubectl"), *arguments], env=environment, stdout=subprocess.DEVNULL, check=True)

"""hookrunner and addon-operator in turns over one directory and one ConfigMap: who takes the releases over, and how.

    python -m benchmarks.handover --peer '/usr/local/bin/addon-operator start'

No figures: each turn prints what was written. It ends with 1 at the first turn in which a program does not converge,
tells of an error, or touches a Pod. The Pods are kwok's.
"""

import argparse
import asyncio
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import hooks
from benchmarks.programs import LIMIT, Program, Running, TookTooLong, running
from tests.controlplane.build import find_binaries
from tests.controlplane.cluster import Cluster
from tests.controlplane.control_plane import ControlPlane

CONFIG = "handover"
"""The ConfigMap that configures the modules."""

_ROUNDS = 3
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {color: {{ .Values.web.color | quote }}}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: registry.example.com/web:v1}]}
"""
_SHOWN = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: %s}
data: {color: {{ .Values.%s.color | quote }}}
"""
_HOOK = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: hooked-ran, annotations: {helm.sh/hook: "post-install,post-upgrade"}}
data: {color: {{ .Values.hooked.color | quote }}}
"""
_MODULES = {
    "010-web": {"templates/web.yaml": _DEPLOYMENT, "templates/shown.yaml": _SHOWN % ("web", "web")},
    "020-plain": {"templates/shown.yaml": _SHOWN % ("plain", "plain")},
    "030-hooked": {"templates/shown.yaml": _SHOWN % ("hooked", "hooked"), "templates/hook.yaml": _HOOK},
}


class Wrong(Exception):
    """A turn did not go as it should; the message says how."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is in the cluster: records, `name.vN status`; UIDs and restarts of Pods; colors that ConfigMaps show; and
    resourceVersions of all but Pods."""

    records: tuple[str, ...]
    pods: dict[str, tuple[str, int]]
    colors: dict[str, str]
    versions: dict[str, str]

    @property
    def heads(self) -> str:
        """The records of what is not superseded."""
        return ", ".join(record for record in self.records if "superseded" not in record)


class Handover:
    """One directory, one namespace, and programs that come and go."""

    def __init__(self, directory: Path, cluster: Cluster) -> None:
        self._directory = directory
        self._cluster = cluster
        self._lives = 0
        _write(directory)
        cluster.kubectl("create", "configmap", CONFIG, "--from-literal=global=color: none")

    async def turn(self, program: Program, color: str) -> str:
        """A life of a program: it takes over, is given another color, and ends. Raises Wrong, TookTooLong."""
        before, self._lives = self._seen(), self._lives + 1
        life = self._directory / f"life-{self._lives}"
        with running(program, life, self._cluster.kubeconfig, {}, self._variables()) as operator:
            await operator.wait(1, "afterAll")
            await asyncio.sleep(2)
            taken = self._seen()
            self._color(color)
            await self._shows(operator, color)
            changed = self._seen()
        told = list(_complaints(life / "log"))
        if told or (before.pods and not taken.pods == before.pods == changed.pods):
            raise Wrong(f"{program.name}: Pods {before.pods} → {taken.pods} → {changed.pods}; it said: {told}")
        written = sorted(name for name, version in taken.versions.items() if before.versions.get(name) != version)
        heads = f"finds {before.heads or 'nothing'}, has {taken.heads}, after a change {changed.heads}"
        return f"{program.name} {heads}; written to take over: {', '.join(written) or 'nothing'}"

    def _variables(self) -> dict[str, str]:
        return {
            "ADDON_OPERATOR_MODULES_DIR": str(self._directory / "modules"),
            "ADDON_OPERATOR_GLOBAL_HOOKS_DIR": str(self._directory / "global-hooks"),
            "ADDON_OPERATOR_NAMESPACE": "default",
            "ADDON_OPERATOR_CONFIG_MAP": CONFIG,
            "HELM_MONITOR_KUBE_CLIENT_QPS": "1000",
            "HELM_MONITOR_KUBE_CLIENT_BURST": "1000",
        }

    def _color(self, color: str) -> None:
        data = {name.partition("-")[2]: f"color: {color}\n" for name in _MODULES}
        self._cluster.kubectl("patch", "configmap", CONFIG, "--type=merge", "--patch", json.dumps({"data": data}))

    async def _shows(self, operator: Running, color: str) -> None:
        """Wait until all objects show it and all releases rest."""
        wanted = dict.fromkeys(("web", "plain", "hooked", "hooked-ran"), color)
        async with asyncio.timeout(LIMIT):
            while (seen := self._seen()).colors != wanted or "pending" in str(seen.records) or not seen.pods:
                operator.lines()
                await asyncio.sleep(0.2)

    def _seen(self) -> Seen:
        items = json.loads(self._cluster.kubectl("get", "configmaps,deployments,pods,secrets", "--output=json"))[
            "items"
        ]
        records = (one["metadata"]["labels"] for one in items if one.get("type") == "helm.sh/release.v1")
        pods = [one for one in items if one["kind"] == "Pod"]
        maps = [one for one in items if one["kind"] == "ConfigMap" and "color" in one.get("data", {})]
        return Seen(
            tuple(sorted(f"{one['name']}.v{one['version']} {one['status']}" for one in records)),
            {one["metadata"]["name"]: (one["metadata"]["uid"], _restarts(one)) for one in pods},
            {one["metadata"]["name"]: one["data"]["color"] for one in maps},
            {
                f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["resourceVersion"]
                for one in items
                if one not in pods
            },
        )


def _write(directory: Path) -> None:
    """The modules, all on, and a global hook that says when all have run."""
    for name, files in _MODULES.items():
        for path, text in files.items():
            file = directory / "modules" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        key = name.partition("-")[2]
        (directory / "modules" / name / "values.yaml").write_text(f"{key}: {{color: none}}\n")
        if key != "plain":
            (directory / "modules" / name / "Chart.yaml").write_text(f"apiVersion: v2\nname: {key}\nversion: 0.1.0\n")
    flags = "".join(f"{name.partition('-')[2]}Enabled: true\n" for name in _MODULES)
    (directory / "modules" / "values.yaml").write_text(flags)
    hooks.write(
        directory / "global-hooks", {"all.sh": hooks.writes({"configVersion": "v1", "afterAll": 1}, "afterAll")}
    )


def _restarts(pod: dict[str, Any]) -> int:
    return sum(one["restartCount"] for one in pod.get("status", {}).get("containerStatuses", []))


def _complaints(log: Path) -> Iterator[str]:
    """Lines with errors, and lines that the program's logger did not write."""
    for line in log.read_text(errors="replace").splitlines():
        if '"level":"error"' in line or "panic" in line or "level=error" in line:
            yield line


async def _turns(handover: Handover, ours: Program, peer: Program) -> None:
    """Each program takes over and changes a value; then each starts again with nothing to do."""
    for number in range(_ROUNDS):
        for program, author in ((ours, ours), (peer, peer), (ours, peer), (peer, peer)):
            print(await handover.turn(program, f"{author.name}-{number}"), flush=True)


def main() -> int:
    """Run the command line; 0 it went well, 1 it did not."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.handover", description=(__doc__ or "").partition("\n")[0]
    )
    usual = shlex.join([sys.executable, "-m", "hookrunner", "start", "--compat", "addon-operator"])
    parser.add_argument("--hookrunner", metavar="COMMAND", default=usual, help=f"default: {usual}")
    parser.add_argument("--peer", metavar="COMMAND", required=True)
    options = parser.parse_args()
    ours, peer = (Program(name, tuple(shlex.split(getattr(options, name)))) for name in ("hookrunner", "peer"))
    with (
        tempfile.TemporaryDirectory(prefix="hookrunner-handover-") as directory,
        ControlPlane(find_binaries(), Path(directory), controllers=True) as plane,
    ):
        handover = Handover(Path(directory) / "lives", Cluster(plane.kubeconfig, Path(directory)))
        try:
            asyncio.run(_turns(handover, ours, peer))
        except (Wrong, TookTooLong, TimeoutError) as failure:
            print(f"error: {failure}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

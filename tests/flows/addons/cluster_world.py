"""The world of a story about addons on a real control plane: what users do with kubectl and helm, and what they see."""

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kubetypes.json_values import JSON
from tests.controlplane.cluster import OwnCluster, RequestFailed
from tests.controlplane.tools import find_tool
from tests.faults.proxy import Proxy
from tests.flows.modules.world import World
from tests.flows.taken.release_lives import APIS

ADDONS = Path(__file__).parents[3] / "addons"
GROUP = "/apis/addons.x-k8s.io/v1alpha1/namespaces/kube-system"
MARKED = (
    *("deployments", "daemonsets", "configmaps", "services", "serviceaccounts", "secrets", "roles", "rolebindings"),
    *("clusterroles", "clusterrolebindings", "apiservices", "poddisruptionbudgets", "ingressclasses"),
    "validatingwebhookconfigurations",
)
"""Kinds of objects that the shipped addons install."""


@dataclass(frozen=True, slots=True)
class ClusterWorld:
    """`world` has the operator behind the proxy; users ask the API server directly."""

    cluster: OwnCluster
    proxy: Proxy
    world: World

    async def kubectl(self, *words: str, text: str = "") -> str:
        """What kubectl prints. Raises RequestFailed."""
        return await asyncio.to_thread(self.cluster.kubectl, *words, input=text)

    async def ask(self, *words: str) -> Any:
        """What `hookrunner addon` says as JSON of the running hookrunner, None for a command that changes something."""
        form = () if words[0] == "rollback" else ("--output=json",)
        printed = await asyncio.to_thread(self.world.operator.command, "addon", *words, *form)
        return json.loads(printed) if form else None

    async def helm(self, *words: str) -> Any:
        """What helm prints as JSON, of releases in hookrunner's namespace."""
        environ = dict(os.environ, KUBECONFIG=str(self.cluster.kubeconfig))
        command = [str(find_tool("helm")), *words, "--namespace", self.world.namespace, "--output=json"]
        done = await asyncio.to_thread(subprocess.run, command, env=environ, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    async def until(self, get: Callable[[], Awaitable[Any]], wanted: object, what: str, longest: float = 0.2) -> None:
        """Wait as the world does; `longest` is the pause between looks (seconds): one by kubectl costs 0.1 s of
        CPU."""
        await self.world.until(get, wanted, what, longest)

    async def install(self, addon: str, path: str, spec: JSON) -> None:
        """Create an addon's example with this spec, as soon as its kind is served."""
        example = yaml.safe_load((ADDONS / addon / "example.yaml").read_text()) | {"spec": spec}

        async def is_created() -> bool:
            return await self.world.ask("POST", path.rpartition("/")[0], example) is not None

        await self.until(is_created, True, f"the kind of {path}")

    async def apply(self, obj: dict[str, JSON]) -> None:
        """Apply an object as soon as kubectl has heard of its kind, which may be a moment after it is established."""

        async def is_applied() -> bool:
            try:
                await self.kubectl("apply", "-f", "-", text=json.dumps(obj))
            except RequestFailed as error:
                if "no matches for kind" not in str(error):
                    raise
                return False
            return True

        await self.until(is_applied, True, f"kubectl knows {obj['kind']}")

    async def read(self, path: str) -> Any:
        """An object, empty if it does not exist."""
        return await self.world.ask("GET", path, None) or {}

    async def shown(self, *names: str) -> Any:
        """An object of kube-system or of the cluster, as kubectl names it, or a list of several; empty if it does not
        exist."""
        words = ("get", *names, "-n", "kube-system", "--ignore-not-found", "-o", "json")
        return json.loads(await self.kubectl(*words) or "{}")

    async def change(self, path: str, spec: JSON) -> None:
        """Change the spec of an instance, and wait until its status is about that."""
        changed = await self.world.ask("PATCH", path, {"spec": spec})
        generation = changed["metadata"]["generation"]

        async def is_seen() -> bool:
            return bool((await self.status(path)).get("observedGeneration", 0) >= generation)

        await self.until(is_seen, True, f"the status of generation {generation} of {path}")

    async def status(self, path: str) -> Any:
        """The status of an instance, empty without one."""
        return (await self.read(path)).get("status") or {}

    async def reaches(self, path: str, wanted: Mapping[str, JSON]) -> Any:
        """Wait until the status of an instance has these fields; all of it then."""

        async def present() -> dict[str, JSON]:
            shown = await self.status(path)
            return {key: shown.get(key) for key in wanted}

        await self.until(present, dict(wanted), f"status of {path}")
        return await self.status(path)

    async def marked(self, unit: str) -> list[str]:
        """Everything in the cluster that is marked as installed by an instance: `deployments/coredns`."""
        found = []
        for plural in MARKED:
            query = f"{APIS.get(plural, '/api/v1')}/{plural}?labelSelector=hookrunner.io/addon%3D{unit}"
            found += [f"{plural}/{obj['metadata']['name']}" for obj in (await self.read(query))["items"]]
        return found

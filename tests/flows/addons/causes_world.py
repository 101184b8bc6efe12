"""The world in which instances get into every state: the addons, a web server with packages, objects of others."""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kubetypes.json_values import JSON
from tests.flows.addons.caused_addons import GROUP, digest_of, web_files, write_addons
from tests.flows.addons.causes import ELSEWHERE, Cause, body_of
from tests.flows.modules.test_addon_sources import Server
from tests.flows.modules.world import World

_MODULE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: taken-module}\n"


@dataclass(frozen=True, slots=True)
class CausesWorld:
    """`world` has the operator, `server` the packages of the addon `remote`."""

    world: World
    server: Server

    async def begin(self) -> None:
        """Offer the addons, make what belongs to others, wait until the kinds are served."""
        world = self.world
        self._fill_server()
        write_addons(world, self.server.base)
        world.module("010-alpha", {"templates/a.yaml": _MODULE})
        world.write("modules/values.yaml", "alphaEnabled: true\n")
        world.operator.flags += (f"--addons-dir={world.directory / 'addons'}", f"--addon-namespaces={world.namespace}")
        await self._make_objects_of_others()
        await world.start()
        await world.until(self._are_served, True, "the kinds")

    async def create(self, causes: Iterable[Cause]) -> None:
        """Create the instances at once."""
        await asyncio.gather(*(self._send("POST", cause, body_of(cause)) for cause in causes))

    async def change(self, causes: Iterable[Cause], spec: Callable[[Cause], JSON]) -> None:
        """Change the specs at once."""
        await asyncio.gather(*(self._send("PATCH", cause, {"spec": spec(cause)}) for cause in causes))

    async def delete(self, causes: Iterable[Cause]) -> None:
        """Delete the instances at once."""
        await asyncio.gather(*(self._send("DELETE", cause, None) for cause in causes))

    async def change_the_world(self) -> None:
        """Let a channel lead to another version, put another package under the same version, let a channel fail; change
        and delete objects of instances by hand."""
        self.world.write("channels/moving", "manifests: [{version: 2.0.0}]\n")
        self.world.without("channels/vanishing")
        self.server.files |= web_files("1.0.0", {"more.yaml": "# changed\n"})
        self.server.broken.add("/down")
        self.server.files["/stable"] = "manifests: [{version: 1.0.0}]"
        await self._roll_out("changed", ready_after=3600)
        await self.world.delete("of-first")

    async def mend_the_world(self) -> None:
        """Undo all that, and let the hook end that waits."""
        self.world.write("channels/moving", "manifests: [{version: 1.0.0}]\n")
        self._fill_server()
        await self._roll_out("a", ready_after=None)
        self.world.operator.tell("go")

    async def release_held(self) -> None:
        """Take the finalizer from the object that has one."""
        await self.world.ask("PATCH", self.world.path("of-held-held"), {"metadata": {"finalizers": None}})

    async def _roll_out(self, image: str, ready_after: int | None) -> None:
        """Give the Deployment that is changed by hand this image."""
        path = f"/apis/apps/v1/namespaces/{self.world.namespace}/deployments/of-changed-by-hand"
        template = {"spec": {"containers": [{"name": "a", "image": image}]}}
        await self.world.ask("PATCH", path, {"spec": {"minReadySeconds": ready_after, "template": template}})

    def _fill_server(self) -> None:
        self.server.files |= web_files("1.0.0", {}) | web_files("unlisted", {}, has_sums=False)
        self.server.files["/stable"] = f'manifests: [{{version: 1.0.0, digest: "{digest_of("1.0.0", {})}"}}]'

    async def reach(self, causes: Iterable[Cause], state: Callable[[Cause], tuple[str, str, str]]) -> dict[str, Any]:
        """Wait until each instance has this phase, reason and version; all statuses by name."""
        wanted = {cause.name: state(cause) for cause in causes}
        shown: dict[str, Any] = {}

        async def missing() -> dict[str, Any]:
            nonlocal shown
            shown = await self.statuses()
            present = {name: _state_of(shown.get(name) or {}) for name in wanted}
            return {name: (state, wanted[name]) for name, state in present.items() if state != wanted[name]}

        await self.world.until(missing, {}, "states", longest=1.0)  # a look at all instances costs 20 ms of CPU
        return shown

    async def statuses(self) -> dict[str, Any]:
        """The status of every instance, by name."""
        return {obj["metadata"]["name"]: obj.get("status") or {} for obj in await self.instances()}

    async def instances(self) -> list[Any]:
        """All objects of the kinds."""
        names = await self._plurals()
        lists = await asyncio.gather(*(self.world.ask("GET", f"/apis/{GROUP}/v1alpha1/{name}", None) for name in names))
        return [obj for listed in lists for obj in listed["items"]]

    async def events(self) -> list[tuple[str, str, str]]:
        """The Events that are about instances: name, reason and message."""
        found = []
        for namespace in (self.world.namespace, "kube-system"):
            listed = await self.world.ask("GET", f"/api/v1/namespaces/{namespace}/events", None)
            for event in listed["items"]:
                if event["involvedObject"].get("apiVersion", "").startswith(GROUP):
                    found.append((event["involvedObject"]["name"], event["reason"], event["message"]))
        return found

    async def reasons(self) -> dict[str, set[str]]:
        """The reasons of the Events about each instance, by its name."""
        told: dict[str, set[str]] = {}
        for name, reason, _ in await self.events():
            told.setdefault(name, set()).add(reason)
        return told

    def run_counts(self) -> dict[str, float]:
        """How many runs of each instance this process has ended, by its name."""
        found: dict[str, float] = {}
        pattern = r'hookrunner_module_run_seconds_count{.*module="\w+[.][\w-]+[.]([\w-]+)".*} (\S+)'
        for name, count in re.findall(pattern, self.world.operator.get("/metrics")[1]):
            found[name] = found.get(name, 0) + float(count)
        return found

    def samples(self) -> dict[str, list[dict[str, str]]]:
        """The labels of all series of addons, by metric."""
        found: dict[str, list[dict[str, str]]] = {}
        for line in self.world.operator.get("/metrics")[1].splitlines():
            if match := re.fullmatch(r"hookrunner_(addon_\w+)(?:\{(.*)\})? \S+", line):
                labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or ""))
                found.setdefault(match[1], []).append(labels)
        return found

    async def _send(self, method: str, cause: Cause, body: JSON | None) -> None:
        namespace = "kube-system" if cause is ELSEWHERE else self.world.namespace
        path = f"/apis/{GROUP}/v1alpha1/namespaces/{namespace}/{cause.path}"
        answer = await self.world.ask(method, path.rpartition("/")[0] if method == "POST" else path, body)
        assert answer is not None, f"{path} is not served"

    async def _make_objects_of_others(self) -> None:
        annotations = {"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": self.world.namespace}
        helm = {"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": annotations}
        await self._make_record("other")
        owner = await self._make_map("taken-helm", helm)
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "taken-helm", "uid": owner["metadata"]["uid"]}
        await self._make_map("taken-owner", {"ownerReferences": [reference | {"controller": True}]})
        await self._make_map("taken-user", {})
        await self._make_map("taken-adopted", {})

    async def _make_record(self, release: str) -> None:
        """What `helm install` keeps of a release, as far as others look at it."""
        labels = {"owner": "helm", "name": release, "status": "deployed", "version": "1"}
        metadata = {"name": f"sh.helm.release.v1.{release}.v1", "labels": labels}
        body = {"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "metadata": metadata}
        await self.world.ask("POST", self.world.path(resource="secrets"), body)

    async def _make_map(self, name: str, metadata: Mapping[str, JSON]) -> Any:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name} | dict(metadata)}
        return await self.world.ask("POST", self.world.path(), body)

    async def _plurals(self) -> list[str]:
        served = await self.world.ask("GET", f"/apis/{GROUP}/v1alpha1", None) or {"resources": []}
        return [entry["name"] for entry in served["resources"] if "/" not in entry["name"]]

    async def _are_served(self) -> bool:
        return len(await self._plurals()) == len(list((self.world.directory / "addons").iterdir()))


def _state_of(status: Mapping[str, Any]) -> tuple[str, str, str]:
    ready = [entry for entry in status.get("conditions", ()) if entry["type"] == "Ready"]
    return status.get("phase", ""), ready[0]["reason"] if ready else "", status.get("version", "")

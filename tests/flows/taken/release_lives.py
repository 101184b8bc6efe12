"""What is asked of a release in the life of an addon or a module: the steps that both have."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from hookrunner.model.rights import Right
from tests.controlplane.cluster import Cluster, OwnCluster
from tests.flows.limited_rights import NAMESPACE
from tests.flows.operator import Operator
from tests.flows.taken.life import POLICIES, REGISTRATIONS, Life, Step
from tests.flows.taken.taken_rule import LimitedAccount

APIS = {
    "deployments": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1",
    "clusterrolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "apiservices": "/apis/apiregistration.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "ingressclasses": "/apis/networking.k8s.io/v1",
    "validatingwebhookconfigurations": "/apis/admissionregistration.k8s.io/v1",
}
WORKLOADS = ("Deployment", "DaemonSet")
TAMPERED = "k8s-app"
"""A label that another client sets."""


class ReleasedThing(Protocol):
    """What has a release: `thing` is its name. `state` is whether the program is stopped, or the release absent or
    installed, between two steps. `surveyed` is a namespace that the release creates, or empty."""

    thing: str
    state: str
    surveyed: str
    cluster: OwnCluster
    account: LimitedAccount
    operator: Operator
    objects: "ReleaseObjects"

    def steps(self) -> Iterator[Step]:
        """A whole life, from the start of the program to the end of the release."""
        ...

    def install(self) -> Step: ...

    def delete(self) -> Step: ...

    def forget(self) -> None:
        """Delete what only the start creates."""
        ...


def life_of(world: ReleasedThing) -> Life:
    """A new one."""
    unneeded = (*(f"{words} hookrunner-hooks" for words in REGISTRATIONS), *POLICIES)
    place = (world.cluster, world.account, world.operator)
    return Life(*place, [*world.steps()], is_long=True, unneeded=unneeded, surveyed=world.surveyed)


class ReleaseObjects:
    """The objects of a release of these kinds. `has_label`: all have the label `TAMPERED`."""

    def __init__(self, cluster: OwnCluster, release: str, plurals: Sequence[str], *, has_label: bool = True) -> None:
        self.cluster, self._release, self._plurals = cluster, release, plurals
        self._has_label = has_label

    def tamper(self, rule: Right | None = None) -> Step:
        """Another client deletes workloads, and changes labels of everything else; of the objects alone that a rule is
        about."""
        uids: dict[str, str] = {}

        def ask() -> None:
            uids.clear()
            for path, obj in _about(rule, self.read_all()).items():
                if obj["kind"] in WORKLOADS:
                    uids[path] = obj["metadata"]["uid"]
                    self.cluster.request("DELETE", f"{path}?propagationPolicy=Background")
                elif self._has_label:
                    self.cluster.request("PATCH", path, {"metadata": {"labels": {TAMPERED: "mine"}}})

        def is_done() -> bool:
            marked = self.read_all()
            is_back = all(path in marked and marked[path]["metadata"]["uid"] != uid for path, uid in uids.items())
            return is_back and all(obj["metadata"]["labels"].get(TAMPERED) != "mine" for obj in marked.values())

        return Step("the repair", ask, is_done)

    def read_all(self) -> dict[str, Any]:
        """All of them, by their paths."""
        found = {}
        for plural in self._plurals:
            api = APIS.get(plural, "/api/v1")
            query = f"{api}/{plural}?labelSelector=app.kubernetes.io/managed-by=Helm"
            listed = self.cluster.request("GET", query).body
            for item in listed["items"]:
                namespace = item["metadata"].get("namespace")
                place = f"/namespaces/{namespace}" if namespace else ""
                annotations = item["metadata"].get("annotations") or {}
                if annotations.get("meta.helm.sh/release-name") == self._release:
                    kind = {"kind": listed["kind"].removesuffix("List")}
                    found[f"{api}{place}/{plural}/{item['metadata']['name']}"] = kind | item
        return found


def _about(rule: Right | None, objects: dict[str, Any]) -> dict[str, Any]:
    """Those that a rule is about; the workloads, if it is about none."""
    if rule is None:
        return objects
    named = {path: obj for path, obj in objects.items() if not rule.names or obj["metadata"]["name"] in rule.names}
    workloads = {path: obj for path, obj in objects.items() if obj["kind"] in WORKLOADS}
    return {path: obj for path, obj in named.items() if path.split("/")[-2] in rule.resources} or workloads


def read(cluster: Cluster, path: str) -> Any:
    """An object, empty if it does not exist."""
    reply = cluster.request("GET", path)
    return reply.body if reply.status == HTTPStatus.OK else {}


def read_records(cluster: Cluster, release: str) -> list[Any]:
    """Of one release."""
    query = f"labelSelector=owner%3Dhelm,name%3D{release}"
    items: list[Any] = read(cluster, f"/api/v1/namespaces/{NAMESPACE}/secrets?{query}")["items"]
    return items


def write_directory(directory: Path) -> Path:
    """One for a program."""
    for place in ("", "hooks", "told"):
        (directory / place).mkdir(exist_ok=True)
    return directory

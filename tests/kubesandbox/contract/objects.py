"""Paths and small objects of the built-in kinds, for contract cases. Pure JSON, nothing is asked of a server."""

from dataclasses import dataclass
from typing import Any

from tests.fakes.objects import OPEN, definition

JSON = dict[str, Any]

GROUPS = {
    "v1": "configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims persistentvolumes pods"
    " podtemplates replicationcontrollers resourcequotas secrets serviceaccounts services",
    "apps/v1": "controllerrevisions daemonsets deployments replicasets statefulsets",
    "batch/v1": "cronjobs jobs",
    "networking.k8s.io/v1": "ingressclasses ingresses networkpolicies",
    "policy/v1": "poddisruptionbudgets",
    "rbac.authorization.k8s.io/v1": "clusterrolebindings clusterroles rolebindings roles",
    "storage.k8s.io/v1": "csidrivers csinodes storageclasses volumeattachments",
    "coordination.k8s.io/v1": "leases",
    "scheduling.k8s.io/v1": "priorityclasses",
    "admissionregistration.k8s.io/v1": "mutatingwebhookconfigurations validatingwebhookconfigurations",
    "apiextensions.k8s.io/v1": "customresourcedefinitions",
    "autoscaling/v2": "horizontalpodautoscalers",
    "discovery.k8s.io/v1": "endpointslices",
}
VERSION_OF = {plural: version for version, plurals in GROUPS.items() for plural in plurals.split()}


def at(plural: str, namespace: str = "", name: str = "") -> str:
    """The path of a built-in kind's collection (everywhere or in a namespace), or of one object."""
    version = VERSION_OF[plural]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{scope}/{plural}" + (f"/{name}" if name else "")


def config_map(name: str, data: JSON | None = None, **meta: Any) -> JSON:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": data or {}}


def pod(name: str, **meta: Any) -> JSON:
    """A Pod that no scheduler takes, so that it stays Pending on every server."""
    spec = {"schedulerName": "unknown-scheduler", "containers": [{"name": "main", "image": "busybox"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}, "spec": spec}


def deployment(name: str, **meta: Any) -> JSON:
    """A Deployment of no Pods."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "busybox"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, **meta}, "spec": spec}


def owned_by(owner: JSON, *, block: bool = False) -> JSON:
    """An owner reference, for `ownerReferences`."""
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    return reference | ({"blockOwnerDeletion": True} if block else {})


@dataclass(frozen=True, slots=True)
class CustomKind:
    """A kind that a case has made for itself."""

    group: str
    plural: str
    kind: str

    @property
    def name(self) -> str:
        """The CustomResourceDefinition's."""
        return f"{self.plural}.{self.group}"

    def path(self, namespace: str = "", name: str = "", *, version: str = "v1") -> str:
        """The collection of a namespace (or of all), or one object in it."""
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"/apis/{self.group}/{version}{scope}/{self.plural}" + (f"/{name}" if name else "")

    def object(self, name: str, *, version: str = "v1", **content: Any) -> dict[str, Any]:
        """An object of this kind."""
        meta = {"name": name}
        return {"apiVersion": f"{self.group}/{version}", "kind": self.kind, "metadata": meta, **content}


def crd(group: str, plural: str, schema: Any = None, **spec: Any) -> JSON:
    """A namespaced CustomResourceDefinition with one version, v1, of that schema, unless `spec` says otherwise."""
    kind = plural.title().removesuffix("s")
    names = {"plural": plural, "singular": plural.removesuffix("s"), "kind": kind, "listKind": f"{kind}List"}
    made: JSON = definition(group, kind, "v1", schema=schema or OPEN, **{"names": names} | spec)
    return made

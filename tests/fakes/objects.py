"""Objects of Kubernetes as their authors write them, and as small as an API server takes them."""

from typing import Any

from kubetypes.json_values import JSON

OPEN: Any = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""A schema of objects that may have any fields."""


def definition(group: str, kind: str, *versions: str, schema: JSON = OPEN, **spec: JSON) -> Any:
    """A CustomResourceDefinition of a namespaced kind, whose plural is the kind with an `s`. Objects are stored as the
    first of the versions, all of which have this schema. `spec` are more fields, or others, of its spec: `names` has
    the plural, too."""
    names = {"kind": kind, "plural": f"{kind.lower()}s"}
    each = [
        {"name": name, "served": True, "storage": name == versions[0], "schema": {"openAPIV3Schema": schema}}
        for name in versions
    ]
    whole: Any = {"group": group, "scope": "Namespaced", "names": names, "versions": each} | spec
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{whole['names']['plural']}.{group}"},
        "spec": whole,
    }


def config_map(name: str, namespace: str = "default", /, **data: str) -> Any:
    """A ConfigMap; without a namespace if that is empty."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def with_uid(obj: Any) -> Any:
    """The object with a uid, as an API server keeps it: its own, else one made of its namespace and name."""
    metadata = obj["metadata"]
    return obj | {"metadata": {"uid": f"{metadata.get('namespace', '')}-{metadata['name']}"} | metadata}


def deployment(name: str, image: str = "registry.k8s.io/pause:3.10", **spec: JSON) -> Any:
    """A Deployment of one Pod with one container; `spec` are more fields, or others, of its spec."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    whole = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": whole | spec}

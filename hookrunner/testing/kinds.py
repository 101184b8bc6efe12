"""What a kind is called, without a cluster to ask: bindings and rules may name a kind, its plural or a short name."""

from collections.abc import Sequence

from hookrunner.model.resources import JSON

_SHORT = {
    "cm": "configmap",
    "cronjob": "cronjob",
    "cj": "cronjob",
    "crd": "customresourcedefinition",
    "crds": "customresourcedefinition",
    "deploy": "deployment",
    "ds": "daemonset",
    "ep": "endpoints",
    "ev": "event",
    "hpa": "horizontalpodautoscaler",
    "ing": "ingress",
    "limits": "limitrange",
    "netpol": "networkpolicy",
    "no": "node",
    "ns": "namespace",
    "pc": "priorityclass",
    "pdb": "poddisruptionbudget",
    "po": "pod",
    "pv": "persistentvolume",
    "pvc": "persistentvolumeclaim",
    "quota": "resourcequota",
    "rc": "replicationcontroller",
    "rs": "replicaset",
    "sa": "serviceaccount",
    "sc": "storageclass",
    "sts": "statefulset",
    "svc": "service",
}


def is_called(name: str, obj: JSON, given: Sequence[JSON]) -> bool:
    """Whether `name`, in any case, means the kind of this object."""
    wanted, kind = name.lower(), obj["kind"].lower()
    return wanted in (kind, plural(obj, given)) or _SHORT.get(wanted) == kind or wanted in _own_names(obj, given)


def plural(obj: JSON, given: Sequence[JSON]) -> str:
    """The resource of an object's kind: from a given CustomResourceDefinition, else by the rules of English."""
    names = _definition(obj, given)
    if names:
        return str(names.get("plural", "")).lower()
    kind: str = obj["kind"].lower()
    if kind.endswith("s") and kind.endswith("endpoints"):
        return kind
    if kind.endswith("y") and kind[-2] not in "aeiou":
        return kind[:-1] + "ies"
    return kind + ("es" if kind.endswith(("s", "x", "ch", "sh")) else "s")


def _own_names(obj: JSON, given: Sequence[JSON]) -> list[str]:
    names = _definition(obj, given)
    return [names.get("singular", ""), *names.get("shortNames", [])]


def _definition(obj: JSON, given: Sequence[JSON]) -> JSON:
    group = obj.get("apiVersion", "").rpartition("/")[0]
    for one in given:
        if one["kind"] == "CustomResourceDefinition" and one.get("spec", {}).get("group") == group:
            names = one["spec"].get("names", {})
            if names.get("kind") == obj["kind"]:
                return names
    return {}

"""Whether an object is one of a binding's, and if not, which of the binding's conditions it fails.

A running hookrunner asks the API server for the objects that match; here the same selectors are looked at one
requirement at a time, so that the answer can name it. Selector strings are in the form that `hooks/config/selectors`
writes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from hookrunner.model.bindings import Kubernetes
from kubetypes.json_values import JSON
from kubetypes.openapi import builtin_kinds

_SET = re.compile(r"(?P<key>\S+) (?P<word>in|notin) \((?P<values>.*)\)")
_REQUIREMENTS = re.compile(r",(?![^(]*\))")
_FIELDS = re.compile(r"(?<!\\),")
_FIELD = re.compile(r"(?P<path>[^=!]+)(?P<sign>!?=)(?P<value>.*)", re.DOTALL)


def mismatch(binding: Kubernetes, obj: JSON, given: Sequence[JSON]) -> str:
    """The first condition of the binding that the object fails, in words; empty if it is one of the binding's.

    `given` are the objects among which namespaces and their labels are looked up.
    """
    return next(_mismatches(binding, obj, given), "")


def _mismatches(binding: Kubernetes, obj: JSON, given: Sequence[JSON]) -> Iterator[str]:
    metadata = obj["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    if not is_called(binding.kind, obj, given):
        yield f"kind: the object is a {obj['kind']}, the binding watches {binding.kind or 'nothing'}"
    if binding.api_version and obj.get("apiVersion", binding.api_version) != binding.api_version:
        yield f"apiVersion: the object is {obj['apiVersion']}, the binding watches {binding.api_version}"
    if binding.names and name not in binding.names:
        yield f"nameSelector: the object is called '{name}', the binding watches {_any(binding.names)}"
    if binding.namespaces and namespace not in binding.namespaces:
        yield f"namespace: the object is in '{namespace}', the binding watches {_any(binding.namespaces)}"
    if binding.namespace_labels is not None:
        yield from _namespace(binding.namespace_labels, namespace, given)
    if failed := failed_label(binding.labels, metadata.get("labels") or {}):
        yield f"labelSelector: '{failed}' does not hold for the labels {_shown(metadata.get('labels'))}"
    if failed := failed_field(binding.fields, obj):
        yield f"fieldSelector: '{failed}' does not hold, its value is '{_at(obj, _path_of(failed))}'"


def _namespace(selector: str, name: str, given: Sequence[JSON]) -> Iterator[str]:
    labels = labels_of_namespace(name, given)
    if not name:
        yield "namespace.labelSelector: the object is in no namespace"
    elif labels is None:
        yield f"namespace.labelSelector: Namespace '{name}' is not among the given objects, so its labels are unknown"
    elif failed := failed_label(selector, labels):
        yield f"namespace.labelSelector: '{failed}' does not hold for the labels {_shown(labels)} of Namespace '{name}'"


def labels_of_namespace(name: str, given: Sequence[JSON]) -> Mapping[str, str] | None:
    """The labels of a given Namespace, with the one that every namespace has; None if it is not given."""
    for obj in given:
        if obj["kind"] == "Namespace" and obj["metadata"]["name"] == name:
            return {"kubernetes.io/metadata.name": name} | (obj["metadata"].get("labels") or {})
    return None


def failed_label(selector: str, labels: Mapping[str, str]) -> str:
    """The first requirement of a label selector that these labels fail; empty if none."""
    parts = _REQUIREMENTS.split(selector) if selector else []
    return next((part for part in parts if not _holds(part, labels)), "")


def _holds(requirement: str, labels: Mapping[str, str]) -> bool:
    """`NotIn` and `!=` hold where the label is missing:
    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors"""
    if match := _SET.fullmatch(requirement):
        within = labels.get(match["key"]) in match["values"].split(",")
        return within if match["word"] == "in" else not within
    if requirement.startswith("!"):
        return requirement[1:] not in labels
    key, sign, value = requirement.partition("!=")
    if sign:
        return labels.get(key) != value
    key, sign, value = requirement.partition("=")
    return labels.get(key) == value if sign else key in labels


def failed_field(selector: str, obj: JSON) -> str:
    """The first requirement of a field selector that an object fails; empty if none."""
    for part in _FIELDS.split(selector) if selector else []:
        match = _FIELD.fullmatch(part)
        if match and (_at(obj, match["path"]) == _plain(match["value"])) != (match["sign"] == "="):
            return part
    return ""


def _path_of(requirement: str) -> str:
    match = _FIELD.fullmatch(requirement)
    return match["path"] if match else ""


def _plain(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value)


def _at(obj: JSON, path: str) -> str:
    """The text of a field; a missing one is the empty text, as for the API server."""
    for key in path.split("."):
        obj = obj.get(key) if isinstance(obj, dict) else None
    if isinstance(obj, bool):
        return str(obj).lower()
    return "" if obj is None else str(obj)


def _any(names: Sequence[str]) -> str:
    return " or ".join(f"'{name}'" for name in names)


def _shown(labels: JSON) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "(none)"


def is_called(name: str, obj: JSON, given: Sequence[JSON]) -> bool:
    """Whether `name`, in any case, means the kind of this object."""
    names = [obj["kind"], plural(obj, given)]
    if kind := builtin_kinds.names().get((_group(obj), obj["kind"])):
        names += kind.short_names
    defined = _definition(obj, given)
    names += [defined.get("singular", ""), *defined.get("shortNames", [])]
    return name.lower() in map(str.lower, names)


def plural(obj: JSON, given: Sequence[JSON]) -> str:
    """The resource of an object's kind."""
    if kind := builtin_kinds.names().get((_group(obj), obj["kind"])):
        return kind.plural
    if names := _definition(obj, given):
        return str(names.get("plural", ""))
    word: str = obj["kind"].lower()
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def _group(obj: JSON) -> str:
    return str(obj.get("apiVersion", "")).rpartition("/")[0]


def _definition(obj: JSON, given: Sequence[JSON]) -> JSON:
    """The `names` of the CustomResourceDefinition, if it is given."""
    for definition in given:
        if definition["kind"] == "CustomResourceDefinition" and definition.get("spec", {}).get("group") == _group(obj):
            names = definition["spec"].get("names", {})
            if names.get("kind") == obj["kind"]:
                return names
    return {}

"""Whether an object is one of a binding's, and if not, which of the binding's conditions it fails.

A running hookrunner asks the API server for the objects that match; here the same selectors are matched
(`kubetypes/selectors.py`), and the answer names the requirement that fails.
"""

from collections.abc import Iterator, Mapping, Sequence

from hookrunner.model.bindings import Kubernetes
from kubetypes.json_values import JSON
from kubetypes.openapi import builtin_kinds
from kubetypes.selectors import failed_field, failed_label, field_terms, read_requirements


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
    if failed := failed_label(read_requirements(binding.labels), metadata.get("labels") or {}):
        yield f"labelSelector: '{failed}' does not hold for the labels {_shown(metadata.get('labels'))}"
    if term := failed_field(field_terms(binding.fields), obj):
        yield f"fieldSelector: '{term}' does not hold, its value is '{term.text_in(obj)}'"


def _namespace(selector: str, name: str, given: Sequence[JSON]) -> Iterator[str]:
    labels = labels_of_namespace(name, given)
    if not name:
        yield "namespace.labelSelector: the object is in no namespace"
    elif labels is None:
        yield f"namespace.labelSelector: Namespace '{name}' is not among the given objects, so its labels are unknown"
    elif failed := failed_label(read_requirements(selector), labels):
        yield f"namespace.labelSelector: '{failed}' does not hold for the labels {_shown(labels)} of Namespace '{name}'"


def labels_of_namespace(name: str, given: Sequence[JSON]) -> Mapping[str, str] | None:
    """The labels of a given Namespace, with the one that every namespace has; None if it is not given."""
    for obj in given:
        if obj["kind"] == "Namespace" and obj["metadata"]["name"] == name:
            return {"kubernetes.io/metadata.name": name} | (obj["metadata"].get("labels") or {})
    return None


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

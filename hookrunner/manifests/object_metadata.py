"""The namespace and the labels of an addon's objects.

The namespace is written into objects that have none, because release records are kept in another namespace. Whether a
kind has namespaces is looked up: first among the definitions of the same package, which the cluster may not know yet,
then among the kinds that the cluster was asked for (`unplaced_kinds`), then among the built-in kinds. Objects of
unknown kinds stay as they are.

Labels go on `metadata.labels` of each object, in place of its own of the same name; selectors and templates of Pods
stay as they are, so a workload still finds its Pods.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping

from hookrunner.model.sourced_objects import SourcedObject
from kubetypes.json_values import JSON
from kubetypes.openapi import builtin_kinds

Kind = tuple[str, str]
"""apiVersion and kind."""
Scopes = Callable[[str, str], bool | None]
"""Whether the kind of an apiVersion and a kind has namespaces; None if that is unknown."""

LONGEST_VALUE = 63
"""Characters of a label's value. https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"""
_DIGITS = 10
_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")


def fill_namespaces(sources: Iterable[SourcedObject], namespace: str, scopes: Scopes) -> tuple[SourcedObject, ...]:
    """The objects; those of kinds with namespaces that name none get `namespace`."""
    return tuple(
        source.with_metadata({"namespace": namespace})
        if not source.namespace and scopes(source.api_version, source.kind)
        else source
        for source in sources
    )


def unplaced_kinds(sources: Iterable[SourcedObject], scopes: Scopes) -> tuple[Kind, ...]:
    """The kinds of objects without a namespace of which it is not known whether they should have one."""
    kinds = {(source.api_version, source.kind): None for source in sources if not source.namespace}
    return tuple(kind for kind in kinds if scopes(*kind) is None)


def scopes_of(sources: Iterable[SourcedObject], asked: Mapping[Kind, bool] | None = None) -> Scopes:
    """The scopes of all kinds that these objects define, that the cluster was asked for, or that are built in."""
    defined = dict(entry for source in sources for entry in _defined_kinds(source))

    def look_up(api_version: str, kind: str) -> bool | None:
        group = api_version.rpartition("/")[0]
        if (group, kind) in defined:
            return defined[group, kind]
        known = (asked or {}).get((api_version, kind))
        return builtin_scope(api_version, kind) if known is None else known

    return look_up


def builtin_scope(api_version: str, kind: str) -> bool | None:
    """Whether a built-in kind has namespaces, whatever the version; None for other kinds."""
    builtin = builtin_kinds.names().get((api_version.rpartition("/")[0], kind))
    return builtin.namespaced if builtin else None


def _defined_kinds(source: SourcedObject) -> Iterable[tuple[tuple[str, str], bool]]:
    """Group and kind that a definition brings, with its scope; nothing for another object or a broken definition."""
    spec: JSON = source.obj.get("spec")
    if (source.group, source.kind) != _DEFINITION or not isinstance(spec, dict):
        return ()
    names = spec.get("names")
    kind = names.get("kind") if isinstance(names, dict) else None
    if not isinstance(kind, str) or spec.get("scope") not in ("Namespaced", "Cluster"):
        return ()
    return (((str(spec.get("group")), kind), spec["scope"] == "Namespaced"),)


def set_labels(sources: Iterable[SourcedObject], labels: Mapping[str, str]) -> tuple[SourcedObject, ...]:
    """The objects with these labels."""
    return tuple(source.labelled(labels) for source in sources)


def label_value(name: str) -> str:
    """An object's name as the value of a label: beyond 63 characters it is cut, and a part of its SHA-256 added."""
    if len(name) <= LONGEST_VALUE:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]
    return f"{name[: LONGEST_VALUE - _DIGITS - 1].rstrip('.-_')}.{digest}"

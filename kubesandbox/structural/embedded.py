"""Whole objects inside custom objects (`x-kubernetes-embedded-resource`): their type and metadata are well formed.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#rawextension
"""

from collections.abc import Iterator

from kubesandbox import names
from kubesandbox.builtin import metadata
from kubesandbox.schemas import Schema
from kubesandbox.status import Cause, required, wrong
from kubetypes.json_values import JSON


def problems(value: JSON, schema: Schema, path: str = "") -> Iterator[Cause]:
    """What is wrong with the embedded objects in a value that was pruned."""
    if isinstance(value, dict):
        if schema.embedded:
            yield from _object(value, path)
        for key, inner in value.items():
            if (place := schema.properties.get(key)) is not None:
                yield from problems(inner, place, f"{path}.{key}" if path else key)
            elif schema.additional is not None:
                yield from problems(inner, schema.additional, f"{path}[{key}]")
    elif isinstance(value, list) and schema.items is not None:
        for index, inner in enumerate(value):
            yield from problems(inner, schema.items, f"{path}[{index}]")


def matter(schema: Schema) -> bool:
    """Whether a schema has an embedded object anywhere."""
    inner = [*schema.properties.values(), *filter(None, (schema.additional, schema.items))]
    return schema.embedded or any(map(matter, inner))


def _object(value: dict[str, JSON], path: str) -> Iterator[Cause]:
    yield from (required(f"{path}.{key}") for key in ("apiVersion", "kind") if key not in value)
    yield from _type(value, path)
    held = value.get("metadata") or {}
    field = f"{path}.metadata"
    for key in ("name", "generateName"):
        yield from (wrong(f"{field}.{key}", held[key], said) for said in names.path_segment(held.get(key, "")))
    if namespace := held.get("namespace"):
        yield from (wrong(f"{field}.namespace", namespace, said) for said in names.label(namespace))
    yield from metadata.template(held, field)
    for owner in held.get("ownerReferences") or ():
        rules = ((key, said) for key, said in metadata.OWNER_FIELDS if not owner.get(key))
        yield from (wrong(f"{field}.ownerReferences.{key}", "", said) for key, said in rules)
    for name in held.get("finalizers") or ():
        yield from (wrong(f"{field}.finalizers", name, said) for said in names.qualified(name))


def _type(value: dict[str, JSON], path: str) -> Iterator[Cause]:
    """`apiVersion` and `kind`, where they are there."""
    version, kind = value.get("apiVersion"), value.get("kind")
    if version == "":
        yield wrong(f"{path}.apiVersion", version, "must not be empty")
    elif version is not None and version.count("/") > 1:
        yield wrong(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if kind == "":
        yield wrong(f"{path}.kind", kind, "must not be empty")
    elif kind is not None and (said := names.old_label(kind.lower())):
        yield wrong(f"{path}.kind", kind, f"may have mixed case, but should otherwise match: {','.join(said)}")

"""The environment of containers, and references to a Pod's own fields, which volumes have too."""

import re

from kubesandbox import names
from kubesandbox.builtin.validation.common import Causes, Object, given_and_named, named
from kubesandbox.status import required, unsupported, wrong

RESOURCES = ("cpu", "ephemeral-storage", "memory")
SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
SEVERAL = "may not have more than one field specified at a time"
FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
CONVERTED = frozenset({*FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"})
RESOURCE_FIELD = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)")


def variables(given_variables: list[Object], path: str) -> Causes:
    """Variables with a value or a source of it."""
    for at, one in enumerate(given_variables):
        yield from given_and_named(one.get("name"), f"{path}[{at}].name", names.environment)
        if "valueFrom" in one:
            yield from _value_from(one, f"{path}[{at}].valueFrom")


def _value_from(variable: Object, path: str) -> Causes:
    source = variable["valueFrom"]
    if "fieldRef" in source:
        yield from field_ref(source["fieldRef"], f"{path}.fieldRef", FIELDS)
    if "resourceFieldRef" in source:
        yield from resource_field(source["resourceFieldRef"], f"{path}.resourceFieldRef", in_volume=False)
    for key in ("configMapKeyRef", "secretKeyRef"):
        if key in source:
            yield from named(source[key].get("name", ""), f"{path}.{key}.name", names.subdomain)
            yield from given_and_named(source[key].get("key"), f"{path}.{key}.key", names.data_key)
    count = sum(key in source for key in SOURCES)
    if not count:
        yield wrong(path, "", NO_SOURCE)
    elif variable.get("value"):
        yield wrong(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield wrong(path, "", SEVERAL)


def field_ref(reference: Object, path: str, allowed: tuple[str, ...]) -> Causes:
    """A field of the Pod itself, for the environment or a volume."""
    target = reference.get("fieldPath")
    if not reference.get("apiVersion"):
        yield required(f"{path}.apiVersion")
        return
    if not target:
        yield required(f"{path}.fieldPath")
        return
    field, subscripted, key = target.rpartition("['")
    if subscripted and key.endswith("']") and field in ("metadata.annotations", "metadata.labels"):
        key = key.removesuffix("']")
        yield from named(key.lower() if field.endswith("annotations") else key, path, names.qualified)
    elif target not in CONVERTED:
        why = f"error converting fieldPath: field label not supported: {target}"
        yield wrong(f"{path}.fieldPath", target, why)
    elif target not in allowed:
        yield unsupported(f"{path}.fieldPath", target, sorted(allowed))


def resource_field(reference: Object, path: str, in_volume: bool) -> Causes:
    """What a container asks for or is limited to, for the environment or a volume."""
    if in_volume and not reference.get("containerName"):
        yield required(f"{path}.containerName")
        return
    target = reference.get("resource")
    if not target:
        yield required(f"{path}.resource")
    elif not RESOURCE_FIELD.fullmatch(target):
        allowed = [f"{kind}.{name}" for kind in ("limits", "requests") for name in RESOURCES]
        yield unsupported(f"{path}.resource", target, allowed)


def variables_from(sources: list[Object], path: str) -> Causes:
    """All keys of a ConfigMap or a Secret as variables."""
    for at, one in enumerate(sources):
        if one.get("prefix"):
            yield from named(one["prefix"], f"{path}[{at}].prefix", names.environment)
        there = [key for key in ("configMapRef", "secretRef") if key in one]
        for key in there:
            yield from given_and_named(one[key].get("name"), f"{path}[{at}].{key}.name", names.subdomain)
        if not there:
            yield wrong(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(there) > 1:
            yield wrong(path, "", SEVERAL)

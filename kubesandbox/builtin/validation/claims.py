"""PersistentVolumeClaims, their templates, and PersistentVolumes' common fields."""

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    UNCHANGEABLE,
    Causes,
    Object,
    given,
    label_selector,
    named,
    one_of,
)
from kubesandbox.status import forbidden_field, required, unsupported, wrong
from kubetypes.quantities import quantity

MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
POD_MODE = "ReadWriteOncePod"
IMMUTABLE_SPEC = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def claim_spec(spec: Object, path: str) -> Causes:
    """What is wrong with the spec of a claim or of a template for claims."""
    yield from access_modes(spec, path)
    yield from label_selector(spec.get("selector"), f"{path}.selector")
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        yield required(f"{path}.resources[storage]")
    elif quantity(storage) <= 0:
        yield wrong(f"{path}.resources[storage]", storage, "must be greater than zero")
    if spec.get("storageClassName"):
        yield from named(spec["storageClassName"], f"{path}.storageClassName", names.subdomain)
    yield from one_of(spec.get("volumeMode"), f"{path}.volumeMode", ("Block", "Filesystem"), needed=False)
    for key in ("dataSource", "dataSourceRef"):
        if spec.get(key):
            yield from given(spec[key].get("name"), f"{path}.{key}.name")
            yield from given(spec[key].get("kind"), f"{path}.{key}.kind")


def access_modes(spec: Object, path: str, why: str = "at least 1 access mode is required") -> Causes:
    """How many nodes and Pods may use a volume."""
    modes = spec.get("accessModes") or []
    if not modes:
        yield required(f"{path}.accessModes", why)
    for mode in modes:
        if mode not in MODES:
            yield unsupported(f"{path}.accessModes", mode, MODES)
    if POD_MODE in modes and len(modes) > 1:
        yield forbidden_field(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")


def claim(obj: Object, old: Object | None) -> Causes:
    """A claim; bound ones may ask for more storage, nothing else changes."""
    yield from claim_spec(obj.get("spec") or {}, "spec")
    if old:
        yield from _changed(obj.get("spec") or {}, old)


def _changed(spec: Object, old: Object) -> Causes:
    known = dict(old["spec"])
    if not known.get("volumeName") and spec.get("volumeName"):
        known["volumeName"] = spec["volumeName"]
    wanted, had = _storage(spec), _storage(known)
    bound = old.get("status", {}).get("phase") == "Bound"
    if _unchangeable(spec, bound) != _unchangeable(known, bound):
        yield forbidden_field("spec", IMMUTABLE_SPEC)
    if wanted < had:
        yield forbidden_field("spec.resources.requests.storage", "field can not be less than status.capacity")
    if spec.get("volumeMode") != known.get("volumeMode"):
        yield wrong("volumeMode", spec.get("volumeMode"), UNCHANGEABLE)


def _unchangeable(spec: Object, bound: bool) -> Object:
    rest = {key: value for key, value in spec.items() if key != "volumeAttributesClassName"}
    resources = rest.get("resources") or {}
    if bound and resources.get("requests"):
        rest["resources"] = {**resources, "requests": "any"}
    return rest


def _storage(spec: Object) -> float:
    return float(quantity(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0")))

"""Volumes of Pods, the sources that they share with PersistentVolumes, and claims."""

from collections.abc import Iterator

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    UNCHANGEABLE,
    Causes,
    Object,
    given,
    given_and_named,
    label_selector,
    named,
    one_of,
)
from kubesandbox.builtin.validation.templates.containers import VOLUME_FIELDS, field_ref, no_backsteps, resource_field
from kubesandbox.status import duplicate, forbidden_field, required, unsupported, wrong
from kubetypes.quantities import quantity

NEEDED: dict[str, tuple[str, ...]] = {
    "hostPath": ("path",),
    "gitRepo": ("repository",),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "nfs": ("server", "path"),
    "glusterfs": ("endpoints", "path"),
    "persistentVolumeClaim": ("claimName",),
    "flexVolume": ("driver",),
    "cinder": ("volumeID",),
    "cephfs": ("monitors",),
    "rbd": ("monitors", "image"),
    "azureFile": ("secretName", "shareName"),
    "azureDisk": ("diskName", "diskURI"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "scaleIO": ("gateway", "system", "volumeName"),
    "iscsi": ("targetPortal", "iqn"),
    "csi": ("driver",),
    "local": ("path",),
    "secret": ("secretName",),
    "configMap": ("name",),
}
"""Fields that a source must have."""
HIGHEST_LUN = 255
HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
SEVERAL = "may not specify more than 1 volume type"
SHORTEST_TOKEN, LONGEST_TOKEN = 600, 1 << 32


def volumes(given_volumes: list[Object], path: str) -> Causes:
    """What is wrong with a Pod's volumes."""
    seen = set()
    for at, one in enumerate(given_volumes):
        field, name = f"{path}[{at}]", one.get("name")
        yield from _source(one, field)
        yield from given_and_named(name, f"{field}.name", names.label)
        if name and name in seen:
            yield duplicate(f"{field}.name", name)
        seen.add(name)


def usable(given_volumes: list[Object]) -> frozenset[str]:
    """Names of volumes that are right, to which mounts can refer."""
    return frozenset(
        one["name"] for at, one in enumerate(given_volumes) if one.get("name") and not list(volumes([one], f"[{at}]"))
    )


def _source(volume: Object, path: str) -> Causes:
    there = [key for key, value in volume.items() if key != "name" and value is not None]
    for key in there[1:]:
        yield forbidden_field(f"{path}.{key}", SEVERAL)
    if not there:
        yield required(path, "must specify a volume type")
        return
    kind, source = there[0], volume[there[0]]
    field = f"{path}.{kind}"
    yield from source_fields(kind, source, field)
    if kind in ("secret", "configMap"):
        yield from _file_mode(source, field, "defaultMode")
        yield from _items(source, field)
    elif kind == "emptyDir" and "sizeLimit" in source and quantity(source["sizeLimit"]) < 0:
        yield forbidden_field(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")
    elif kind == "downwardAPI":
        yield from _file_mode(source, field, "defaultMode")
        for item in source.get("items") or ():
            yield from _downward(item, field)
    elif kind == "projected":
        yield from _file_mode(source, field, "defaultMode")
        yield from _projected(source, field)
    elif kind == "ephemeral":
        yield from _ephemeral(source, field)
    elif kind == "image":
        yield from given(source.get("reference"), f"{field}.reference")
        allowed = ("Always", "IfNotPresent", "Never")
        yield from one_of(source.get("pullPolicy"), f"{field}.pullPolicy", allowed, needed=False)


def source_fields(kind: str, source: Object, path: str) -> Causes:
    """What every volume or PersistentVolume with this source must say."""
    for key in NEEDED.get(kind, ()):
        yield from given(source.get(key), f"{path}.{key}")
    if kind == "hostPath" and source.get("path"):
        yield from no_backsteps(source["path"], f"{path}.path")
        if source.get("type", "") not in HOST_PATHS:
            yield from one_of(source["type"], f"{path}.type", HOST_PATHS)
    elif kind == "iscsi":
        yield from _iscsi(source, path)
    elif kind == "csi" and source.get("driver"):
        yield from named(source["driver"].lower(), f"{path}.driver", names.subdomain)
    elif kind == "local" and source.get("path"):
        yield from no_backsteps(source["path"], f"{path}.path")
    elif kind == "nfs" and not source.get("path", "").startswith("/"):
        yield wrong(f"{path}.path", source.get("path", ""), "must be an absolute path")


def _iscsi(source: Object, path: str) -> Causes:
    if source.get("iqn") and not source["iqn"].startswith(("iqn", "eui", "naa")):
        yield wrong(f"{path}.iqn", source["iqn"], "must be valid format starting with iqn, eui, or naa")
    if not 0 <= source.get("lun", 0) <= HIGHEST_LUN:
        yield wrong(f"{path}.lun", source["lun"], f"must be between 0 and {HIGHEST_LUN}, inclusive")


def _ephemeral(source: Object, path: str) -> Causes:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield required(f"{path}.volumeClaimTemplate")
    else:
        yield from claim_spec(template.get("spec") or {}, f"{path}.volumeClaimTemplate.spec")


def _file_mode(source: Object, path: str, key: str) -> Causes:
    if not 0 <= source.get(key, 0) <= 0o777:
        yield wrong(f"{path}.{key}", source[key], FILE_MODE)


def _items(source: Object, path: str) -> Causes:
    for at, item in enumerate(source.get("items") or ()):
        field = f"{path}.items[{at}]"
        yield from given(item.get("key"), f"{field}.key")
        yield from given(item.get("path"), f"{field}.path")
        yield from _local(item.get("path", ""), f"{field}.path")
        yield from _file_mode(item, field, "mode")


def _local(value: str, field: str) -> Causes:
    """A relative path that stays inside the volume."""
    if value.startswith("/"):
        yield wrong(field, value, "must be a relative path")
    yield from no_backsteps(value, field)
    if value.startswith("..") and not value.startswith("../"):
        yield wrong(field, value, "must not start with '..'")


def _downward(item: Object, path: str) -> Causes:
    yield from given(item.get("path"), f"{path}.path")
    yield from _local(item.get("path", ""), f"{path}.path")
    if "fieldRef" in item:
        yield from field_ref(item["fieldRef"], f"{path}.fieldRef", VOLUME_FIELDS)
        if "resourceFieldRef" in item:
            yield wrong(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif "resourceFieldRef" in item:
        yield from resource_field(item["resourceFieldRef"], f"{path}.resourceFieldRef", in_volume=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _file_mode(item, path, "mode")


def _projected(source: Object, path: str) -> Causes:
    for item in _repeated_paths(source.get("sources") or []):
        yield wrong(path, item, "conflicting duplicate paths")
    for at, one in enumerate(source.get("sources") or ()):
        field = f"{path}.sources[{at}]"
        for kind in ("secret", "configMap"):
            if kind in one:
                yield from given(one[kind].get("name"), f"{field}.{kind}.name")
                yield from _items(one[kind], f"{field}.{kind}")
        for item in one.get("downwardAPI", {}).get("items") or ():
            yield from _downward(item, f"{field}.downwardAPI")
        if "serviceAccountToken" in one:
            yield from _token(one["serviceAccountToken"], f"{field}.serviceAccountToken", path)
        if len(one) > 1:
            yield forbidden_field(field, "may not specify more than 1 volume type per source")


def _repeated_paths(sources: list[Object]) -> Iterator[str]:
    """What the API tells of files that two sources would write: the path, or the name of the source."""
    told = (
        (item.get("path"), item.get("path") if kind == "downwardAPI" else source.get("name", ""))
        for one in sources
        for kind in ("secret", "configMap", "downwardAPI")
        for source in [one.get(kind) or {}]
        for item in source.get("items") or ()
    )
    seen = set()
    for path, name in told:
        if path in seen:
            yield name
        seen.add(path)


def _token(token: Object, path: str, volume: str) -> Causes:
    seconds = token.get("expirationSeconds", SHORTEST_TOKEN)
    if seconds < SHORTEST_TOKEN:
        yield wrong(f"{path}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > LONGEST_TOKEN:
        yield wrong(f"{path}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    yield from given(token.get("path"), f"{volume}.path")


# ── claims ────────────────────────────────────────────────────────────────────────────────────────────────────────────

# PersistentVolumeClaims, their templates, and PersistentVolumes' common fields.


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

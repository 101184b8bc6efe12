"""What stands behind volumes and addresses: classes, drivers, attachments, networks of Services."""

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    UNCHANGEABLE,
    Causes,
    Object,
    given,
    given_and_named,
    named,
    not_negative,
    one_of,
    unchanged,
)
from kubesandbox.builtin.validation.network import network
from kubesandbox.status import duplicate, required, unsupported, wrong

FS_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLES = ("Persistent", "Ephemeral")


def storage_class(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/storage/storage-classes/"""
    if old:
        for key in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
            if (obj.get(key) or None) != (old.get(key) or None):
                yield wrong(key, obj.get(key), UNCHANGEABLE)
    if not obj.get("provisioner"):
        yield required("provisioner")
    else:
        yield from named(obj["provisioner"].lower(), "provisioner", names.qualified)
    for key in obj.get("parameters") or {}:
        yield from given(key, "parameters", "field can not be empty.")
    yield from one_of(obj.get("reclaimPolicy"), "reclaimPolicy", ("Delete", "Retain"), needed=False)
    yield from _topologies(obj.get("allowedTopologies") or [])
    modes = ("Immediate", "WaitForFirstConsumer")
    yield from one_of(obj.get("volumeBindingMode"), "volumeBindingMode", modes, needed=False)


def volume_attachment(obj: Object, old: Object | None) -> Causes:
    """Its spec never changes."""
    spec = obj.get("spec") or {}
    yield from given_and_named(spec.get("attacher"), "spec.attacher", names.subdomain)
    yield from named(spec.get("nodeName", ""), "spec.nodeName", names.subdomain)
    source = spec.get("source") or {}
    name, field = source.get("persistentVolumeName"), "spec.source.persistentVolumeName"
    if name is None and "inlineVolumeSpec" not in source:
        yield required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
    elif name is not None:
        yield from given(name, field, "must specify non empty persistentVolumeName")
        yield from named(name, field, names.subdomain)
    if old and spec != old["spec"]:
        yield wrong("spec", spec, UNCHANGEABLE)


def csi_driver(obj: Object, old: Object | None) -> Causes:
    """Most of its spec never changes."""
    if old:
        spec, known = obj["spec"], old["spec"]
        if spec.get("attachRequired") != known.get("attachRequired"):
            yield wrong("spec.attachedRequired", spec.get("attachRequired"), UNCHANGEABLE)
        yield from unchanged(spec, known, "spec", "volumeLifecycleModes")
    spec = obj.get("spec") or {}
    if spec.get("fsGroupPolicy") not in FS_POLICIES:
        yield unsupported("spec.fsGroupPolicy", spec.get("fsGroupPolicy", ""), FS_POLICIES)
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in LIFECYCLES:
            yield unsupported("spec.volumeLifecycleModes", mode, LIFECYCLES)
    audiences = [one.get("audience", "") for one in spec.get("tokenRequests") or ()]
    for at, audience in enumerate(audiences):
        if audience in audiences[:at]:
            yield duplicate(f"spec.tokenRequests[{at}].audience", audience)


def csi_node(obj: Object, old: Object | None) -> Causes:
    """The drivers of a node."""
    seen = set()
    for at, driver in enumerate((obj.get("spec") or {}).get("drivers") or ()):
        path, name = f"spec.drivers[{at}]", driver.get("name", "")
        yield from given_and_named(name.lower(), f"{path}.name", names.subdomain)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from given(driver.get("nodeID"), f"{path}.nodeID")
        keys = driver.get("topologyKeys") or []
        for index, key in enumerate(keys):
            yield from given(key, path)
            yield from named(key, path, names.qualified)
            if key in keys[:index]:
                yield duplicate(path, key)
        yield from not_negative(driver.get("allocatable") or {}, f"{path}.allocatable", "count")


def storage_capacity(obj: Object, old: Object | None) -> Causes:
    """How much room a class has somewhere."""
    yield from named(obj.get("storageClassName", ""), "storageClassName", names.subdomain)
    if old:
        yield from unchanged(obj, old, "", "nodeTopology", "storageClassName")


def attributes_class(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/storage/volume-attributes-classes/"""
    if obj.get("driverName"):
        yield from named(obj["driverName"].lower(), "driverName", names.qualified)
    else:
        yield required("driverName")
    yield from given(obj.get("parameters"), "parameters", "must contain at least one key/value pair")
    if old:
        yield from unchanged(obj, old, "", "driverName", "parameters")


def ip_address(obj: Object, old: Object | None) -> Causes:
    """An address and its owner."""
    parent = (obj.get("spec") or {}).get("parentRef")
    if parent is None:
        yield required("spec.parentRef")
    else:
        for key in ("resource", "name"):
            yield from given(parent.get(key), f"spec.parentRef.{key}")


def service_cidr(obj: Object, old: Object | None) -> Causes:
    """Networks from which Services get addresses: one of each family."""
    networks = (obj.get("spec") or {}).get("cidrs") or []
    yield from given(networks, "spec.cidrs", "at least one CIDR required")
    for at, one in enumerate(networks):
        yield from network(one, f"spec.cidrs[{at}]")
    if len({":" in one for one in networks}) < len(networks):
        why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        yield wrong("spec.cidrs", networks, why)


def _topologies(terms: list[Object]) -> Causes:
    told = []
    for at, term in enumerate(terms):
        path = f"allowedTopologies[{at}].matchLabelExpressions"
        expressions = term.get("matchLabelExpressions") or []
        if not expressions:
            yield duplicate(path, "")  # the API's own word for a term that says nothing
        for index, one in enumerate(expressions):
            yield from _expression(one, expressions[:index], f"{path}[{index}]")
        said = {one.get("key", ""): sorted(one.get("values") or ()) for one in expressions}
        if said and said in told:
            yield duplicate(path, "")
        told.append(said)


def _expression(one: Object, before: list[Object], path: str) -> Causes:
    key, values = one.get("key", ""), one.get("values") or []
    yield from given(values, f"{path}.values")
    for place, value in enumerate(values):
        if value in values[:place]:
            yield duplicate(f"{path}.values[{place}]", value)
    yield from named(key, f"{path}.key", names.qualified)
    if key in [other.get("key", "") for other in before]:
        yield duplicate(f"{path}.key", key)


CHECKS = {
    "storageclasses.storage.k8s.io": storage_class,
    "volumeattachments.storage.k8s.io": volume_attachment,
    "csidrivers.storage.k8s.io": csi_driver,
    "csinodes.storage.k8s.io": csi_node,
    "csistoragecapacities.storage.k8s.io": storage_capacity,
    "volumeattributesclasses.storage.k8s.io": attributes_class,
    "ipaddresses.networking.k8s.io": ip_address,
    "servicecidrs.networking.k8s.io": service_cidr,
}

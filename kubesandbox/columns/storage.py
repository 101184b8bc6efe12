"""The columns of volumes, claims and their classes."""

from datetime import datetime

from kubesandbox.columns.parts import NONE, UNSET, Cells, Object, age, annotation, at, name

OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def volume(obj: Object, now: datetime) -> Cells:
    spec, status, claim = at(obj, "spec", {}), at(obj, "status", {}), at(obj, "spec.claimRef")
    return [
        name(obj),
        at(spec, "capacity.storage", "0"),
        _modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        status.get("reason", ""),
        age(obj, now),
        spec.get("volumeMode", UNSET),
    ]


def claim(obj: Object, now: datetime) -> Cells:
    spec, status = at(obj, "spec", {}), at(obj, "status", {})
    bound = spec.get("volumeName", "")
    return [
        name(obj),
        _phase(obj),
        bound,
        at(status, "capacity.storage", "0") if bound else "",
        _modes(status) if bound else "",
        _class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        age(obj, now),
        spec.get("volumeMode", UNSET),
    ]


def _phase(obj: Object) -> str:
    return "Terminating" if at(obj, "metadata.deletionTimestamp") else str(at(obj, "status.phase", ""))


def _modes(found: Object) -> str:
    given = found.get("accessModes") or ()
    return ",".join(short for mode, short in MODES.items() if mode in given)


def _class(obj: Object) -> str:
    old = annotation(obj, OLD_CLASS)
    return str(at(obj, "spec.storageClassName", "") if old is None else old)


def storage_class(obj: Object, now: datetime) -> Cells:
    default = " (default)" if any(annotation(obj, key) == "true" for key in DEFAULT_CLASS) else ""
    policy = [obj.get("reclaimPolicy", "Delete"), obj.get("volumeBindingMode", "Immediate")]
    return [
        name(obj) + default,
        obj.get("provisioner", ""),
        *policy,
        obj.get("allowVolumeExpansion", False),
        age(obj, now),
    ]


def attributes_class(obj: Object, now: datetime) -> Cells:
    return [name(obj), obj.get("driverName", ""), age(obj, now)]


def attachment(obj: Object, now: datetime) -> Cells:
    spec = at(obj, "spec", {})
    where = [at(spec, "source.persistentVolumeName", ""), spec.get("nodeName", "")]
    return [name(obj), spec.get("attacher", ""), *where, at(obj, "status.attached", False), age(obj, now)]


def driver(obj: Object, now: datetime) -> Cells:
    spec = at(obj, "spec", {})
    tokens = spec.get("tokenRequests")
    return [
        name(obj),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        UNSET if tokens is None else ",".join(one["audience"] for one in tokens),
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(obj, now),
    ]


def node_drivers(obj: Object, now: datetime) -> Cells:
    return [name(obj), len(at(obj, "spec.drivers", [])), age(obj, now)]


CELLS = {
    "persistentvolumes": volume,
    "persistentvolumeclaims": claim,
    "storageclasses.storage.k8s.io": storage_class,
    "volumeattributesclasses.storage.k8s.io": attributes_class,
    "volumeattachments.storage.k8s.io": attachment,
    "csidrivers.storage.k8s.io": driver,
    "csinodes.storage.k8s.io": node_drivers,
}

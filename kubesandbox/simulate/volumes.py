"""Claims get a volume at once; the deletion of a claim waits for the Pods that use it and takes its volume along.

https://kubernetes.io/docs/concepts/storage/persistent-volumes/#lifecycle-of-a-volume-and-claim
"""

from kubesandbox.simulate.owned_objects import is_ending
from kubesandbox.simulate.world import Create, Delete, PlannedStep, Tell, Update, World
from kubesandbox.verbs.rules import Object

PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"
BOUND = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
PROVISIONER = "sandbox.hookrunner.io/volumes"


def claim_step(claim: Object, world: World) -> PlannedStep | None:
    """Bind a claim, or let it go."""
    meta = claim["metadata"]
    if is_ending(claim):
        return _let_go(claim, world)
    name = claim["spec"].get("volumeName")
    if not name:
        volume = f"pvc-{meta['uid']}"
        spec = {**claim["spec"], "volumeName": volume}
        annotations = {**(meta.get("annotations") or {}), **BOUND}
        said = f"Successfully provisioned volume {volume}"
        told = Tell(claim, "ProvisioningSucceeded", said)
        bound = Update({**claim, "metadata": {**meta, "annotations": annotations}, "spec": spec})
        create = () if world.one("persistentvolumes", "", volume) else (Create(_volume(claim, volume)),)
        return PlannedStep((*create, bound, told), world.pace.bind, "bind")
    if claim["status"].get("phase") != "Bound":
        wanted = claim["spec"].get("resources", {}).get("requests", {})
        status = {"phase": "Bound", "accessModes": claim["spec"]["accessModes"], "capacity": wanted}
        return PlannedStep((Update({**claim, "status": {**claim["status"], **status}}, "status"),))
    return None


def volume_step(volume: Object, world: World) -> PlannedStep | None:
    """A volume is Bound as long as its claim exists; after that it is deleted if its policy says so."""
    claim = volume["spec"].get("claimRef")
    finalizers = volume["metadata"].get("finalizers") or []
    bound = _is_bound(claim, world) if claim else False
    if is_ending(volume) and VOLUME_PROTECTION in finalizers and not bound:
        return PlannedStep((Update(_without(volume, VOLUME_PROTECTION)),))
    if is_ending(volume):
        return None
    if claim and not bound and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
        return PlannedStep((Delete(volume),))
    phase = "Bound" if bound else "Released" if claim else "Available"
    if volume.get("status", {}).get("phase") != phase:
        return PlannedStep((Update({**volume, "status": {**volume.get("status", {}), "phase": phase}}, "status"),))
    return None


def _is_bound(reference: Object, world: World) -> bool:
    there = world.one("persistentvolumeclaims", reference["namespace"], reference["name"])
    return there is not None and there["metadata"]["uid"] == reference.get("uid", there["metadata"]["uid"])


def _let_go(claim: Object, world: World) -> PlannedStep | None:
    meta = claim["metadata"]
    if PROTECTION not in (meta.get("finalizers") or ()) or _used(claim, world):
        return None
    return PlannedStep((Update(_without(claim, PROTECTION)),))


def _used(claim: Object, world: World) -> bool:
    meta = claim["metadata"]
    pods = [
        pod for pod in world.all("pods", meta["namespace"]) if pod["status"].get("phase") not in ("Succeeded", "Failed")
    ]
    volumes = [volume for pod in pods for volume in pod["spec"].get("volumes") or ()]
    return any(one.get("persistentVolumeClaim", {}).get("claimName") == meta["name"] for one in volumes)


def _without(obj: Object, finalizer: str) -> Object:
    left = [one for one in obj["metadata"]["finalizers"] if one != finalizer]
    return {**obj, "metadata": {**obj["metadata"], "finalizers": left}}


def _volume(claim: Object, name: str) -> Object:
    meta, spec = claim["metadata"], claim["spec"]
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "resourceVersion": meta["resourceVersion"],
    }
    made = {
        "capacity": spec.get("resources", {}).get("requests", {}),
        "accessModes": spec["accessModes"],
        "volumeMode": spec.get("volumeMode", "Filesystem"),
        "persistentVolumeReclaimPolicy": "Delete",
        "claimRef": reference,
        "hostPath": {"path": f"/tmp/{name}"},
        **({"storageClassName": spec["storageClassName"]} if spec.get("storageClassName") else {}),
    }
    annotations = {"pv.kubernetes.io/provisioned-by": PROVISIONER}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": annotations},
        "spec": made,
    }

"""An addon and its objects."""

from pathlib import Path
from typing import Any

from hookrunner.addons.instance_fields import read_instance
from hookrunner.model.addons import Addon, AddonObject, Instance
from kubetypes.json_values import JSON

ADDON = Addon("dns", "dns", Path("/nowhere/dns"), Path("/nowhere"), AddonObject("DNS", "dnses"))


def document(name: str = "x", uid: str = "u-1", *, spec: JSON = None, status: JSON = None, **metadata: Any) -> JSON:
    """An object of its kind as the API server returns it."""
    own = {"name": name, "namespace": "default", "uid": uid, "generation": 1}
    own |= {"creationTimestamp": "2026-07-01T12:00:00Z", "resourceVersion": "1"}
    whole = {"apiVersion": ADDON.object.api_version, "kind": "DNS", "metadata": own | metadata, "spec": spec or {}}
    return whole | ({"status": status} if status is not None else {})


def instance(name: str = "x", uid: str = "u-1", **more: Any) -> Instance:
    """The same as an instance."""
    return read_instance(ADDON, document(name, uid, **more))

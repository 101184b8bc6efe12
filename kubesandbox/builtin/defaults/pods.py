"""Defaults of Pods, their containers and volumes that depend on other fields. Each rule changes the object in place."""

import re
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]

LATEST = "latest"
DOMAIN = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?/)?"
PATH = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
TAGGED = r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?P<digest>@[a-z0-9+._-]+:[0-9a-fA-F]{32,})?"
IMAGE = re.compile(f"{DOMAIN}{PATH}(?:/{PATH})*{TAGGED}")
SOURCELESS = frozenset({"name"})


def _container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image", ""))


def _pull_policy(image: str) -> str:
    """Always where nothing says which version is meant, https://kubernetes.io/docs/concepts/containers/images/."""
    found = IMAGE.fullmatch(image)
    if not found:
        return "IfNotPresent"
    return "Always" if (found["tag"] or ("" if found["digest"] else LATEST)) == LATEST else "IfNotPresent"


def _with_host_ports(container: Object) -> Object:
    if "ports" not in container:
        return container
    return container | {
        "ports": [port | {"hostPort": port.get("hostPort") or port["containerPort"]} for port in container["ports"]]
    }


def _pod(pod: Object) -> None:
    spec = pod["spec"] = dict(pod["spec"])
    spec.setdefault("enableServiceLinks", True)
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            spec[kind] = [one | {"resources": _requested(one.get("resources", {}))} for one in spec[kind]]
            if spec.get("hostNetwork"):
                spec[kind] = [_with_host_ports(one) for one in spec[kind]]
    if spec.get("resources"):
        spec["resources"] = _requested(spec["resources"])


def _requested(resources: Object) -> Object:
    """What is limited and not requested is requested up to the limit."""
    limits = resources.get("limits")
    return resources | {"requests": {**limits, **resources.get("requests", {})}} if limits else resources


def _volume(volume: Object) -> None:
    if not volume.keys() - SOURCELESS:
        volume["emptyDir"] = {}
    elif "image" in volume:
        policy = volume["image"].get("pullPolicy") or _pull_policy(volume["image"].get("reference", ""))
        volume["image"] = volume["image"] | {"pullPolicy": policy}


RULES: dict[str, Callable[[Any], None]] = {
    "core/v1.Pod": _pod,
    "core/v1.Container": _container,
    "core/v1.EphemeralContainer": _container,
    "core/v1.Volume": _volume,
}

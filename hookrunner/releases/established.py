"""Waits until the API server serves what a CustomResourceDefinition defines.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

import asyncio
import base64
import hashlib

from hookrunner.errors import NotFound, ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.model.resources import JSON, Resource
from hookrunner.releases.kinds import resources

DEFINITION = Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False)
_FIRST_LOOK, _LONGEST_LOOK = 0.01, 1.0


async def established(client: Client, crd: JSON, deadline: float) -> None:
    """Return when objects of it can be written. Raises ReleaseFailed after `deadline` seconds with the reason that the
    server gives, such as a name that is taken."""
    name, look = crd["metadata"]["name"], _FIRST_LOOK
    reason = "the server has not said anything about it"
    try:
        async with asyncio.timeout(deadline):
            while reason := trouble(await client.get(DEFINITION.path(name=name))) or await _unserved(client, crd):
                await asyncio.sleep(look)
                look = min(look * 1.5, _LONGEST_LOOK)
    except TimeoutError:
        message = f"{DEFINITION.kind} {name}: the API server does not serve it after {deadline:g} s: {reason}"
        raise ReleaseFailed(message) from None


def trouble(crd: JSON) -> str:
    """Why it is not established; empty if it is."""
    conditions = {one["type"]: one for one in (crd.get("status") or {}).get("conditions") or ()}
    for kind in ("NamesAccepted", "Established"):
        condition = conditions.get(kind, {})
        if condition.get("status") != "True":
            return condition.get("message") or f"it is not {kind} yet"
    return ""


async def _unserved(client: Client, crd: JSON) -> str:
    """A kind that the server does not list yet, or lists as stored in another version than wanted: it takes in a
    definition a moment after it has accepted it."""
    stored = _storage_hash(crd)
    for resource in resources(crd):
        try:
            listed = (await client.get(f"/apis/{resource.api_version}"))["resources"]
        except NotFound:
            listed = []
        hashes = {one["name"]: one.get("storageVersionHash", stored) for one in listed}
        if hashes.get(resource.plural) != stored:
            return f"{resource.api_version} is not in its list of kinds yet"
    return ""


def _storage_hash(crd: JSON) -> str:
    """By which discovery tells the version that objects are stored as (`storageVersionHash` of an APIResource)."""
    spec = crd["spec"]
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    digest = hashlib.sha256(f"{spec['group']}/{storage}/{spec['names']['kind']}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()

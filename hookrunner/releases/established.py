"""Waits until the API server serves what a CustomResourceDefinition defines.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

import asyncio

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
    trouble = "it has no condition yet"
    try:
        async with asyncio.timeout(deadline):
            while trouble := await _trouble(client, name) or await _unserved(client, crd):
                await asyncio.sleep(look)
                look = min(look * 1.5, _LONGEST_LOOK)
    except TimeoutError:
        message = f"{DEFINITION.kind} {name}: the API server does not serve it after {deadline:g} s: {trouble}"
        raise ReleaseFailed(message) from None


async def _trouble(client: Client, name: str) -> str:
    """Why it is not established; empty if it is."""
    status = (await client.get(DEFINITION.path(name=name))).get("status") or {}
    conditions = {condition["type"]: condition for condition in status.get("conditions") or ()}
    for kind in ("NamesAccepted", "Established"):
        condition = conditions.get(kind, {})
        if condition.get("status") != "True":
            return condition.get("message") or f"it is not {kind} yet"
    return ""


async def _unserved(client: Client, crd: JSON) -> str:
    """A kind that the server does not list yet: what is established is served a moment later."""
    for resource in resources(crd):
        try:
            listed = (await client.get(f"/apis/{resource.api_version}"))["resources"]
        except NotFound:
            listed = []
        if resource.plural not in [one["name"] for one in listed]:
            return f"{resource.api_version} is not in its list of kinds yet"
    return ""

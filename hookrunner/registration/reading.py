"""Reads one object that we are registered in, with the right that is there.

Users who come from shell-operator have given `create`, `list` and `update`: it lists the one object by its name. So do
we. Who has `get` instead is asked for the object itself. A list by `metadata.name` is allowed by a rule with
`resourceNames`, too (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources).
"""

from hookrunner.errors import Denied, NotFound
from hookrunner.kube import refusals
from hookrunner.kube.client import Client
from hookrunner.model.resources import JSON, Resource


async def read_live(client: Client, resource: Resource, name: str) -> JSON:
    """The object, None if there is none. Raises KubeError; `Denied` if neither `list` nor `get` is allowed."""
    try:
        listed = await client.get(resource.path(), {"fieldSelector": f"metadata.name={name}"})
    except Denied as error:
        if not refusals.is_forbidden(error):
            raise
        return await _get(client, resource, name, error)
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    return next((head | item for item in listed["items"] or ()), None)


async def _get(client: Client, resource: Resource, name: str, refused: Denied) -> JSON:
    try:
        return await client.get(resource.path(name=name))
    except NotFound:
        return None
    except Denied:
        raise refused from None  # `list` is what users are told to allow

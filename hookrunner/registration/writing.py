"""One look at an object in the cluster and one step towards what it should be.

`create`, `list` and `update` are enough for webhook configurations, `list` and `update` for definitions: these are the
rights that users of shell-operator have given.
"""

from dataclasses import replace

from hookrunner.errors import AlreadyExists, Conflict, Denied, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import FIELD_MANAGER, DeleteOptions, ObjectRef, WriteOptions
from hookrunner.model.resources import JSON
from hookrunner.registration.claims import Claim, unclaimed
from hookrunner.registration.merging import DEFINITION, Registration
from hookrunner.registration.reading import read_live
from hookrunner.registration.steps import Outrun, Right, Step, Write, step
from hookrunner.registration.trust import Trust

_TIMEOUT = 10.0
_VERBS = {"POST": "create", "PUT": "update", "DELETE": "delete"}


async def advanced(
    client: Client, registration: Registration, trust: Trust, claim: Claim
) -> tuple[Step | Outrun, JSON]:
    """Read the object and take the next step: what was done, and the object before it (None without).

    After a write look again. Raises KubeError; a `Denied` says which rights are needed.
    """
    existing = await read(client, registration)
    found = step(registration, existing, trust, claim)
    if isinstance(found, Write):
        try:
            found = await _write(client, registration, found, existing)
        except (Conflict, AlreadyExists, NotFound):
            return Outrun(), existing
    return found, existing


async def read(client: Client, registration: Registration) -> JSON:
    """The object that it is about, None if there is none. Raises KubeError; a `Denied` says which rights are needed."""
    try:
        return await read_live(client, registration.resource, registration.name)
    except Denied as error:
        raise _explained(registration, "list", error) from error


async def _write(client: Client, registration: Registration, write: Write, existing: JSON) -> Step:
    """What was done."""
    try:
        await _send(client, registration, write)
    except Denied as error:
        if write.method == "DELETE" and refusals.is_forbidden(error):
            return await _empty(client, registration, existing)
        raise _explained(registration, _VERBS[write.method], error) from error
    return write


async def _empty(client: Client, registration: Registration, existing: JSON) -> Step:
    """Without a right to delete it, the configuration stays, without any webhook."""
    if not existing.get("webhooks"):
        return Right(False)
    emptied = Write("PUT", existing | {"metadata": unclaimed(existing["metadata"]), "webhooks": []})
    return await _write(client, registration, emptied, existing)


async def _send(client: Client, registration: Registration, write: Write) -> None:
    ref = ObjectRef(registration.resource, name=registration.name)
    options = WriteOptions(FIELD_MANAGER, timeout=_TIMEOUT)
    match write.method:
        case "POST":
            await writes.create(client, replace(ref, name=""), write.body, options)
        case "PUT":
            await writes.replace(client, ref, write.body, options)
        case "DELETE":
            metadata = write.body["metadata"]
            this_one = DeleteOptions(uid=metadata["uid"], version=metadata["resourceVersion"], timeout=_TIMEOUT)
            await writes.delete(client, ref, this_one)


def _explained(registration: Registration, verb: str, error: Denied) -> Denied:
    resource = registration.resource
    verbs = ["list", "update"] if resource == DEFINITION else ["create", "list", "update"]
    return refusals.explain_rights(
        error, f"{verb} {resource.kind} '{registration.name}'", refusals.rbac_rule(resource, verbs)
    )

"""One look at an object in the cluster and one step towards what it should be."""

import orjson

from hookrunner.errors import AlreadyExists, Conflict, Denied, NotFound
from hookrunner.kube.client import Call, Client
from hookrunner.kube.objects import FIELD_MANAGER
from hookrunner.model.resources import JSON
from hookrunner.registration.claims import Claim
from hookrunner.registration.merging import Registration
from hookrunner.registration.steps import Outrun, Step, Write, step
from hookrunner.registration.trust import Trust

_TIMEOUT = 10.0
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "DELETE": "delete"}


async def advanced(
    client: Client, registration: Registration, trust: Trust, claim: Claim
) -> tuple[Step | Outrun, JSON]:
    """Read the object and take the next step: what was done, and the object before it (None without).

    After a write look again. Raises KubeError; a `Denied` says what right is missing.
    """
    existing = await _read(client, registration)
    found = step(registration, existing, trust, claim)
    if isinstance(found, Write):
        try:
            await _write(client, registration, found)
        except (Conflict, AlreadyExists, NotFound):
            return Outrun(), existing
    return found, existing


async def _read(client: Client, registration: Registration) -> JSON:
    """None also if we may not look and want nothing there: most who have no webhooks have no rights for them."""
    try:
        return orjson.loads(await _sent(client, registration, Call("GET", _path(registration))))
    except NotFound:
        return None
    except Denied:
        if registration.digest:
            raise
        return None


async def _write(client: Client, registration: Registration, write: Write) -> None:
    path = registration.resource.path() if write.method == "POST" else _path(registration)
    params = {} if write.method == "DELETE" else {"fieldManager": FIELD_MANAGER}
    await _sent(client, registration, Call(write.method, path, params, write.body, timeout=_TIMEOUT))


async def _sent(client: Client, registration: Registration, call: Call) -> bytes:
    try:
        return await client.send(call)
    except Denied as error:
        if error.status == 401:
            raise
        raise Denied(error.status, error.reason, _missing(registration, _VERBS[call.method], error)) from error


def _missing(registration: Registration, verb: str, error: Denied) -> str:
    resource = registration.resource
    named = "" if verb == "create" else f", resourceNames: [{registration.name}]"
    rule = f"{{apiGroups: [{resource.group}], resources: [{resource.plural}], verbs: [{verb}]{named}}}"
    what = f"{verb} {resource.kind} '{registration.name}'"
    return f"no right to {what}: add {rule} to the ClusterRole of hookrunner's ServiceAccount ({error})"


def _path(registration: Registration) -> str:
    return registration.resource.path(name=registration.name)

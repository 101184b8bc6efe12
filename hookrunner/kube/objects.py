"""Carries out what hooks ask for: create, replace, apply, patch and delete objects (shell-operator.md §7.1, §17.16).

    objects = Objects(client, discovery, jq)
    await objects.carry_out(operation)

One operation at a time, each complete when the server said so. Kinds are resolved as for watches, so plurals and short
names work, and an object without `apiVersion` gets the preferred one. A `subresource` is honoured by every verb.

What a hook read may be old, so a `resourceVersion` or `uid` inside its object is not sent: otherwise an object from a
snapshot could never be written back. Writes that depend on the current state read it and repeat on conflict.
"""

import asyncio
import random
from urllib.parse import quote

import orjson

from hookrunner.errors import AlreadyExists, ApiError, Conflict, Denied, FilterFailed, KubeError, NotFound
from hookrunner.jq.program import Jq
from hookrunner.kube import rights
from hookrunner.kube.client import Call, Client
from hookrunner.kube.discovery import Discovery
from hookrunner.model.operations import ObjectOperation, Verb
from hookrunner.model.resources import JSON, Resource

FIELD_MANAGER = "hookrunner"
_CONFLICT_PAUSES = (0.01, 0.05, 0.25)
_GONE_WITHIN = 20.0
_FIRST_LOOK, _LONGEST_LOOK = 0.05, 1.0
_SERVERS_OWN = frozenset({"resourceVersion", "uid", "managedFields"})
"""Metadata that the server refuses in something new, or takes as a condition."""

_PATCHES = {
    Verb.MERGE_PATCH: "application/merge-patch+json",
    Verb.JSON_PATCH: "application/json-patch+json",
    Verb.APPLY: "application/apply-patch+yaml",
}
_PROPAGATION = {
    Verb.DELETE: "Foreground",
    Verb.DELETE_IN_BACKGROUND: "Background",
    Verb.DELETE_NON_CASCADING: "Orphan",
}


_RIGHTS = {
    Verb.CREATE: ("create",),
    Verb.CREATE_IF_NOT_EXISTS: ("create",),
    Verb.CREATE_OR_UPDATE: ("create", "get", "update"),
    Verb.APPLY: ("create", "patch"),
    Verb.MERGE_PATCH: ("patch",),
    Verb.JSON_PATCH: ("patch",),
    Verb.JQ_PATCH: ("get", "update"),
    Verb.DELETE: ("delete", "get"),
}
"""What each operation may need; the others only delete."""


class Objects:
    """Writes to one cluster. `timeout` in seconds is for each request; deletions are waited for up to 20 s more."""

    def __init__(self, client: Client, discovery: Discovery, jq: Jq, timeout: float = 10.0) -> None:
        self._client = client
        self._discovery = discovery
        self._jq = jq
        self._timeout = timeout

    async def carry_out(self, operation: ObjectOperation) -> None:
        """Do it, or raise KubeError (the server refused, or cannot be reached), BadFilter or FilterFailed (JQPatch)."""
        resource = await self._discovery.resolve(operation.api_version, operation.kind)
        if resource.namespaced and not operation.namespace:
            raise ApiError(400, "BadRequest", f"{resource.kind} lives in a namespace: name one")
        try:
            await self._do(resource, operation)
        except NotFound:
            if not operation.ignore_missing:
                raise
        except Denied as error:
            raise _explained(error, resource, operation) from error

    async def _do(self, resource: Resource, operation: ObjectOperation) -> None:
        match operation.verb:
            case Verb.CREATE | Verb.CREATE_IF_NOT_EXISTS:
                await self._create(resource, operation)
            case Verb.CREATE_OR_UPDATE:
                await self._create_or_update(resource, operation)
            case Verb.JQ_PATCH:
                await self._replace(resource, operation)
            case Verb.APPLY | Verb.MERGE_PATCH | Verb.JSON_PATCH:
                await self._patch(resource, operation)
            case _:
                await self._delete(resource, operation)

    async def _create(self, resource: Resource, operation: ObjectOperation) -> None:
        """POST to the collection, or to the subresource of an object (an eviction, a token)."""
        name = operation.name if operation.subresource else ""
        path = _path(resource, operation, name, operation.subresource)
        try:
            await self._send("POST", path, _body(resource, operation))
        except AlreadyExists:
            if operation.verb is not Verb.CREATE_IF_NOT_EXISTS:
                raise

    async def _create_or_update(self, resource: Resource, operation: ObjectOperation) -> None:
        """Replaces as a whole what exists. A subresource cannot be created, so there it only replaces."""
        if operation.subresource:
            return await self._replace(resource, operation)
        try:
            await self._create(resource, operation)
        except AlreadyExists:
            if not operation.name:
                raise
            await self._replace(resource, operation)

    async def _replace(self, resource: Resource, operation: ObjectOperation) -> None:
        """GET, PUT what is wanted instead, and again if somebody else was faster. No PUT if nothing would change."""
        main = _path(resource, operation, operation.name)
        for pause in (*_CONFLICT_PAUSES, None):
            current = orjson.loads(await self._send("GET", main))
            wanted = await self._wanted(resource, operation, current)
            if _text(wanted) == _text(current):
                return
            try:
                await self._send("PUT", _path(resource, operation, operation.name, operation.subresource), wanted)
                return
            except Conflict:
                if pause is None:
                    raise
                await asyncio.sleep(pause * random.uniform(1, 1.1))

    async def _wanted(self, resource: Resource, operation: ObjectOperation, current: JSON) -> JSON:
        if operation.verb is Verb.JQ_PATCH:
            return await self._filtered(operation, current)
        body = _body(resource, operation)
        body["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
        return body

    async def _filtered(self, operation: ObjectOperation, current: JSON) -> JSON:
        outputs = await self._jq.outputs(await self._jq.compile(operation.jq_filter), current)
        if len(outputs) != 1 or not isinstance(outputs[0], dict):
            found = type(outputs[0]).__name__ if len(outputs) == 1 else f"{len(outputs)} results"
            raise FilterFailed(f"jqFilter of a JQPatch must yield one object, not {found}")
        if "kind" not in outputs[0] or "apiVersion" not in outputs[0]:
            raise FilterFailed("jqFilter of a JQPatch must yield the whole object: kind or apiVersion is missing")
        return outputs[0]

    async def _patch(self, resource: Resource, operation: ObjectOperation) -> None:
        apply = operation.verb is Verb.APPLY
        call = Call(
            "PATCH",
            _path(resource, operation, operation.name, operation.subresource),
            {"fieldManager": FIELD_MANAGER, "force": "true"} if apply else {},
            _body(resource, operation) if apply else operation.body,
            _PATCHES[operation.verb],
            timeout=self._timeout,
        )
        await self._client.send(call)

    async def _delete(self, resource: Resource, operation: ObjectOperation) -> None:
        """What is not there is deleted already. Only `Delete` waits until the object is gone."""
        path = _path(resource, operation, operation.name, operation.subresource)
        try:
            answer = await self._send("DELETE", path, {"propagationPolicy": _PROPAGATION[operation.verb]})
            if operation.verb is Verb.DELETE and not operation.subresource:
                await self._gone(path, _uid(orjson.loads(answer)))
        except NotFound:
            return

    async def _gone(self, path: str, uid: JSON) -> None:
        """Look until it is not there, or another object has its name. Looking needs no right but `get`, which hooks
        that ran under shell-operator have; a watch would need more. Raises NotFound in the usual case."""
        look, blockers = _FIRST_LOOK, ""
        try:
            async with asyncio.timeout(_GONE_WITHIN):
                while (metadata := await self._metadata(path)).get("uid") == uid:
                    blockers = ", ".join(metadata.get("finalizers") or ())
                    await asyncio.sleep(look)
                    look = min(look * 1.5, _LONGEST_LOOK)
        except TimeoutError:
            reason = f"its finalizers have not been removed: {blockers}" if blockers else "nobody removed it"
            raise KubeError(f"still there {_GONE_WITHIN:g} s after its deletion: {reason}") from None

    async def _metadata(self, path: str) -> JSON:
        return orjson.loads(await self._send("GET", path))["metadata"]

    async def _send(self, method: str, path: str, body: JSON = None) -> bytes:
        return await self._client.send(Call(method, path, body=body, timeout=self._timeout))


def _explained(error: Denied, resource: Resource, operation: ObjectOperation) -> Denied:
    verbs, part = _RIGHTS.get(operation.verb, ("delete",)), operation.subresource.strip("/")
    rules = [rights.rule(resource, verbs, part)]
    if part and operation.verb in (Verb.CREATE_OR_UPDATE, Verb.JQ_PATCH):
        rules.append(rights.rule(resource, ("get",)))
    return rights.explained(error, f"{operation.verb.value} {resource.plural}", *rules)


def _path(resource: Resource, operation: ObjectOperation, name: str, subresource: str = "") -> str:
    """Names come from hooks: a question mark in one must not lead elsewhere, nor a slash, which no quoting hides from
    the API server (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names)."""
    for part in (operation.namespace, name):
        if "/" in part or part in (".", ".."):
            raise ApiError(400, "BadRequest", f"{resource.kind}: '{part}' is no name: correct the one in the operation")
    parts = (operation.namespace, name, subresource.strip("/"))
    return resource.path(*(quote(part, safe=":") for part in parts))


def _body(resource: Resource, operation: ObjectOperation) -> JSON:
    """The hook's object as it may be sent. A subresource may have a kind of its own (Eviction, Scale)."""
    metadata = {k: v for k, v in operation.body.get("metadata", {}).items() if k not in _SERVERS_OWN}
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    named = kind | operation.body if operation.subresource else operation.body | kind
    return named | {"metadata": metadata}


def _text(value: JSON) -> bytes:
    """To compare by: to Python `1` and `true` are equal."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _uid(answer: JSON) -> JSON:
    """Of a deleted object: the server answers with the object, or with a `Status` about it."""
    return answer.get("metadata", {}).get("uid") or answer.get("details", {}).get("uid")

"""Carries out what hooks ask for: create, replace, apply, patch and delete objects (docs/hooks.md, Changing objects).

    objects = Objects(client, discovery, jq)
    await objects.carry_out(operation)

One operation at a time, each complete when the server has answered. Kinds are resolved as for watches, so plurals and
short names work, and an object without `apiVersion` gets the preferred one. A `subresource` is honoured by every verb.

What a hook read may be old, so a `resourceVersion` or `uid` inside its object is not sent: otherwise an object from a
snapshot could never be written back. Writes that depend on the current state read it and repeat on conflict.
"""

import asyncio
from dataclasses import replace
from typing import assert_never

from hookrunner.errors import AlreadyExists, ApiError, Conflict, Denied, FilterFailed, KubeError, NotFound
from hookrunner.jq.program import Jq
from hookrunner.kube import refusals, writes
from hookrunner.kube.back_off import jitter
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.writes import FIELD_MANAGER, DeleteOptions, ObjectRef, WriteOptions
from hookrunner.manifests.role_objects import to_line
from hookrunner.model.operations import ObjectOperation, Verb
from hookrunner.model.resources import Resource
from hookrunner.model.rights import Right
from kubetypes import json_values
from kubetypes.json_values import JSON

_CONFLICT_PAUSES = (0.01, 0.05, 0.25)
_GONE_WITHIN = 20.0
_SERVERS_OWN = frozenset({"resourceVersion", "uid", "managedFields"})
"""Metadata that the server refuses in something new, or takes as a condition."""

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
    Verb.DELETE_IN_BACKGROUND: ("delete",),
    Verb.DELETE_NON_CASCADING: ("delete",),
}
"""The verbs that each operation may need."""


class Objects:
    """Writes to one cluster. `timeout` in seconds is for each request; deletions are waited for up to 20 s more."""

    def __init__(self, client: Client, discovery: Discovery, jq: Jq, timeout: float = 10.0) -> None:
        self._client = client
        self._discovery = discovery
        self._jq = jq
        self._timeout = timeout
        self._options = WriteOptions(timeout=timeout)

    async def carry_out(self, operation: ObjectOperation) -> None:
        """Carry out one operation. Raises KubeError, and for a JQPatch BadFilter or FilterFailed."""
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
            case Verb.DELETE | Verb.DELETE_IN_BACKGROUND | Verb.DELETE_NON_CASCADING:
                await self._delete(resource, operation)
            case unknown:
                assert_never(unknown)

    async def _create(self, resource: Resource, operation: ObjectOperation) -> None:
        """POST to the collection, or to the subresource of an object (an eviction, a token)."""
        ref = _ref(resource, operation, operation.name if operation.subresource else "")
        try:
            await writes.create(self._client, ref, _body(resource, operation), self._options)
        except AlreadyExists:
            if operation.verb is not Verb.CREATE_IF_NOT_EXISTS:
                raise

    async def _create_or_update(self, resource: Resource, operation: ObjectOperation) -> None:
        """Create an object or replace it as a whole. A subresource cannot be created, so it is only replaced."""
        if operation.subresource:
            return await self._replace(resource, operation)
        try:
            await self._create(resource, operation)
        except AlreadyExists:
            if not operation.name:
                raise
            await self._replace(resource, operation)

    async def _replace(self, resource: Resource, operation: ObjectOperation) -> None:
        """Read the object and PUT the desired one, again after a conflict. No PUT if nothing would change."""
        ref = _ref(resource, operation, operation.name)
        for pause in (*_CONFLICT_PAUSES, None):
            current = await writes.read(self._client, replace(ref, subresource=""), self._timeout)
            desired = await self._compute_body(resource, operation, current)
            if json_values.equal(desired, current):
                return
            try:
                await writes.replace(self._client, ref, desired, self._options)
                return
            except Conflict:
                if pause is None:
                    raise
                await asyncio.sleep(jitter(pause))

    async def _compute_body(self, resource: Resource, operation: ObjectOperation, current: JSON) -> JSON:
        if operation.verb is Verb.JQ_PATCH:
            return await self._filter(operation, current)
        body = _body(resource, operation)
        body["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
        return body

    async def _filter(self, operation: ObjectOperation, current: JSON) -> JSON:
        outputs = await self._jq.outputs(await self._jq.compile(operation.jq_filter), current)
        if len(outputs) != 1 or not isinstance(outputs[0], dict):
            result = type(outputs[0]).__name__ if len(outputs) == 1 else f"{len(outputs)} results"
            raise FilterFailed(f"jqFilter of a JQPatch must yield one object, not {result}")
        if "kind" not in outputs[0] or "apiVersion" not in outputs[0]:
            raise FilterFailed("jqFilter of a JQPatch must yield the whole object: kind or apiVersion is missing")
        return outputs[0]

    async def _patch(self, resource: Resource, operation: ObjectOperation) -> None:
        ref = _ref(resource, operation, operation.name)
        match operation.verb:
            case Verb.APPLY:
                options = replace(self._options, manager=FIELD_MANAGER, force=True)
                await writes.apply(self._client, ref, _body(resource, operation), options)
            case Verb.MERGE_PATCH:
                await writes.merge_patch(self._client, ref, operation.body, self._options)
            case Verb.JSON_PATCH:
                await writes.json_patch(self._client, ref, operation.body, self._options)

    async def _delete(self, resource: Resource, operation: ObjectOperation) -> None:
        """Delete the object; an absent one is no error, nor is another one than the operation means. Only the verb
        `Delete` waits until the object is gone."""
        ref = _ref(resource, operation, operation.name)
        options = DeleteOptions(_PROPAGATION[operation.verb], operation.uid, operation.version, self._timeout)
        try:
            answer = await writes.delete(self._client, ref, options)
        except NotFound:
            return
        except Conflict:
            if operation.uid and await self._is_another(replace(ref, subresource=""), operation.uid):
                return
            raise
        if operation.verb is Verb.DELETE and not operation.subresource:
            reason = await writes.wait_for_deletion(self._client, ref, _uid(answer.json), _GONE_WITHIN)
            if reason:
                raise KubeError(f"still there {_GONE_WITHIN:g} s after its deletion: {reason}")

    async def _is_another(self, ref: ObjectRef, uid: str) -> bool:
        """Does the object of this name have another uid, or not exist?"""
        try:
            return bool((await writes.read_metadata(self._client, ref))["uid"] != uid)
        except NotFound:
            return True


def rights_of(resource: Resource, operation: ObjectOperation) -> list[Right]:
    """The rights that an operation may need, on any object of its resource."""
    verbs, part = _RIGHTS[operation.verb], operation.subresource.strip("/")
    if operation.uid and "get" not in verbs:
        verbs = (*verbs, "get")
    rights = [Right((resource.group,), (f"{resource.plural}/{part}".removesuffix("/"),), verbs)]
    if part and operation.verb in (Verb.CREATE_OR_UPDATE, Verb.JQ_PATCH):
        rights.append(Right((resource.group,), (resource.plural,), ("get",)))
    return rights


def _explained(error: Denied, resource: Resource, operation: ObjectOperation) -> Denied:
    rules = map(to_line, rights_of(resource, operation))
    return refusals.explain_rights(error, f"{operation.verb.value} {resource.plural}", *rules)


def _ref(resource: Resource, operation: ObjectOperation, name: str) -> ObjectRef:
    """Names come from hooks: a slash in one must not lead elsewhere, and no quoting hides it from the API server
    (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names)."""
    for part in (operation.namespace, name):
        if "/" in part or part in (".", ".."):
            raise ApiError(400, "BadRequest", f"{resource.kind}: '{part}' is no name: correct the one in the operation")
    return ObjectRef(resource, operation.namespace, name, operation.subresource)


def _body(resource: Resource, operation: ObjectOperation) -> JSON:
    """The hook's object as it may be sent. A subresource may have a kind of its own (Eviction, Scale)."""
    metadata = {k: v for k, v in operation.body.get("metadata", {}).items() if k not in _SERVERS_OWN}
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    named = kind | operation.body if operation.subresource else operation.body | kind
    return named | {"metadata": metadata}


def _uid(answer: JSON) -> JSON:
    """The uid of a deleted object: the server answers with the object, or with a `Status` about it."""
    return answer.get("metadata", {}).get("uid") or answer.get("details", {}).get("uid")

"""The requests about objects: create, apply, patch, replace, delete, read, list. No other room builds any.

    pod = ObjectRef(resource, "default", "web-0")
    await writes.apply(client, pod, body, WriteOptions(manager="helm", force=True))
    metadata = await writes.read_metadata(client, pod)
    page = await writes.read_list(client, ObjectRef(resource, "default"), ListOptions(labels="app=web"))
    await writes.delete(client, pod, DeleteOptions(uid=metadata["uid"]))
    reason = await writes.wait_for_deletion(client, pod, metadata["uid"], within=20.0)

Each raises KubeError. Paths are quoted here, whatever characters a name has.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeVar
from urllib.parse import quote

import orjson

from hookrunner.errors import AlreadyExists, Conflict, KubeError, NotFound
from hookrunner.kube.client import JSON_TYPE, METADATA, ApiCall, Client, get_list
from hookrunner.model.resources import Resource
from hookrunner.waits import Pauses
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_T = TypeVar("_T")

FIELD_MANAGER = "hookrunner"
"""Our field manager, except for objects of releases, which are Helm's."""

_LOOKS = Pauses(0.05, 1.0, 1.5)
"""Between looks at an object that is being deleted."""


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One object, or its `subresource`. Without a `name`: all of a resource, in a namespace or in the cluster."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def path(self) -> str:
        """The URL path below the server's root, quoted."""
        parts = (self.namespace, self.name, self.subresource.strip("/"))
        return self.resource.path(*(quote(part, safe=":") for part in parts))


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write: the field manager, whether an apply takes fields from others (None: the server's default), whether
    unknown fields are refused, whether only to try, whether to answer with metadata alone, and seconds to wait."""

    manager: str = ""
    force: bool | None = None
    strict: bool = False
    dry_run: bool = False
    metadata_only: bool = False
    timeout: float = 60.0

    @property
    def params(self) -> dict[str, str]:
        """As parameters of the request."""
        return _without_empty(
            {
                "fieldManager": self.manager,
                "force": "" if self.force is None else str(self.force).lower(),
                "fieldValidation": "Strict" if self.strict else "",
                "dryRun": "All" if self.dry_run else "",
            }
        )


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What becomes of dependents (`Foreground`, `Background`, `Orphan`; empty: the server's default), which object is
    meant, by uid and resourceVersion (empty: any of this name), and seconds to wait."""

    propagation: str = ""
    uid: str = ""
    version: str = ""
    timeout: float = 60.0

    @property
    def body(self) -> JSON:
        """As the body of the request."""
        preconditions = _without_empty({"uid": self.uid, "resourceVersion": self.version})
        options = _without_empty({"propagationPolicy": self.propagation, "preconditions": preconditions})
        return {"kind": "DeleteOptions", "apiVersion": "v1"} | options if options else None


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which objects to list: label and field selectors, only their metadata or all of them, and the page of a list: at
    most `limit` objects (0: all) after the page that gave `page_token`."""

    labels: str = ""
    fields: str = ""
    metadata_only: bool = False
    limit: int = 0
    page_token: str = ""

    @property
    def params(self) -> dict[str, str]:
        """As parameters of the request."""
        return _without_empty(
            {
                "labelSelector": self.labels,
                "fieldSelector": self.fields,
                "limit": str(self.limit or ""),
                "continue": self.page_token,
            }
        )


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """The server's answer. It is parsed only if it is asked for: a subresource may answer with something else."""

    body: bytes

    @property
    def json(self) -> JSON:
        """The answer, parsed. Raises KubeError."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            raise KubeError(f"the answer to a write cannot be read as JSON: {error}") from None


_DEFAULTS, _DELETE_DEFAULTS, _LIST_DEFAULTS = WriteOptions(), DeleteOptions(), ListOptions()


async def _write(
    way: tuple[str, str], client: Client, ref: ObjectRef, body: JSON, options: WriteOptions = _DEFAULTS
) -> WriteAnswer:
    """Send a body. `way` is the method and the content type."""
    method, content_type = way
    accept = METADATA if options.metadata_only else JSON_TYPE
    return WriteAnswer(
        await client.send(ApiCall(method, ref.path, options.params, body, content_type, accept, options.timeout))
    )


create = partial(_write, ("POST", JSON_TYPE))
"""`ref` names no object, except for a subresource (an eviction, a token)."""
replace = partial(_write, ("PUT", JSON_TYPE))
"""Raises Conflict if the body has a resourceVersion that is not the newest."""
apply = partial(_write, ("PATCH", "application/apply-patch+yaml"))
"""Server-side apply. Raises Conflict if others own a field with another value, unless it is forced."""
merge_patch = partial(_write, ("PATCH", "application/merge-patch+json"))
"""A JSON merge patch (RFC 7386)."""
strategic_merge_patch = partial(_write, ("PATCH", "application/strategic-merge-patch+json"))
"""A strategic merge patch, of a built-in kind: elements of lists such as conditions are merged by their keys
(https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/)."""
json_patch = partial(_write, ("PATCH", "application/json-patch+json"))
"""A JSON patch (RFC 6902)."""


async def delete(client: Client, ref: ObjectRef, options: DeleteOptions = _DELETE_DEFAULTS) -> WriteAnswer:
    """Delete an object. Raises NotFound; Conflict if there is another object than the one that is meant.

    The answer is a `Status`, or the object if finalizers or its processes still hold it.
    """
    return await _write(("DELETE", JSON_TYPE), client, ref, options.body, WriteOptions(timeout=options.timeout))


async def read(client: Client, ref: ObjectRef, timeout: float = 60.0) -> JSON:
    """The object. Raises NotFound."""
    return await client.get(ref.path, timeout=timeout)


async def read_metadata(client: Client, ref: ObjectRef) -> JSON:
    """The `metadata` of the object, read alone. Raises NotFound."""
    return (await client.get(ref.path, accept=METADATA))["metadata"]


async def patch_metadata(
    client: Client,
    ref: ObjectRef,
    patch_of: Callable[[JSON], JSON | None],
    options: WriteOptions = _DEFAULTS,
    known: JSON | None = None,
) -> bool:
    """Patch the object with what `patch_of` makes of its metadata; again if another client was quicker. The patch names
    the resourceVersion that it was made for; None is no patch. `known` is the metadata as a watch has shown it, for the
    first attempt. A subresource is patched, but the object is read, for which there is always a right. Was it patched?
    Raises NotFound, and Conflict after five attempts."""
    whole = dataclasses.replace(ref, subresource="")

    async def attempt() -> bool:
        nonlocal known
        patch, known = patch_of(known or await read_metadata(client, whole)), None
        if patch is not None:
            await merge_patch(client, ref, patch, options)
        return patch is not None

    return await retry_on_conflict(attempt)


async def retry_on_conflict(attempt: Callable[[], Awaitable[_T]], attempts: int = 5) -> _T:
    """What `attempt` returns, which reads an object and writes it; again if another client was quicker. Raises what it
    raises, and Conflict or AlreadyExists after so many attempts."""
    for _ in range(attempts - 1):
        with suppress(Conflict, AlreadyExists):
            return await attempt()
    return await attempt()


async def read_list(client: Client, ref: ObjectRef, options: ListOptions = _LIST_DEFAULTS) -> JSON:
    """A list of objects, or a page of one; `ref` names no object."""
    return await get_list(client, ref.path, options.params, metadata_only=options.metadata_only)


async def read_pages(client: Client, ref: ObjectRef, options: ListOptions) -> AsyncGenerator[list[JSON], None]:
    """The objects of a list, `options.limit` at a time; a page is asked for when the one before has been used."""
    while True:
        page = await read_list(client, ref, options)
        yield page["items"]
        options = dataclasses.replace(options, page_token=page["metadata"].get("continue", ""))
        if not options.page_token:
            return


async def wait_for_deletion(client: Client, ref: ObjectRef, uid: str, within: float) -> str:
    """Wait until the object does not exist, or another has its name; why it still exists after `within` seconds, or "".

    Looking needs no right but `get`, which hooks that ran under shell-operator have; a watch would need more.
    """
    blockers = ""
    try:
        async with asyncio.timeout(within):
            for pause in _LOOKS:
                if (metadata := await read_metadata(client, ref)).get("uid") != uid:
                    break
                blockers = ", ".join(metadata.get("finalizers") or ())
                await asyncio.sleep(pause)
    except NotFound:
        return ""
    except TimeoutError:
        return f"its finalizers have not been removed: {blockers}" if blockers else "the server has not removed it"
    return ""


def _without_empty(values: Mapping[str, JSON]) -> dict[str, JSON]:
    return {name: value for name, value in values.items() if value}

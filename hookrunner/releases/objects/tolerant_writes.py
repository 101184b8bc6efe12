"""Writes objects whose template sets fields that the API server does not know. A creation ignores such fields, an apply
refuses them; here both ignore them and report which they were. A field that a patch of an instance has brought in is
refused: the patch would do nothing.

    written = await apply(client, ref, body, options, accept_unpatched(client, body, unpatched))      # .answer, .faults
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from hookrunner.errors import ApiError, KubeError, ReleaseFailed
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.kind_schemas import read_schema
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.releases.objects import apply_refusals
from hookrunner.releases.objects.apply_refusals import TemplateFault
from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.openapi.documents import kind_schema
from kubetypes.openapi.schemas import Schema
from kubetypes.openapi.unknown_fields import fields_beside

_ATTEMPTS = 5
"""The server names faults of different kinds in several steps."""
_INDEX = re.compile(r"\[\d+\]")


Accept = Callable[[Sequence[TemplateFault], ApiError], Awaitable[None]]
"""Called with faults before the object is written without them, and with the refusal that names them; may raise."""


@dataclass(frozen=True, slots=True)
class TolerantWrite:
    """The server's answer, and the faults of the object without which it was written."""

    answer: JSON
    faults: tuple[TemplateFault, ...] = ()


async def create(client: Client, ref: ObjectRef, body: JSON, options: WriteOptions, accept: Accept) -> TolerantWrite:
    """Create the object. Raises KubeError if it has other faults."""
    try:
        return TolerantWrite((await writes.create(client, ref, body, replace(options, strict=True))).json)
    except ApiError as error:
        if not (faults := apply_refusals.faults(error.raw)):
            raise
        await accept(faults, error)
    tolerated = apply_refusals.without_faults(body, faults)
    return TolerantWrite((await writes.create(client, ref, tolerated, options)).json, tuple(faults))


async def apply(client: Client, ref: ObjectRef, body: JSON, options: WriteOptions, accept: Accept) -> TolerantWrite:
    """Apply the object. Raises KubeError if it has other faults."""
    tolerated: list[TemplateFault] = []
    for _ in range(_ATTEMPTS):
        try:
            return TolerantWrite((await writes.apply(client, ref, body, options)).json, tuple(tolerated))
        except ApiError as error:
            if not (faults := apply_refusals.faults(error.raw)):
                raise
            await accept(faults, error)
        tolerated += faults
        body = apply_refusals.without_faults(body, faults)
    return TolerantWrite((await writes.apply(client, ref, body, options)).json, tuple(tolerated))


async def find_faults(client: Client, ref: ObjectRef, body: JSON, options: WriteOptions) -> list[TemplateFault]:
    """The tolerated faults of an object, found by a dry run of an apply; none if that fails for another reason."""
    try:
        trial = replace(options, dry_run=True, force=True)
        return [*(await apply(client, ref, body, trial, accept_all)).faults]
    except KubeError:
        return []


async def accept_all(faults: Sequence[TemplateFault], error: ApiError) -> None:
    """Tolerates all faults."""


def accept_unpatched(client: Client, obj: JSON, unpatched: JSON) -> Accept:
    """Raises ReleaseFailed for a fault that comes from a patch: the object without patches (None: it has none) does not
    have it."""

    async def accept(faults: Sequence[TemplateFault], error: ApiError) -> None:
        ours = faults if unpatched is not None else ()
        if brought := [fault for fault in ours if not fault.key and is_brought_in(fault.path, unpatched)]:
            text = await describe(client, obj, brought)
            raise ReleaseFailed(f"a patch sets what a {obj['kind']} does not have: {text}") from error

    return accept


def is_brought_in(path: str, unpatched: JSON) -> bool:
    """Does a field come from a patch of this object? A patch may shift items of lists, so that a number stands for any
    item."""
    return not apply_refusals.sets(unpatched, _INDEX.sub("[*]", path))


async def describe(client: Client, obj: JSON, faults: Sequence[TemplateFault]) -> str:
    """The faults of an object for a person, unknown fields with the nearest one that exists. What a custom kind has is
    read from the API server: only here, after a refusal."""
    api_version, kind = obj["apiVersion"], obj["kind"]
    unknown = [fault for fault in faults if not fault.key]
    schema = kind_schema(api_version, kind)
    if unknown and not schema:
        schema = await read_schema(client, api_version, kind)
    hints = {fault: _nearest(schema, fault.path) for fault in unknown}
    return ", ".join(f"{fault}{hints.get(fault, '')}" for fault in faults)


def _nearest(schema: Schema | None, path: str) -> str:
    """` (did you mean 'x'?)`, or nothing."""
    hint = suggestion(path.rpartition(".")[2], fields_beside(schema, path)).removeprefix("; ")
    return f" ({hint})" if hint else ""

"""The binding context: the JSON array that a hook reads from `BINDING_CONTEXT_PATH`.

A `Context` waits in a queue without any snapshot in it; `render` fills in the snapshots of the moment in which the
hook starts. Objects and filter results are compact JSON already and are embedded as they are, never parsed.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

import orjson

from hookrunner.model.bindings import Change
from hookrunner.model.json_objects import NO_OBJECTS, JsonObjects
from hookrunner.model.resources import ObjectKey
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_PIECE = 256 * 1024
"""Bytes of objects that are written at a time."""


class ContextType(StrEnum):
    """The `type` of a context. Those of onStartup and of lifecycle bindings (`beforeAll` … `afterDeleteHelm`) show
    none; the latter always have snapshots, if only an empty mapping."""

    STARTUP = "Startup"
    LIFECYCLE = "Lifecycle"
    SCHEDULE = "Schedule"
    SYNCHRONIZATION = "Synchronization"
    EVENT = "Event"
    GROUP = "Group"
    VALIDATING = "Validating"
    MUTATING = "Mutating"
    CONVERSION = "Conversion"


@dataclass(frozen=True, slots=True)
class Entry:
    """One object in a snapshot: complete object and filter result as compact JSON, each None where not kept.

    `mark` is what tells two states apart: the filter result, or the resourceVersion where there is no filter.
    """

    key: ObjectKey
    obj: bytes | None
    filtered: bytes | None
    mark: bytes | str = ""


@dataclass(frozen=True, slots=True)
class Include:
    """A snapshot that a context carries: the name it has there and the binding (place in the config) it comes from."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Context:
    """One event as one element of the array, snapshots still missing.

    `source` is the place of the kubernetes binding that it is about, needed for a Synchronization's `objects`.
    `change`, `key`, `obj` and `filtered` belong to an Event; a Synchronization with a `key` is about this one object.
    `current` means that the object is read when the run starts (`with_objects`). `extra` holds the keys of a review
    (webhooks); the objects of a conversion review, which may be many, are `objects`.
    """

    binding: str
    type: ContextType
    group: str = ""
    source: int | None = None
    change: Change | None = None
    key: ObjectKey | None = None
    obj: bytes | None = None
    filtered: bytes | None = None
    current: bool = False
    includes: tuple[Include, ...] = ()
    extra: JSON = None
    objects: JsonObjects = NO_OBJECTS

    @property
    def has_all_objects(self) -> bool:
        """Is it about all objects of a binding?"""
        return self.type is ContextType.SYNCHRONIZATION and self.key is None


def admission_request(request: JSON) -> JSON:
    """The `request` of an admission review as hooks read it: `object`, `oldObject` and `options` are always there, null
    if the API server has sent none."""
    return request | {key: None for key in ("object", "oldObject", "options") if key not in request}


def admission_review(api_version: str, request: JSON) -> JSON:
    """The `extra` of a Validating or Mutating context. `api_version` is the review's own (`admission.k8s.io/v1`), which
    the predecessor leaves out. A `request` that is text (orjson.Fragment) is as `admission_request` makes it."""
    complete = request if isinstance(request, orjson.Fragment) else admission_request(request)
    return {"review": {"apiVersion": api_version, "kind": "AdmissionReview", "request": complete}}


def conversion_review(api_version: str, head: bytes, rule: tuple[str, str]) -> JSON:
    """The `extra` of a Conversion context: one step by a declared (from, to) rule, both as written. `head` is the
    request without objects, as JSON; `api_version` is the review's own (`apiextensions.k8s.io/v1`). The request stands
    last, because `_element` puts the objects into it."""
    review = {"apiVersion": api_version, "kind": "ConversionReview", "request": orjson.Fragment(head)}
    return {"fromVersion": rule[0], "toVersion": rule[1], "review": review}


Snapshots = Mapping[int, Sequence[Entry]]
"""The entries of each binding that a run needs, by the binding's place in the hook's config."""


def wanted(contexts: Sequence[Context]) -> set[int]:
    """Places of the bindings whose snapshots `render` will ask for."""
    own = {c.source for c in contexts if c.has_all_objects and c.source is not None}
    return own | {include.index for context in contexts for include in context.includes}


def with_objects(contexts: Sequence[Context], find: Callable[[int, ObjectKey], Entry | None]) -> tuple[Context, ...]:
    """The contexts with the objects that they are to have when the run starts; without those whose object no longer
    exists. `find` looks for an object of the binding at a place in the config."""
    return tuple(found for context in contexts if (found := _with_object(context, find)))


def _with_object(context: Context, find: Callable[[int, ObjectKey], Entry | None]) -> Context | None:
    if not context.current or context.source is None or context.key is None:
        return context
    entry = find(context.source, context.key)
    return replace(context, obj=entry.obj, filtered=entry.filtered) if entry else None


def collapsed(contexts: Sequence[Context]) -> tuple[Context, ...]:
    """Drop a grouped context where the next one has the same group: only snapshots matter to a group."""
    followers = itertools.chain(contexts[1:], [None])
    pairs = zip(contexts, followers, strict=False)  # runs that only unlock have no contexts
    return tuple(c for c, after in pairs if not (c.group and after is not None and after.group == c.group))


def render(contexts: Sequence[Context], snapshots: Snapshots) -> Iterator[bytes]:
    """The array as pieces to be written one after another, ending in a newline (v1).

    Pieces instead of one text keep the memory flat: a snapshot may be larger than everything else in the process.
    """
    yield b"["
    for position, context in enumerate(contexts):
        yield b"," if position else b""
        yield from _element(context, snapshots)
    yield b"]\n"


def _element(context: Context, snapshots: Snapshots) -> Iterator[bytes]:
    head = orjson.dumps(_head(context))
    if context.type is ContextType.CONVERSION and context.extra:
        yield from _with_objects(head, context.objects)
    else:
        yield head[:-1]
    if context.type is ContextType.EVENT and (keys := _object_keys(context.obj, context.filtered)):
        yield b"," + keys
    if context.type is ContextType.SYNCHRONIZATION and context.source is not None:
        yield b',"objects":'
        yield from _array(_objects(context, context.source, snapshots))
    if context.includes or context.type is ContextType.LIFECYCLE:
        yield b',"snapshots":{'
        for position, include in enumerate(context.includes):
            yield (b"," if position else b"") + orjson.dumps(include.name) + b":"
            yield from _array(snapshots[include.index])
        yield b"}"
    yield b"}"


def _objects(context: Context, source: int, snapshots: Snapshots) -> Sequence[Entry]:
    return snapshots[source] if context.key is None else [Entry(context.key, context.obj, context.filtered)]


def _with_objects(head: bytes, objects: JsonObjects) -> Iterator[bytes]:
    """A conversion's keys but for the last brace; the head ends with the braces of the request, of the review and its
    own."""
    yield head[:-3] + (b'"objects":[' if head.endswith(b"{}}}") else b',"objects":[')
    yield from objects.pieces(_PIECE)
    yield b"]}}"


def _head(context: Context) -> dict[str, JSON]:
    """The keys before any snapshot."""
    head: dict[str, JSON] = {"binding": context.binding}
    if context.type not in (ContextType.STARTUP, ContextType.LIFECYCLE):
        head["type"] = context.type
    if context.type is ContextType.GROUP:
        head["groupName"] = context.group
    if context.type is ContextType.EVENT:
        head["watchEvent"] = context.change
    return head | (context.extra or {})


def _array(entries: Sequence[Entry]) -> Iterator[bytes]:
    opening = b"["
    for entry in entries:
        yield b"%b{%b}" % (opening, _object_keys(entry.obj, entry.filtered))
        opening = b","
    yield b"[]" if opening == b"[" else b"]"


def _object_keys(obj: bytes | None, filtered: bytes | None) -> bytes:
    """`object` and `filterResult`, each only where it is kept, as they stand between the braces.

    Written by hand, because both are JSON already (10,000 objects: 4 ms of CPU time, through the encoder 5).
    """
    if obj is None:
        return b"" if filtered is None else b'"filterResult":%b' % filtered
    return b'"object":%b' % obj if filtered is None else b'"object":%b,"filterResult":%b' % (obj, filtered)


_V0_EVENTS = {Change.ADDED: "add", Change.MODIFIED: "update", Change.DELETED: "delete"}


def render_v0(contexts: Sequence[Context]) -> Iterator[bytes]:
    """The array for a hook with a v0 configuration."""
    yield orjson.dumps([_v0_element(context) for context in contexts]) + b"\n"


def _v0_element(context: Context) -> dict[str, JSON]:
    element: dict[str, JSON] = {"binding": context.binding}
    if context.change is not None and context.key is not None:
        element["resourceEvent"] = _V0_EVENTS[context.change]
        element["resourceNamespace"] = context.key.namespace
        element["resourceKind"] = context.key.kind
        element["resourceName"] = context.key.name
    return element

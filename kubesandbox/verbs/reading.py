"""Get and list: which objects, as of which revision, page by page.

Bodies are handed on as the compact JSON that is stored; they are parsed only where a selector has to look inside, or a
custom object was stored in another version than is asked for.
https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

import orjson

from kubesandbox import status
from kubesandbox.kinds import EVENTS, Kind
from kubesandbox.query.field_selectors import fields as field_selector
from kubesandbox.query.requests import ListParameters, Place
from kubesandbox.query.selectors import labels as label_selector
from kubesandbox.status import Cause, Refused, bad_request, expired
from kubesandbox.store import Key, Store, Stored
from kubesandbox.structural import versions
from kubesandbox.verbs import events
from kubetypes.light_dataclasses import dataclass

AS_IT_IS_NOW = -1
"""In a token: go on after the last object, in whatever is there now."""
TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)

Matches = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list: bodies in the requested version, the list's revision, its continue token, how many are left."""

    bodies: list[bytes]
    revision: int
    token: str = ""
    remaining: int | None = None


def key(kind: Kind, where: Place) -> Key:
    """Where the object of a path is kept."""
    return Key(kind.kept, where.namespace, where.name)


def found(store: Store, kind: Kind, where: Place) -> Stored:
    """The object of a path. Raises Refused 404."""
    stored = store.get(key(kind, where))
    if stored is None:
        raise status.not_found(kind.resource(where.name))
    return stored


def body(kind: Kind, stored: Stored) -> bytes:
    """An object in the version of `kind`, as compact JSON."""
    return stored.body if _written_so(kind, stored) else orjson.dumps(_as_version(stored, kind))


def obj(kind: Kind, stored: Stored) -> dict[str, Any]:
    """An object in the version of `kind`, the caller's to change."""
    return stored.json() if _written_so(kind, stored) else _as_version(stored, kind)


def _as_version(stored: Stored, kind: Kind) -> dict[str, Any]:
    if kind.webhook is not None and not in_version(kind, stored):
        return _converted(stored, kind)
    convert = versions.as_version if kind.custom else events.as_version
    shown: dict[str, Any] = convert(stored.json(), kind)
    return shown


def _converted(stored: Stored, kind: Kind) -> dict[str, Any]:
    """As a webhook has converted it; `prepare` has to be called before."""
    text = kind.converted.get(stored)
    if text is None:
        said = f'{kind.stored} "{stored.key.name}" is not there in version {kind.version}, and no webhook was asked'
        raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", f"Internal error occurred: {said}")
    shown: dict[str, Any] = orjson.loads(text)
    return shown


def in_version(kind: Kind, stored: Stored) -> bool:
    """Whether an object was written in this version."""
    return stored.body.startswith(orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version})[:-1])


def _written_so(kind: Kind, stored: Stored) -> bool:
    """Whether an object was written in this version, by the schema of today."""
    if not kind.custom and kind.stored not in EVENTS:
        return True
    return stored.revision > kind.since and in_version(kind, stored)


def matcher(kind: Kind, options: ListParameters) -> Matches | None:
    """A check by the selectors; None without selectors. Raises Refused 400."""
    if not options.labels and not options.fields:
        return None
    labels, fields = label_selector(options.labels), field_selector(options.fields, kind)
    return lambda obj: labels.matches(obj["metadata"].get("labels") or {}) and fields.matches(obj)


@dataclass(frozen=True, slots=True)
class ListedObjects:
    """What a list is made of: all that may be in it, as of a revision."""

    at: int
    objects: Sequence[Stored]
    matches: Matches | None
    limit: int

    def needed(self) -> Sequence[Stored]:
        """Those at which the list has to look."""
        return self.objects if self.matches is not None else self.objects[: self.limit or None]


def find(store: Store, kind: Kind, namespace: str, options: ListParameters) -> ListedObjects:
    """What a list is made of. Raises Refused 400, 410, 504."""
    matches = matcher(kind, options)
    at, start = _from(store, options)
    rest = [one for one in store.select(kind.kept, namespace, at) if _after(one.key, start)]
    return ListedObjects(at, rest, matches, options.limit)


def page(kind: Kind, found: ListedObjects) -> Page:
    """One page of a list: the first of the selected objects."""
    matches, at = found.matches, found.at
    chosen = found.objects if matches is None else [one for one in found.objects if matches(obj(kind, one))]
    shown = chosen[: found.limit or None]
    if len(shown) == len(chosen):
        return Page([body(kind, one) for one in shown], at)
    remaining = len(chosen) - len(shown) if matches is None else None
    return Page([body(kind, one) for one in shown], at, _token(at, shown[-1].key), remaining)


def _from(store: Store, options: ListParameters) -> tuple[int, tuple[str, str]]:
    """The revision to list at and the key after which to start."""
    if options.token:
        return _read_token(store, options)
    version = options.version or 0
    check_not_ahead(store, version)
    exact = options.match == "Exact" or (not options.match and options.limit > 0 and version > 0)
    return (version if exact else store.revision), ("", "")


def check_not_ahead(store: Store, version: int) -> None:
    """Refuse a revision that is still to come (504); a real server waits some seconds for it."""
    if version > store.revision:
        message = f"Timeout: Too large resource version: {version}, current: {store.revision}"
        cause = Cause("ResourceVersionTooLarge", "Too large resource version")
        refused = Refused(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", message, causes=[cause])
        refused.retry_after = 1
        raise refused


def _after(key: Key, start: tuple[str, str]) -> bool:
    return (key.namespace, key.name) > start


def _token(revision: int, last: Key) -> str:
    """Names the last object of the page, so that no object is lost or repeated whatever happens to the others."""
    said = {"v": "meta.k8s.io/v1", "rv": revision, "start": f"{last.namespace}/{last.name}\0"}
    return base64.urlsafe_b64encode(orjson.dumps(said)).rstrip(b"=").decode()


def _read_token(store: Store, options: ListParameters) -> tuple[int, tuple[str, str]]:
    if options.version:
        raise bad_request("specifying resource version is not allowed when using continue")
    try:
        said = orjson.loads(base64.urlsafe_b64decode(options.token + "=" * (-len(options.token) % 4)))
        revision, (namespace, _, name) = int(said["rv"]), str(said["start"]).rstrip("\0").partition("/")
    except (binascii.Error, ValueError, TypeError, KeyError):
        raise bad_request("invalid continue token: continue key is not valid") from None
    if revision != AS_IT_IS_NOW and not 0 < revision <= store.revision:
        raise bad_request("invalid continue token: continue key is not valid: incorrect encoded start resourceVersion")
    if revision == AS_IT_IS_NOW:
        return store.revision, (namespace, name)
    if revision < store.compacted:
        refused = expired(TOO_OLD)
        refused.token = _token(AS_IT_IS_NOW, Key("", namespace, name))
        raise refused
    return revision, (namespace, name)

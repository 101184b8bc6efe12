"""JSON patch: operations on paths, as the API server carries them out.

RFC 6902 with what https://github.com/evanphx/json-patch makes of it, which clients rely on: `replace` of a field that
is not there adds it, negative indices count from the end (-1 is the last, for `add` the place behind it), what stands
before a path's first slash is ignored, `copy` of a missing field gives null. An operation that does not apply is
refused with one and the same sentence, whatever is wrong with it. A few copies could make gigabytes of a small object:
all copies of a patch together may have `MOST_COPIED` bytes.

One thing differs: `test` compares values here, the API server their spelling, so that `"\\u0065"` is not `"e"` there.
"""

import re
from http import HTTPStatus

import orjson

from kubetypes.json_values import JSON
from kubetypes.patches.printed import wrong_type
from kubetypes.patches.refusals import PatchRefused, malformed

MOST_OPERATIONS = 10_000
MOST_COPIED = 3 * 1024 * 1024
"""Bytes of JSON, as in a real API server."""
REJECTED = "the server rejected our request due to an error in our request"

_INDEX = re.compile(r"[+-]?[0-9]+", re.ASCII)


def apply(document: JSON, patch: JSON) -> JSON:
    """The document after all operations; it shares nothing with the input.

    Raises `PatchRefused`: 400 for an invalid patch, 413 for too many operations, 422 for one that does not apply.
    """
    patched = PatchedDocument(document)
    for one in _operations(orjson.loads(orjson.dumps(patch))):
        patched.change(one)
    return patched.document


class _Inapplicable(Exception):
    """An operation does not apply; a message only where it says more than the operation itself."""


class PatchedDocument:
    """A copy of a document that operations change, one after the other."""

    def __init__(self, document: JSON) -> None:
        self.document: JSON = orjson.loads(orjson.dumps(document))
        self._copied = 0

    def change(self, operation: dict[str, JSON]) -> None:
        """Carry out one operation, whose value becomes part of the document. Raises `PatchRefused` 422."""
        try:
            self._change(operation)
        except _Inapplicable as error:
            raise PatchRefused(
                HTTPStatus.UNPROCESSABLE_ENTITY, REJECTED, str(error) or _inapplicable(operation)
            ) from None

    def _change(self, operation: dict[str, JSON]) -> None:
        path, value, document = operation.get("path"), operation.get("value"), self.document
        match operation.get("op"):
            case "add":
                _put(*_place(document, path), value)
            case "remove":
                _remove(*_place(document, path))
            case "replace" if path == "":
                self.document = _whole(value)
            case "replace":
                _replace(*_place(document, path), value)
            case "move":
                source = _place(document, operation.get("from"))
                moved = _get(*source)
                _remove(*source)
                _put(*_place(document, path), moved)
            case "copy":
                copied = self._copy(_get(*_place(document, operation.get("from"))))
                _put(*_place(document, path), copied)
            case "test":
                if not _same(document if path == "" else _get(*_place(document, path)), value):
                    raise _Inapplicable
            case _:
                raise _Inapplicable

    def _copy(self, value: JSON) -> JSON:
        try:
            text = orjson.dumps(value)
        except orjson.JSONEncodeError:  # moves have nested it too deep
            raise _Inapplicable from None
        self._copied += len(text)
        if self._copied > MOST_COPIED:
            raise _Inapplicable(
                f"Unable to complete the copy, the accumulated size increase of copy is {self._copied}, exceeding the "
                f"limit {MOST_COPIED}"
            )
        return orjson.loads(text)


def _operations(patch: JSON) -> list[dict[str, JSON]]:
    """The operations of a patch; null is a patch without any, and so is each null in it an operation without a name."""
    if not isinstance(patch, list | None):
        raise _undecodable(patch, "Go value of type []handlers.jsonPatchOp")
    operations = [operation(one) for one in patch or ()]
    if len(operations) > MOST_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(operations)}"
        raise PatchRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"Request entity too large: {message}")
    return operations


def operation(said: JSON) -> dict[str, JSON]:
    """One operation of a patch. Raises `PatchRefused` 400 if it is malformed."""
    if said is None:
        return {}
    if not isinstance(said, dict):
        raise _undecodable(said, "Go value of type handlers.jsonPatchOp", {})
    for key in ("op", "path", "from"):
        if not isinstance(said.get(key, ""), str | None):
            raise _undecodable(said[key], f"Go struct field jsonPatchOp.{key} of type string", said)
    return said


def _place(document: JSON, path: JSON) -> tuple[JSON, str]:
    """The object or list that a path's last part belongs to, and that part."""
    if path is None or "/" not in path:
        raise _Inapplicable
    *above, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    for part in above:
        document = _get(document, part)
        if not isinstance(document, dict | list):
            raise _Inapplicable
    return document, last


def _get(container: JSON, key: str) -> JSON:
    """A value; None for a missing field. Lists refuse an index beyond their end."""
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _put(container: JSON, key: str, value: JSON) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def _replace(container: JSON, key: str, value: JSON) -> None:
    place = key if isinstance(container, dict) else _index(key, len(container))
    container[place] = value


def _remove(container: JSON, key: str) -> None:
    if isinstance(container, dict) and key not in container:
        raise _Inapplicable
    del container[key if isinstance(container, dict) else _index(key, len(container))]


def _index(key: str, size: int) -> int:
    """A place in a list of a size, never negative."""
    if not _INDEX.fullmatch(key) or len(key) > 18 or not -size <= int(key) < size:
        raise _Inapplicable
    return int(key) % size


def _whole(value: JSON) -> JSON:
    if not isinstance(value, dict | list):
        raise _Inapplicable
    return value


def _same(left: JSON, right: JSON) -> bool:
    """Equality of JSON: 1, 1.0 and true are three things."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _undecodable(value: JSON, wanted: str, operation: dict[str, JSON] | None = None) -> PatchRefused:
    detail = "" if operation is None else _inapplicable(operation)
    return malformed(f"error decoding patch: {wrong_type(value, wanted)}", detail)


def _inapplicable(operation: dict[str, JSON]) -> str:
    """Why an operation does not apply, in the words of the library, which only callers of webhooks get to see."""
    name, path = operation.get("op"), operation.get("path")
    if name == "test":
        return f"testing value {path} failed: test failed"
    if name not in ("add", "remove", "replace", "move", "copy"):
        return f"Unexpected kind: {name or 'unknown'}"
    return f'{name} operation does not apply: doc is missing path: "{path}": missing value'

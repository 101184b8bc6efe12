"""What Go's decoding makes of a JSON object of a built-in kind, and what its encoding writes back.

Wrong types are refused, unknown fields are dropped and named, nulls are dropped, special values come in their
one form, empty fields are left out where Go leaves them out and written where Go writes them. Not here: defaults.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kubesandbox.builtin.codec import decoder
from kubesandbox.builtin.primitives import Mismatch, Unknown
from kubesandbox.builtin.types import type_of
from kubesandbox.status import Refused, bad_request
from kubetypes.quantities import BadQuantity


def decoded(
    api_version: str, kind: str, obj: dict[str, Any], strictness: str = "Ignore", duplicates: Sequence[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """The object as Go reads and writes it, new, and what `fieldValidation=Warn` warns of.

    `strictness` is `Ignore`, `Warn` or `Strict`; `duplicates` are paths of fields that the text has twice. Raises
    `Refused` (400) for wrong types and, if strict, for unknown and duplicate fields. A kind without a Go type comes
    back as it is.
    """
    type_ = type_of(api_version, kind)
    if type_ is None:
        return obj, judged(api_version, kind, (), duplicates, strictness)
    unknown: Unknown = []
    try:
        result = decoder(type_)(obj, unknown)
    except (Mismatch, BadQuantity, Refused) as wrong:
        raise cannot_handle(api_version, kind, str(wrong)) from None
    except RecursionError:
        raise cannot_handle(api_version, kind, "json: exceeded max depth") from None
    return result, judged(api_version, kind, unknown, duplicates, strictness)


def judged(
    api_version: str, kind: str, unknown: Sequence[str], duplicates: Sequence[str], strictness: str
) -> list[str]:
    """Warnings of unknown and duplicate fields, by their paths. Raises `Refused` (400) if strict, for any kind."""
    if strictness == "Ignore":
        return []
    inside = tuple(f"{path}{after}" for path in unknown for after in ".[")
    told = [f'duplicate field "{path}"' for path in duplicates if not path.startswith(inside)]
    told += [f'unknown field "{path}"' for path in unknown]
    if told and strictness == "Strict":
        raise cannot_handle(api_version, kind, f"strict decoding error: {', '.join(told)}")
    return told


def cannot_handle(api_version: str, kind: str, why: str) -> Refused:
    """400: the body is no object of the kind."""
    version = api_version.rpartition("/")[2]
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


# ── fields that a text has twice ──────────────────────────────────────────────────────────────────────────────────


class _Pairs(list[tuple[str, Any]]):
    """An object of a JSON text, with the fields that it has twice."""


def duplicates(text: bytes) -> list[str]:
    """Paths of fields that stand twice in an object of a JSON text, in the text's order. It is valid JSON."""
    if not _has_duplicates(text):
        return []
    return list(_twice(json.loads(text, object_pairs_hook=_Pairs), ""))


def _has_duplicates(text: bytes) -> bool:
    found = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > 1 and len({key for key, _ in pairs}) < len(pairs):
            found.append(True)

    json.loads(text, object_pairs_hook=look)
    return bool(found)


def _twice(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs):
        seen = set()
        for key, item in value:
            inside = f"{path}.{key}" if path else key
            if key in seen:
                yield inside
            seen.add(key)
            yield from _twice(item, inside)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _twice(item, f"{path}[{at}]")

"""Fields of a result: each is of its type, left out or null, or it cannot be used.

    zone = text(entry, "zone")

A number where a text belongs is an error, not `"7"`: what a program prints by mistake must not end up in a Node. Raises
`UnusableField`, which is caught where it is known what else is spoiled: one entry of a list, or the call.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import TypeVar

from hookrunner import log, redaction
from hookrunner.cloud.answers import Ingress, NodeAddress
from hookrunner.cloud.provider.wire_answers import unavailable
from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON

_log = log.get(__name__)

T = TypeVar("T")

MOST_ITEMS = 10_000
"""Entries of one list: they are read in one step of the event loop, some microseconds for each."""
MOST_LABELS, MOST_INGRESSES = 256, 256
"""Of one Node and of one Service. More are a mistake of the provider, and each costs a check of its syntax."""
_LOGGED = 3


class UnusableField(Exception):
    """A field is missing, or of another type. The message says which and what to do."""


def text(entry: Mapping[str, JSON], key: str) -> str:
    """A text, "" if it is left out."""
    return _typed(entry, key, str, "a text") or ""


def required_text(entry: Mapping[str, JSON], key: str) -> str:
    """A text that is not empty."""
    if value := text(entry, key):
        return value
    raise UnusableField(f"'{key}' is required")


def flag(entry: Mapping[str, JSON], key: str) -> bool:
    """True or false, false if it is left out."""
    return _typed(entry, key, bool, "true or false") or False


def number(value: JSON, path: str, low: float, high: float) -> float:
    """A number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UnusableField(f"'{path}' must be a number from {low:g} to {high:g}")
    return value


def mapping(entry: Mapping[str, JSON], key: str) -> Mapping[str, JSON]:
    """An object, empty if it is left out."""
    return _typed(entry, key, dict, "an object") or {}


def texts(entry: Mapping[str, JSON], key: str, most: int) -> Mapping[str, str]:
    """An object of so many texts at most."""
    values = mapping(entry, key)
    _require_few(values, key, most)
    for name in values:
        if not isinstance(values[name], str):
            raise UnusableField(f"'{key}': {redaction.key(name)} must be a text; put it in quotes")
    return values


def items(entry: Mapping[str, JSON], key: str, is_required: bool = False, most: int = MOST_ITEMS) -> list[JSON]:
    """A list of so many items at most, empty if it is left out."""
    value = entry.get(key)
    if value is None and not is_required:
        return []
    if not isinstance(value, list):
        hint = suggestion(key, entry) if value is None else ""
        raise UnusableField(f"'{key}' must be a list{', and is missing' if value is None else ''}{hint}")
    _require_few(value, key, most)
    return value


def objects(entry: Mapping[str, JSON], key: str, most: int = MOST_ITEMS) -> Iterator[Mapping[str, JSON]]:
    """The items of a list that may be left out; each is an object."""
    for index, item in enumerate(items(entry, key, most=most)):
        if not isinstance(item, dict):
            raise UnusableField(f"'{key}[{index}]' must be an object, not {redaction.kind(item)}")
        yield item


def addresses(entry: Mapping[str, JSON], key: str) -> tuple[NodeAddress, ...]:
    """Addresses of a Node. Whether they are valid is decided where they are written."""
    return tuple(
        NodeAddress(required_text(item, "type"), required_text(item, "address")) for item in objects(entry, key)
    )


def ingress(status: Mapping[str, JSON]) -> tuple[Ingress, ...]:
    """The addresses of a load balancer. One that is unusable spoils all: without it the list would mean another."""
    return tuple(
        Ingress(text(item, "ip"), text(item, "hostname"), text(item, "ipMode"), tuple(objects(item, "ports")))
        for item in objects(status, "ingress", MOST_INGRESSES)
    )


def whole(read: Callable[[], T], verb: str) -> T:
    """What `read` makes of a result. Raises ProviderError: what cannot be used here spoils the whole answer."""
    try:
        return read()
    except UnusableField as error:
        raise unavailable(f"the result of {verb}: {error}") from None


def usable(entries: Iterable[JSON], read: Callable[[Mapping[str, JSON]], T], what: str) -> Iterator[T]:
    """What `read` makes of each entry; the others are left out and logged, since they spoil only themselves. One record
    for all of them: thousands would hold up the loop, and bury the rest of the log."""
    problems: list[str] = []
    for index, entry in enumerate(entries):
        try:
            if not isinstance(entry, dict):
                raise UnusableField(f"it must be an object, not {redaction.kind(entry)}")
            yield read(entry)
        except UnusableField as error:
            problems.append(f"{what}[{index}]: {error}")
    if problems:
        _log.warn("unusable entries in the provider's answer", number=len(problems), first=problems[:_LOGGED])


def _typed(entry: Mapping[str, JSON], key: str, kind: type[T], expected: str) -> T | None:
    value = entry.get(key)
    if value is not None and not isinstance(value, kind):
        raise UnusableField(f"'{key}' must be {expected}, not {redaction.kind(value)}")
    return value


def _require_few(values: Sized, key: str, most: int) -> None:
    if len(values) > most:
        raise UnusableField(f"'{key}' has {len(values):,} entries, at most {most:,} are read")

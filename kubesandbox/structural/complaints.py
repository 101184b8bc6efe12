"""What is wrong with a custom object, in the words of the API server: one function for each kind of complaint.

Each complaint has the sentence of the schema validator (`spec.size in body should be less than or equal to 5`), by
which repetitions are recognised, and the cause that is made of it.

Source: kube-openapi's messages, as `kubectl create` shows them; the tests compare them with a real API server.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

import orjson

from kubesandbox.status import Cause, shown
from kubetypes.json_values import JSON

LARGEST_EXACT = 2**53 - 1
EPSILON = 1e-9
NOWHERE = "<nil>"
"""What the API server says where a sentence is about no field in particular."""


class Complaint(NamedTuple):
    """One complaint. `path` is None where the server names no field."""

    path: str | None
    reason: str
    message: str
    sentence: str


def causes(found: Iterable[Complaint], prefix: str = "") -> list[Cause]:
    """The complaints as causes, repeated ones once; `prefix` is the path of the checked value in the whole object."""
    once = {one.sentence: one for one in reversed(list(found))}
    return [Cause(one.reason, one.message, _field(one.path, prefix)) for one in reversed(once.values())]


def _field(path: str | None, prefix: str) -> str:
    if path is None or path.lstrip(".") == "":
        return prefix or NOWHERE
    return ".".join(filter(None, (prefix, path.removeprefix("."))))


def wrong_type(path: str, wanted: str, given: str) -> Complaint:
    """A value of another type, or a text that is not of the wanted format."""
    sentence = f"{path} in body must be of type {wanted}: {shown(given)}"
    return Complaint(path, "FieldValueTypeInvalid", f"Invalid value: {shown(given)}: {sentence}", sentence)


def invalid(path: str, value: JSON, rule: str) -> Complaint:
    """A value that breaks a rule: `should be at least 3 chars long`."""
    sentence = f"{path} in body {rule}"
    return Complaint(path, "FieldValueInvalid", f"Invalid value: {value_shown(value)}: {sentence}", sentence)


def remark(sentence: str) -> Complaint:
    """A sentence that names no field."""
    return Complaint(None, "FieldValueInvalid", f'Invalid value: "": {sentence}', sentence)


def factor_not_positive(path: str, factor: float) -> Complaint:
    """A `multipleOf` that is not positive."""
    sentence = f"factor MultipleOf declared for {path} must be positive: {number(factor)}"
    return Complaint(path, "FieldValueInvalid", f"Invalid value: {number(factor)}: {sentence}", sentence)


def missing(path: str) -> Complaint:
    """A required field is missing."""
    return Complaint(path, "FieldValueRequired", "Required value", f"{path} in body is required")


def too_long(path: str, limit: int) -> Complaint:
    """A text with more characters than allowed (the server says bytes)."""
    message = f"Too long: may not be more than {limit} byte{'' if limit == 1 else 's'}"
    return Complaint(path, "FieldValueTooLong", message, f"{path} in body should be at most {limit} chars long")


def too_many(path: str, count: int, limit: int, what: str) -> Complaint:
    """A list with too many `items`, an object with too many `properties`."""
    message = f"Too many: {count}: must have at most {limit} item{'' if limit == 1 else 's'}"
    return Complaint(path, "FieldValueTooMany", message, f"{path} in body should have at most {limit} {what}")


def not_one_of(path: str, value: JSON, allowed: Sequence[JSON]) -> Complaint:
    """A value that is not in the enumeration."""
    texts = [one if isinstance(one, str) else orjson.dumps(one).decode() for one in allowed]
    choices = ", ".join(shown(one) for one in texts)
    message = f"Unsupported value: {value_shown(value)}: supported values: {choices}"
    return Complaint(path, "FieldValueNotSupported", message, f"{path} in body should be one of {texts}")


def value_shown(value: JSON) -> str:
    """A value in a message, numbers as Go prints them."""
    return number(value) if isinstance(value, float) else shown(value)


def number(value: float) -> str:
    """A number as Go's `%v` prints it: `10` for 10.0, `1e+06`."""
    if isinstance(value, int):
        return str(value)
    sign, digits, last = Decimal(repr(value)).normalize().as_tuple()
    exponent = len(digits) + int(last) - 1
    if not value or -4 <= exponent < 6:
        return f"{value:.20g}" if value == int(value) else repr(value)
    fraction = "".join(map(str, digits[1:]))
    return f"{'-' * sign}{digits[0]}{'.' * bool(fraction)}{fraction}e{exponent:+03d}"


def whole(value: float) -> bool:
    """Whether a float counts as an integer, as Go's validator sees it: nearly one, and not too large to be exact."""
    return abs(value) <= LARGEST_EXACT and abs(value - round(value)) <= EPSILON * 2 * abs(value)

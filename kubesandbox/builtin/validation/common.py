"""Rules that many kinds share. Each yields causes for a value at a field's path."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubesandbox import names
from kubesandbox.builtin import metadata
from kubesandbox.status import Cause, forbidden_field, required, unsupported, wrong
from kubetypes.quantities import quantity
from kubetypes.selectors import failed_label, requirements

Object = dict[str, Any]
Causes = Iterator[Cause]

NOT_NEGATIVE = "must be greater than or equal to 0"
UNCHANGEABLE = "field is immutable"
HIGHEST_PORT, HIGHEST_INT32 = 65535, 2**31 - 1
SELECTOR_OPERATORS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}


def named(value: str, field: str, rule: names.Rule) -> Causes:
    """A text that is there must follow a rule for names."""
    return (wrong(field, value, said) for said in rule(value))


def given(value: Any, field: str, why: str = "") -> Causes:
    """Something must be there."""
    if not value:
        yield required(field, why)


def given_and_named(value: str | None, field: str, rule: names.Rule) -> Causes:
    """A text must be there and follow a rule for names."""
    if value:
        yield from named(value, field, rule)
    else:
        yield required(field)


def one_of(value: Any, field: str, allowed: Sequence[str], needed: bool = True) -> Causes:
    """A text must be one of some; missing is an error of its own."""
    if value is None or (needed and value == ""):
        if needed:
            yield required(field)
    elif value not in allowed:
        yield unsupported(field, value, allowed)


def not_negative(obj: Mapping[str, Any], path: str, *keys: str) -> Causes:
    """Numbers below zero are wrong."""
    for key in keys:
        if (obj.get(key) or 0) < 0:
            yield wrong(f"{path}.{key}", obj[key], NOT_NEGATIVE)


def port(value: Any, field: str) -> Causes:
    """A port's number, or its name."""
    if isinstance(value, str):
        yield from named(value, field, names.port_name)
    elif not 1 <= value <= HIGHEST_PORT:
        yield wrong(field, value, f"must be between 1 and {HIGHEST_PORT}, inclusive")


def number_or_percent(value: int | str, field: str) -> Causes:
    """A number, not negative, or a percentage."""
    if isinstance(value, str):
        yield from named(value, field, names.percent)
    elif value < 0:
        yield wrong(field, value, NOT_NEGATIVE)


def percentage(value: int | str) -> int | None:
    """The number of a percentage, None for anything else. Whatever has many digits is far too much."""
    if not isinstance(value, str) or not re.fullmatch("[0-9]+%", value):
        return None
    return int(value[:-1]) if len(value) < 20 else sys.maxsize


def too_many(field: str, count: int, limit: int) -> Cause:
    """A list is longer than it may be."""
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} item{'s' * (limit != 1)}", field)


def not_found(field: str, value: str) -> Cause:
    """A name refers to nothing."""
    return Cause("FieldValueNotFound", f'Not found: "{value}"', field)


def wrong_type(field: str, value: str, why: str) -> Cause:
    """A value has another type than it should."""
    return Cause("FieldValueTypeInvalid", f'Invalid value: "{value}": {why}', field)


def unchanged(obj: Object, old: Object, path: str, *keys: str) -> Causes:
    """Fields that may not change once they are there."""
    for key in keys:
        if obj.get(key) != old.get(key):
            yield wrong(f"{path}.{key}" if path else key, obj.get(key), UNCHANGEABLE)


def label_selector(selector: Object | None, path: str) -> Causes:
    """https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/"""
    for key, value in (selector or {}).get("matchLabels", {}).items():
        yield from metadata.labels({key: value}, f"{path}.matchLabels")
    for at, one in enumerate((selector or {}).get("matchExpressions", ())):
        field = f"{path}.matchExpressions[{at}]"
        takes = SELECTOR_OPERATORS.get(one.get("operator", ""))
        if takes is None:
            yield wrong(f"{field}.operator", one.get("operator", ""), "not a valid selector operator")
        elif takes and not one.get("values"):
            yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif not takes and one.get("values"):
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden_field(f"{field}.values", why)
        yield from named(one.get("key", ""), f"{field}.key", names.qualified)
        for index, value in enumerate(one.get("values") or ()):
            yield from named(value, f"{field}.values[{index}]", names.label_value)


def usable(selector: Object | None) -> bool:
    """Whether a selector is valid; `label_selector` has reported what is wrong with it."""
    return not any(label_selector(selector, ""))


def matches(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """Whether a selector, not an empty one, selects labels."""
    return failed_label(requirements(selector), labels) is None


def empty_selector(selector: Object | None) -> bool:
    """Whether it says nothing."""
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def quantities(values: Mapping[str, str], path: str) -> Causes:
    """Amounts of resources must not be negative."""
    for key, value in values.items():
        if quantity(value) < 0:
            yield wrong(f"{path}[{key}]", value, NOT_NEGATIVE)


def repeated(values: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Positions of values that stood before."""
    seen = set()
    for at, value in enumerate(values):
        if value in seen:
            yield at, value
        seen.add(value)

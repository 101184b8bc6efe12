"""Rules for texts in a schema: length in characters, `pattern`, `format`. Of the first two only the first problem is
reported."""

from collections.abc import Callable
from functools import partial

from kubesandbox.structural.found import Complaint, invalid, too_long, wrong_type
from kubetypes import patterns
from kubetypes.formats import FORMATS
from kubetypes.json_values import JSON

Check = Callable[[JSON, JSON, str, list[Complaint]], int]


def checks(raw: JSON, form: str) -> list[Check]:
    """What can be wrong with a text under a schema. `form` is the format, "" if it is not checked."""
    found: list[Check] = []
    if {"minLength", "maxLength"} & raw.keys() or raw.get("pattern"):
        found.append(_Shape(raw).check)
    if known_format(form):
        found.append(partial(_formatted, form))
    return found


def known_format(form: str) -> bool:
    """Whether a format of texts is checked; dashes in its name do not count."""
    return form.replace("-", "") in FORMATS


class _Shape:
    """Length and pattern."""

    def __init__(self, raw: JSON) -> None:
        self._longest = raw.get("maxLength")
        self._shortest = raw.get("minLength")
        self._said = raw.get("pattern", "")
        self._pattern: patterns.Pattern | None = None
        if self._said:
            try:
                self._pattern = patterns.compiled(self._said)
            except patterns.InvalidInGo as error:
                self._said += f", but pattern is invalid: {error}"

    def check(self, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
        if self._longest is not None and len(value) > self._longest:
            found.append(too_long(path, self._longest))
        elif self._shortest is not None and len(value) < self._shortest:
            found.append(invalid(path, value, f"should be at least {self._shortest} chars long"))
        elif self._said and not (self._pattern and self._pattern.matches(value)):
            found.append(invalid(path, value, f"should match '{self._said}'"))
        return 0


def _formatted(form: str, value: JSON, old: JSON, path: str, found: list[Complaint]) -> int:
    if not FORMATS[form.replace("-", "")](value):
        found.append(wrong_type(path, form, value))
    return 0

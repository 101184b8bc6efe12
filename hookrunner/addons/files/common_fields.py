"""The fields that `spec` has for every kind of addon, once: their types, their patterns, and how they are read.

`addon.yaml` may set defaults of some of them under the same names (docs/addon-yaml.md). The generated definition
repeats the types as OpenAPI (`definition_schemas.py`), so that the API server refuses what is wrong at once; objects
of another definition, and files, are checked here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import get_args

from hookrunner.model.addons import CommonFields, DeletionPolicy, UpdatePolicy
from hookrunner.options import duration
from hookrunner.packages.names import LONGEST_NAME, is_channel, is_version, shown
from hookrunner.shapes import FLAG, TEXT, Many, Problem, Shape, Table, Text, check
from kubetypes.json_values import JSON

SHAPES: Mapping[str, Shape] = {
    "version": TEXT,
    "channel": TEXT,
    "patches": Many(Table({}, open=True), at_least=0),
    "updatePolicy": Text(get_args(UpdatePolicy)),
    "rollbackOnFailure": FLAG,
    "timeout": TEXT,
    "adopt": FLAG,
    "suspend": FLAG,
    "deletionPolicy": Text(get_args(DeletionPolicy)),
}
"""The fields in the order of the documentation."""

WITH_DEFAULT_IN_FILE = ("channel", "updatePolicy", "rollbackOnFailure", "timeout", "adopt")
"""Those of which `addon.yaml` may set the default."""

TIMEOUT = r"([0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h)){1,8}"
LONGEST_TIMEOUT = 63
_SHORTEST_TIMEOUT = 1.0
_TIMEOUT = re.compile(TIMEOUT, re.ASCII)


def field_problems(document: Mapping[str, JSON]) -> Iterator[Problem]:
    """What is wrong with these fields of a `spec`."""
    for name, shape in SHAPES.items():
        if name in document:
            yield from check(document[name], shape, name)
    yield from text_problems(document)


def text_problems(document: Mapping[str, JSON]) -> Iterator[Problem]:
    """What is wrong with texts among these fields, of a `spec` or of `addon.yaml`. An empty text counts as not set, as
    upstream's operators read it. Values of other types are passed over."""
    for name, (is_usable, allowed) in _RULES.items():
        text = document.get(name)
        if isinstance(text, str) and text and not is_usable(text):
            yield Problem(name, f"cannot be {shown(text)}; use {allowed}")


def _is_timeout(text: str) -> bool:
    usable = len(text) <= LONGEST_TIMEOUT and _TIMEOUT.fullmatch(text)
    return bool(usable) and duration(text) >= _SHORTEST_TIMEOUT


_RULES: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "version": (is_version, f"letters, digits and . + _ -, at most {LONGEST_NAME}, without '..'"),
    "channel": (is_channel, f"lowercase letters, digits and -, at most {LONGEST_NAME}"),
    "timeout": (_is_timeout, "a duration of at least 1s, such as 90s or 1h30m"),
}


def parse_fields(document: Mapping[str, JSON], defaults: CommonFields) -> CommonFields:
    """The common fields of a document without problems; those that it does not set have their default."""
    timeout = document.get("timeout")
    return CommonFields(
        version=document.get("version") or defaults.version,
        channel=document.get("channel") or defaults.channel,
        patches=tuple(document.get("patches") or ()),
        update_policy=document.get("updatePolicy", defaults.update_policy),
        rollback_on_failure=document.get("rollbackOnFailure", defaults.rollback_on_failure),
        timeout=duration(timeout) if timeout else defaults.timeout,
        adopt=document.get("adopt", defaults.adopt),
        suspend=document.get("suspend", defaults.suspend),
        deletion_policy=document.get("deletionPolicy", defaults.deletion_policy),
    )

"""The fields that `spec` has for every kind of addon, once: their types, their patterns, and how they are read.

`addon.yaml` may set defaults of some of them under the same names (docs/addon-yaml.md). The generated definition
repeats the types as OpenAPI (`common_fields_schema.py`), so that the API server refuses what is wrong at once; objects
of another definition, and files, are checked here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import get_args

from hookrunner.model.addons import CommonFields, DeletionPolicy, UpdatePolicy
from hookrunner.options import duration
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

LONGEST_NAME = 63
"""Characters of a version and of a channel's name: they become parts of paths and values of labels."""
VERSION = r"[A-Za-z0-9]([A-Za-z0-9+_-]|\.[A-Za-z0-9+_-])*\.?"
"""A package's version: no two points in a row, since it becomes a part of a path."""
CHANNEL = r"[a-z0-9][a-z0-9-]*"
TIMEOUT = r"([0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h)){1,8}"

_PATTERNS = {
    "version": (re.compile(VERSION, re.ASCII), "letters, digits and . + _ -, beginning with a letter or digit"),
    "channel": (re.compile(CHANNEL, re.ASCII), "lowercase letters, digits and -"),
    "timeout": (re.compile(TIMEOUT, re.ASCII), "a duration such as 10m or 1h30m"),
}
_SHORTEST_TIMEOUT = 1.0


def field_problems(document: Mapping[str, JSON]) -> Iterator[Problem]:
    """What is wrong with these fields of a `spec`."""
    for name, shape in SHAPES.items():
        if name in document:
            yield from check(document[name], shape, name)
    yield from text_problems(document)


def text_problems(document: Mapping[str, JSON]) -> Iterator[Problem]:
    """What is wrong with texts among these fields, of a `spec` or of `addon.yaml`. An empty text counts as not set, as
    upstream's operators read it. Values of other types are passed over."""
    for name, (pattern, allowed) in _PATTERNS.items():
        text = document.get(name)
        if not (isinstance(text, str) and text):
            continue
        if len(text) > LONGEST_NAME:
            yield Problem(name, f"is too long: {len(text)} characters, at most {LONGEST_NAME} are allowed")
        elif not pattern.fullmatch(text):
            yield Problem(name, f"cannot be '{text}'; use {allowed}")
        elif name == "timeout" and duration(text) < _SHORTEST_TIMEOUT:
            yield Problem(name, f"cannot be '{text}'; it must be at least 1s")


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

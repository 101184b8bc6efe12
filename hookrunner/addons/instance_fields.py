"""Reads an object of an addon's kind as an instance: splits its `spec` into the fields that every kind has and the
kind's own. The common fields are here, once: their types, their patterns, and how they are read.

`addon.yaml` may set defaults of some of them under the same names (docs/addon-yaml.md). The generated definition
repeats the types as OpenAPI (`files/definition_schemas.py`), so that the API server refuses what is wrong at once. With
a definition of someone else, and in files, anything may stand in them: such an instance has `problems`, and is neither
built nor removed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import get_args

import orjson

from hookrunner import redaction
from hookrunner.addons.written_status import readable
from hookrunner.errors import BadInput
from hookrunner.file_schemas import as_fields
from hookrunner.model.addons import Addon, CommonFields, DeletionPolicy, Instance, UpdatePolicy, unit_name
from hookrunner.options import duration
from hookrunner.packages.names import LONGEST_NAME, is_channel, is_version, shown
from hookrunner.shapes import FLAG, TEXT, Many, Problem, Shape, Table, Text, check
from kubetypes import json_values
from kubetypes.bounds import INSTANCE, TooLarge, in_units
from kubetypes.json_values import JSON

MOST_PATCHES = 100
MOST_PATCH_BYTES = 256 << 10
"""Of all patches together, as JSON. They are read by people who look for what differs, and are worked through once for
each object that they change."""

SHAPES: Mapping[str, Shape] = {
    "version": TEXT,
    "channel": TEXT,
    "patches": Many(Table({}, open=True), at_least=0, at_most=MOST_PATCHES),
    "updatePolicy": Text(get_args(UpdatePolicy)),
    "rollbackOnFailure": FLAG,
    "timeout": TEXT,
    "adopt": FLAG,
    "suspend": FLAG,
    "deletionPolicy": Text(get_args(DeletionPolicy)),
    "protect": FLAG,
    "serviceAccountName": TEXT,
}
"""The fields in the order of the documentation."""

WITH_DEFAULT_IN_FILE = ("channel", "updatePolicy", "rollbackOnFailure", "timeout", "adopt")
"""Those of which `addon.yaml` may set the default."""

MOST_LEVELS = 250
"""How deep an instance may be nested: orjson writes 254 levels, and hooks are given the whole object."""

ACCOUNT = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
"""Of at most `LONGEST_NAME` characters: the API server allows 253, but release records have the account as a label."""

TIMEOUT = r"([0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h)){1,8}"
LONGEST_TIMEOUT = 63
_SHORTEST_TIMEOUT = 1.0
_TIMEOUT = re.compile(TIMEOUT, re.ASCII)
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
"""Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/"""
_FIRST_KEY = re.compile(r"[^.\[]+")


def field_problems(document: Mapping[str, JSON]) -> Iterator[Problem]:
    """What is wrong with these fields of a `spec`."""
    for name, shape in SHAPES.items():
        if name in document:
            yield from check(document[name], shape, name)
    yield from _size_problems(document.get("patches"))
    yield from text_problems(document)


def text_problems(document: Mapping[str, JSON]) -> Iterator[Problem]:
    """What is wrong with texts among these fields, of a `spec` or of `addon.yaml`. An empty text counts as not set, as
    upstream's operators read it. Values of other types are passed over."""
    for name, (is_usable, allowed) in _RULES.items():
        text = document.get(name)
        if isinstance(text, str) and text and not is_usable(text):
            yield Problem(name, f"cannot be {shown(text)}; use {allowed}")


def _spec_problems(spec: Mapping[str, JSON]) -> Iterator[Problem]:
    """Whether a spec is larger than may be looked at. Patches have bounds of their own."""
    try:
        json_values.check(orjson.dumps({name: value for name, value in spec.items() if name != "patches"}), INSTANCE)
    except TooLarge as error:
        yield Problem("", f"has {error}")
    except orjson.JSONEncodeError as error:
        yield Problem("", f"cannot be written as JSON: {error}")


def _size_problems(patches: JSON) -> Iterator[Problem]:
    """The API server bounds the number of patches by the definition, their size only by that of the whole object."""
    try:
        size = len(orjson.dumps(patches))
    except orjson.JSONEncodeError as error:
        yield Problem("patches", f"cannot be written as JSON: {error}")
        return
    if size > MOST_PATCH_BYTES:
        text = f"should have at most {in_units(MOST_PATCH_BYTES)}, and has {size:,} bytes"
        yield Problem("patches", f"{text}; leave some out, or change the package")


def _is_timeout(text: str) -> bool:
    if len(text) > LONGEST_TIMEOUT or not _TIMEOUT.fullmatch(text):
        return False
    try:
        return duration(text) >= _SHORTEST_TIMEOUT
    except ValueError:  # more than 292 years, which the pattern of the kind's schema cannot refuse
        return False


def _is_account(text: str) -> bool:
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


_RULES: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "version": (is_version, f"letters, digits and . + _ -, at most {LONGEST_NAME}, without '..'"),
    "channel": (is_channel, f"lowercase letters, digits and -, at most {LONGEST_NAME}"),
    "serviceAccountName": (_is_account, f"the name of a ServiceAccount of at most {LONGEST_NAME} characters"),
    "timeout": (_is_timeout, "a duration of at least 1s, such as 90s or 1h30m, and at most 292 years"),
}


def parse_fields(document: Mapping[str, JSON], defaults: CommonFields) -> CommonFields:
    """The common fields of a document without problems; those that it does not set have their default."""
    given = {name: value for name, value in document.items() if value != ""}
    if "timeout" in given:
        given["timeout"] = duration(given["timeout"])
    return replace(defaults, **as_fields(given))


def read_instance(addon: Addon, document: JSON) -> Instance:
    """The instance that a complete object is, with the addon's defaults for fields that it does not set. A field that
    cannot be used is listed in `problems` and has its default."""
    metadata = document["metadata"]
    namespace = metadata.get("namespace") or ""
    document, deep = _without_deep_parts(document)
    spec = document.get("spec")
    wrong = list[Problem]()
    if not isinstance(spec, dict | None):
        wrong.append(Problem("", f"must be a map of fields, not {redaction.described(spec)}"))
    wrong += [Problem(name, f"is nested too deep: make it flatter than {MOST_LEVELS} maps and lists") for name in deep]
    fields = spec if isinstance(spec, dict) else {}
    if too_large := list(_spec_problems(fields)):
        wrong, fields = too_large, {}
    common = {name: fields[name] for name in SHAPES if fields.get(name) is not None}
    wrong += [*field_problems(common), *_refused_adoption(addon, common), *_refused_account(addon, common)]
    refused = {_field(problem) for problem in wrong}
    return Instance(
        unit_name(addon.name, namespace if addon.object.namespaced else "", metadata["name"]),
        addon.name,
        document,
        parse_fields({name: value for name, value in common.items() if name not in refused}, addon.defaults),
        {name: value for name, value in fields.items() if name not in SHAPES},
        tuple(f"spec.{problem}" if problem.path else f"spec {problem}" for problem in wrong),
        readable(document.get("status")),
    )


def require_kind(addon: Addon, document: JSON) -> None:
    """Raises BadInput unless this is an object of the addon's kind, in the version that is offered, with a name that
    an object can have: for files, which the API server has not seen."""
    kind = addon.object
    if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
        raise BadInput(f"an instance is an object with metadata, not {redaction.described(document)}")
    if (document.get("apiVersion"), document.get("kind")) != (kind.api_version, kind.kind):
        raise BadInput(
            f"addon '{addon.name}' has instances of {kind.api_version} {kind.kind}; correct apiVersion and kind"
        )
    if not document["metadata"].get("name"):
        raise BadInput(f"an instance of {kind.kind} needs metadata.name")
    for key, pattern in (("name", _NAME), ("namespace", _NAMESPACE)):
        text = document["metadata"].get(key) or "default"
        if not (isinstance(text, str) and pattern.fullmatch(text)):
            given = shown(text) if isinstance(text, str) else redaction.described(text)
            raise BadInput(f"metadata.{key} of a {kind.kind} cannot be {given}; use lowercase letters, digits and -")


def _without_deep_parts(document: JSON) -> tuple[JSON, list[str]]:
    """The object without parts that are nested too deep, and the fields of its spec that are: to compare or to write
    them would fail, and with it what is done for other instances."""
    if not _is_deep(document):
        return document, []
    spec = document.get("spec")
    fields = spec if isinstance(spec, dict) else {}
    deep = [name for name, value in fields.items() if _is_deep({"spec": {name: value}})]
    shallow = {name: value for name, value in fields.items() if name not in deep}
    kept = {name: value for name, value in document.items() if name == "metadata" or not _is_deep({name: value})}
    return kept | {"spec": shallow}, deep


def _is_deep(value: JSON) -> bool:
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        return "ecursion limit" in str(error)
    return False


def _refused_adoption(addon: Addon, common: Mapping[str, JSON]) -> Iterator[Problem]:
    if addon.never_adopts and common.get("adopt") is True:
        yield Problem("adopt", "cannot be true: `adopt: never` in addon.yaml; remove the field")


def _refused_account(addon: Addon, common: Mapping[str, JSON]) -> Iterator[Problem]:
    if common.get("serviceAccountName") and not addon.object.namespaced:
        yield Problem("serviceAccountName", "needs a namespace, and this kind has none; remove the field")


def _field(problem: Problem) -> str:
    """The field that a problem is in: `patches` for `patches[0]`."""
    match = _FIRST_KEY.match(problem.path)
    return match[0] if match else ""

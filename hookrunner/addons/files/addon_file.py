"""Reads `addon.yaml`, in which an addon describes itself (docs/addon-yaml.md).

Unknown keys are logged and are no errors: a newer hookrunner may know them. With a wrong value the addon is not
offered: a guess might create a definition that no one asked for, or install the wrong thing under the right name.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from hookrunner import log, safe_files
from hookrunner.addons.files.addon_file_rules import ADDON_SCHEMA, NEVER, file_problems
from hookrunner.addons.instance_fields import WITH_DEFAULT_IN_FILE, parse_fields
from hookrunner.errors import BadAddon
from hookrunner.file_schemas import as_fields
from hookrunner.model.addons import (
    Addon,
    AddonObject,
    CommonFields,
    NodeLeftovers,
    PatchRule,
    Placeholder,
    RequiredObject,
    Requirements,
)
from hookrunner.model.modules import camel
from hookrunner.modules.traits import parse_requirement
from kubetypes import yaml_values
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

ADDON_FILE = "addon.yaml"

_DEFAULTS = CommonFields(channel=ADDON_SCHEMA.properties["channel"]["default"])
"""For texts that are empty."""
_PLURAL_ENDINGS = (("y", 1, "ies"), ("s", 0, "es"))

_log = log.get(__name__)


def read_addon(directory: Path, root: Path) -> Addon:
    """The addon in a directory of the addons directory `root`. Unknown keys are logged. Raises BadAddon with everything
    that is wrong with the file."""
    path = directory / ADDON_FILE
    try:
        text = safe_files.read(path)
    except FileNotFoundError:
        raise BadAddon(f"{path}: does not exist; an addon needs it, at least with `object: {{kind: NAME}}`") from None
    except OSError as error:
        raise BadAddon(f"{path}: cannot be read: {error.strerror}") from None
    document = parse_document(text, str(path))
    if unknown := tuple(ADDON_SCHEMA.unknown_keys(document)):
        _log.warn("unknown keys in addon.yaml are ignored", path=path, keys="; ".join(unknown))
    return to_addon(document, directory, root)


def parse_document(text: bytes, path: str) -> dict[str, JSON]:
    """The checked content of an `addon.yaml`; `path` is for messages. Raises BadAddon."""
    try:
        written = [value for value in yaml_values.documents(text, yaml_values.YAML_1_2) if value is not None]
    except BadDocument as error:
        raise BadAddon(f"{path}: {error}") from None
    if len(written) > 1:
        raise BadAddon(f"{path}: it has {len(written)} documents; write one")
    document = written[0] if written else {}
    if problems := list(file_problems(document)):
        raise BadAddon(f"{path}: " + "; ".join(map(str, problems)))
    return document if isinstance(document, dict) else {}


def to_addon(document: Mapping[str, JSON], directory: Path, root: Path) -> Addon:
    """The addon of a checked document, with every default filled in."""
    values = ADDON_SCHEMA.with_defaults(document)
    common = {name: values.pop(name) for name in WITH_DEFAULT_IN_FILE}
    fields = {
        "component": directory.name,
        "object": _object(values.pop("object")),
        "leaves_on_nodes": NodeLeftovers(**as_fields(values.pop("leavesOnNodes"))),
        "requires": _requirements(values.pop("requires")),
        "text": tuple(_placeholders(values.pop("text"))),
        "patches": tuple(PatchRule(rule["kind"], tuple(rule["paths"]), rule["name"]) for rule in values.pop("patches")),
        "drift": values.pop("driftDetection"),
        "never_adopts": common["adopt"] == NEVER,
        "defaults": parse_fields(common | {"adopt": common["adopt"] is True}, _DEFAULTS),
    }
    return Addon(directory.name, camel(directory.name), directory, root, **fields | as_fields(values))


def default_plural(kind: str) -> str:
    """The plural of a kind as upstream's generators form it: `s` becomes `ses`, `y` becomes `ies`, else an `s`."""
    word = kind.lower()
    for ending, cut, plural in _PLURAL_ENDINGS:
        if word.endswith(ending):
            return word[: len(word) - cut] + plural
    return f"{word}s"


def _object(values: Mapping[str, JSON]) -> AddonObject:
    fields: dict[str, JSON] = {"plural": default_plural(values["kind"])}
    return AddonObject(**fields | as_fields(values))


def _requirements(values: Mapping[str, JSON]) -> Requirements:
    fields = {
        "kubernetes": values["kubernetes"].strip(),
        "modules": tuple(map(parse_requirement, values["modules"])),
        "objects": tuple(RequiredObject(**as_fields(required)) for required in values["objects"]),
    }
    return Requirements(**as_fields(values) | fields)


def _placeholders(document: Mapping[str, JSON]) -> Iterator[Placeholder]:
    for text, value in document.items():
        if isinstance(value, str):
            yield Placeholder(text, value)
        else:
            yield Placeholder(text, value["value"], int(value.get("indent", 0)))

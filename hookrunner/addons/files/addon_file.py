"""Reads `addon.yaml`, in which an addon describes itself (docs/addon-yaml.md).

Unknown keys are logged and are no errors: a newer hookrunner may know them. With a wrong value the addon is not
offered: a guess might create a definition that no one asked for, or install the wrong thing under the right name.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from hookrunner import log, safe_files
from hookrunner.addons.files.addon_file_rules import FILE, NEVER, file_problems
from hookrunner.addons.instance_fields import parse_fields
from hookrunner.errors import BadAddon
from hookrunner.model.addons import (
    Addon,
    AddonObject,
    CommonFields,
    PatchRule,
    Placeholder,
    RequiredObject,
    Requirements,
)
from hookrunner.model.modules import camel
from hookrunner.modules.traits import parse_requirement
from hookrunner.shapes import unknown_keys
from kubetypes import yaml_values
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

ADDON_FILE = "addon.yaml"

_DEFAULTS = CommonFields(channel="stable")
_PLURAL_ENDINGS = (("y", 1, "ies"), ("s", 0, "es"))

_log = log.get("addons.file")


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
    if unknown := tuple(unknown_keys(document, FILE)):
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
    default = Addon(directory.name, camel(directory.name), directory, root, _object(document["object"]))
    return Addon(
        default.name,
        default.key,
        directory,
        root,
        default.object,
        description=document.get("description", default.description),
        component=document.get("component", default.name),
        source=document.get("source", default.source),
        instances=document.get("instances", default.instances),
        exclusive=document.get("exclusive", default.exclusive),
        requires=_requirements(document.get("requires", {})),
        text=tuple(_placeholders(document.get("text", {}))),
        labels=document.get("labels", default.labels),
        post_render=tuple(document.get("postRender", default.post_render)),
        application=document.get("application", default.application),
        patches=tuple(
            PatchRule(rule["kind"], tuple(rule["paths"]), rule.get("name", "")) for rule in document.get("patches", ())
        ),
        unmatched_patches=document.get("unmatchedPatches", default.unmatched_patches),
        downgrade=document.get("downgrade", default.downgrade),
        drift=document.get("driftDetection", default.drift),
        never_adopts=document.get("adopt") == NEVER,
        defaults=parse_fields({**document, "adopt": document.get("adopt") is True}, _DEFAULTS),
    )


def default_plural(kind: str) -> str:
    """The plural of a kind as upstream's generators form it: `s` becomes `ses`, `y` becomes `ies`, else an `s`."""
    word = kind.lower()
    for ending, cut, plural in _PLURAL_ENDINGS:
        if word.endswith(ending):
            return word[: len(word) - cut] + plural
    return f"{word}s"


def _object(document: Mapping[str, JSON]) -> AddonObject:
    default = AddonObject(document["kind"], default_plural(document["kind"]))
    return AddonObject(
        default.kind,
        document.get("plural", default.plural),
        group=document.get("group", default.group),
        version=document.get("version", default.version),
        scope=document.get("scope", default.scope),
        short_names=tuple(document.get("shortNames", default.short_names)),
        crd=document.get("crd", default.crd),
    )


def _requirements(document: Mapping[str, JSON]) -> Requirements:
    return Requirements(
        kubernetes=document.get("kubernetes", "").strip(),
        kinds=tuple(document.get("kinds", ())),
        modules=tuple(parse_requirement(line) for line in document.get("modules", ())),
        addons=tuple(document.get("addons", ())),
        objects=tuple(
            RequiredObject(entry["apiVersion"], entry["kind"], entry.get("namespace", ""), entry["name"])
            for entry in document.get("objects", ())
        ),
    )


def _placeholders(document: Mapping[str, JSON]) -> Iterator[Placeholder]:
    for text, value in document.items():
        if isinstance(value, str):
            yield Placeholder(text, value)
        else:
            yield Placeholder(text, value["value"], int(value.get("indent", 0)))

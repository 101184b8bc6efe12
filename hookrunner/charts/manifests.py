"""Turns rendered templates into what a release is made of: objects in the order in which Helm installs kinds, Helm
hooks, notes and a manifest.

The texts are read by `manifests/sourced_object.py`. Lists are taken apart. Labels are set on objects and hooks, not on
what lies inside them. Release records keep the manifest as `manifests/yaml_writer.py` writes it.

Lines of a rendered template end with LF or CRLF, as Helm's `indent` assumes; `charts/characters.py` has the reason.
"""

import re
from collections.abc import Iterable, Mapping

from hookrunner.charts import characters
from hookrunner.manifests.object_set import ordered
from hookrunner.manifests.sourced_object import read_objects, split_lists
from hookrunner.manifests.yaml_writer import dump
from hookrunner.model.releases import HelmHook
from hookrunner.model.sourced_objects import SourcedObject
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

WEIGHT, DELETE_POLICY = "helm.sh/hook-weight", "helm.sh/hook-delete-policy"
EVENTS = frozenset(
    f"{when}-{what}" for when in ("pre", "post") for what in ("install", "delete", "upgrade", "rollback")
)

_NOTES = "NOTES.txt"


@dataclass(frozen=True, slots=True)
class Manifests:
    """Everything that the templates rendered. `ignored` names hooks of events that Helm does not know."""

    manifest: str
    objects: tuple[JSON, ...]
    hooks: tuple[HelmHook, ...]
    notes: str
    ignored: tuple[str, ...]


def manifests(texts: Mapping[str, str], chart: str, labels: Mapping[str, str]) -> Manifests:
    """`texts` are rendered templates by their path, `chart` is the chart's name. Raises BadManifest, naming template
    and document, for a document that is not an object."""
    sources = read_templates(object_texts(texts))
    plain = split_lists(source for source in sources if source.hook is None)
    hooks = [source for source in sources if source.hook is not None]
    notes = texts.get(f"{chart}/templates/{_NOTES}", "")
    return assemble([one.labelled(labels) for one in plain], [one.labelled(labels) for one in hooks], notes)


def read_templates(texts: Mapping[str, str]) -> tuple[SourcedObject, ...]:
    """The objects of rendered templates, sorted by path. Raises BadManifest."""
    marked = {path: characters.marked(text) for path, text in texts.items()}
    changed = {path for path, text in marked.items() if text != texts[path]}
    return tuple(
        SourcedObject(source.path, characters.unmarked(source.obj)) if source.path in changed else source
        for source in read_objects(marked)
    )


def object_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """The rendered texts without notes and helper templates."""
    return {path: text for path, text in texts.items() if _has_objects(path.rsplit("/", 1)[-1])}


def assemble(plain: Iterable[SourcedObject], hooks: Iterable[SourcedObject], notes: str = "") -> Manifests:
    """Objects, of which no one is a List, and Helm hooks as a release takes them: in Helm's order of kinds, and within
    a kind in the order in which they came."""
    by_kind = sorted(plain, key=lambda source: source.order)
    found = [(source, _events(source)) for source in sorted(hooks, key=lambda source: source.order)]
    return Manifests(
        manifest="".join(f"---\n# Source: {source.path}\n{dump(source.obj)}" for source in by_kind),
        objects=tuple(source.obj for source in by_kind),
        hooks=tuple(_hook(source, events) for source, events in found if events),
        notes=notes,
        ignored=tuple(f"{source.path}: {_name(source)}" for source, events in found if not events),
    )


def assemble_sorted(plain: Iterable[SourcedObject], hooks: Iterable[SourcedObject], notes: str = "") -> Manifests:
    """The same, for objects in any order and with keys in any order."""
    return assemble(ordered(plain), hooks, notes)


def _has_objects(name: str) -> bool:
    return not name.startswith("_") and not name.endswith(_NOTES)


def _name(source: SourcedObject) -> str:
    return f"{source.kind} {source.name}".rstrip()


def _events(source: SourcedObject) -> tuple[str, ...]:
    """Empty if one of them is unknown: Helm then ignores the hook."""
    events = tuple("test" if word == "test-success" else word for word in _words(source.hook))
    return events if all(event in EVENTS or event == "test" for event in events) else ()


def _hook(source: SourcedObject, events: tuple[str, ...]) -> HelmHook:
    annotations = source.obj["metadata"]["annotations"]
    weight = str(annotations.get(WEIGHT, "0"))
    return HelmHook(
        name=source.name,
        kind=source.kind,
        path=source.path,
        text=dump(source.obj),
        obj=source.obj,
        events=events,
        weight=int(weight) if re.fullmatch(r"[-+]?[0-9]{1,18}", weight) else 0,
        delete_policies=_words(annotations.get(DELETE_POLICY)) or ("before-hook-creation",),
    )


def _words(text: object) -> tuple[str, ...]:
    return tuple(word for part in str(text or "").split(",") if (word := part.strip().lower()))

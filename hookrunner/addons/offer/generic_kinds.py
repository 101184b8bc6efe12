"""What objects of the kind Generic lead to: each makes another kind an addon, with packages and without a directory.
Pure.

    verdicts = decide(generics, GenericWorld(addons, resources, prefixes, namespaces))

Two fields of its spec are upstream's: `objectKind` with group, kind and version, and `channel`, the location of
channels and packages. The author of such an object decides what objects of that kind install, so the location must be
one that the operator of hookrunner allows, by the beginning of its text (--addon-generic-sources). What Kubernetes and
hookrunner need themselves cannot become an addon, nor can Generic: no object makes its own kind.

Source: https://github.com/kubernetes-sigs/cluster-addons (generic-addon)
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from hookrunner.addons.addon_crd import PROTECTED
from hookrunner.addons.addon_values import AddonValues
from hookrunner.addons.files.definition_schemas import columns, status_schema
from hookrunner.addons.gates.gate_world import is_allowed_namespace
from hookrunner.addons.offer.addon_offer import OfferedAddon
from hookrunner.model.addon_status import AddonObstacle, AddonPhase
from hookrunner.model.addons import GENERIC_OBJECT, Addon, AddonObject, Instance, Scope
from hookrunner.model.resources import Resource, is_kubernetes_group
from hookrunner.packages.mirrors import Mirrors
from hookrunner.packages.source_locations import SourceLocation, parse_location
from hookrunner.printable import printable_text
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_NOWHERE = Path("/dev/null/generic")
"""Where the files of such an addon would be: nothing can be there."""
GENERIC = Addon("Generic", "generic", _NOWHERE, _NOWHERE, GENERIC_OBJECT)
"""The kind itself, for those that read, name and report its objects. No directory has such a name."""

_PATTERNS = {
    "group": r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "kind": r"[A-Za-z][A-Za-z0-9]*",
    "version": r"[a-z][a-z0-9]*",
}
_LONGEST = 63
_LONGEST_NAME = 40
"""Of an addon: the names of units keep so much when they are cut."""
_DIGITS = 10
_UNSAFE = re.compile(r"[%\\\x00-\x1f\x7f]|(^|/)\.\.?([/?#]|$)")
"""What may lead out of a location whose beginning is allowed: `..`, also as `%2e%2e`, or with a tab in it, which
readers of URLs leave out, as they do with the end of a line."""


@dataclass(frozen=True, slots=True)
class GenericWorld:
    """What decides besides the objects. `addons` are those of directories; `resources` are the wanted kinds that the
    cluster serves, by apiVersion and kind; `prefixes` are beginnings of locations that are allowed, `namespaces` those
    in which objects are reconciled, all if empty. `plain_http` as in `parse_location`; an allowed location is looked
    for in its mirror."""

    addons: Collection[Addon] = ()
    resources: Mapping[tuple[str, str], Resource] = field(default_factory=dict)
    prefixes: Sequence[str] = ()
    namespaces: Collection[str] = ()
    plain_http: bool = False
    mirrors: Mirrors = field(default_factory=Mirrors)


@dataclass(frozen=True, slots=True)
class GenericVerdict:
    """What an object leads to: an addon, or none. `state` is for its status, `wanted` is the kind that it names,
    as apiVersion and kind; None if that cannot be read."""

    generic: Instance
    state: AddonObstacle
    wanted: tuple[str, str] | None = None
    offered: OfferedAddon | None = None


def decide(generics: Iterable[Instance], world: GenericWorld) -> list[GenericVerdict]:
    """What each object leads to; of two of one kind the older one counts."""
    verdicts = list[GenericVerdict]()
    owners: dict[tuple[str, str], Instance] = {}
    for generic in sorted(generics, key=lambda each: each.age_key):
        verdict = _decide(generic, world, owners)
        if verdict.wanted and verdict.state.phase in (AddonPhase.CURRENT, AddonPhase.PENDING):
            owners[_identity(*verdict.wanted)] = generic
        verdicts.append(verdict)
    return verdicts


def make_definition() -> JSON:
    """The definition of the kind Generic."""
    kind = GENERIC.object
    texts = {name: _text(f"^{pattern}$") for name, pattern in _PATTERNS.items()}
    spec = {
        "type": "object",
        "required": ["objectKind", "channel"],
        "properties": {
            "objectKind": {"type": "object", "required": [*texts], "properties": texts},
            "channel": _text("") | {"maxLength": 2048, "description": "The location of channels and packages."},
        },
    }
    properties = {"spec": spec, "status": status_schema()}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [column for column in columns() if column["name"] in ("Phase", "Age", "Message")],
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "description": "Makes another kind an addon, until this object is deleted.",
                "required": ["spec"],
                "properties": properties,
            }
        },
    }
    names = {"kind": kind.kind, "listKind": f"{kind.kind}List", "plural": kind.plural, "singular": "generic"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {"group": kind.group, "names": names, "scope": kind.scope, "versions": [version]},
    }


def _text(pattern: str) -> dict[str, JSON]:
    return {"type": "string", "maxLength": _LONGEST if pattern else 2048} | ({"pattern": pattern} if pattern else {})


def _decide(generic: Instance, world: GenericWorld, owners: Mapping[tuple[str, str], Instance]) -> GenericVerdict:
    if generic.is_deleting:
        return GenericVerdict(generic, AddonObstacle(AddonPhase.TERMINATING, "Terminating", "it was deleted"))
    if not is_allowed_namespace(generic.namespace, world.namespaces):
        text = f"objects are looked at in {', '.join(sorted(world.namespaces))} only (--addon-namespaces)"
        return GenericVerdict(generic, AddonObstacle(AddonPhase.CONFLICT, "Namespace", text))
    spec = generic.document.get("spec")
    if problems := list(_problems(spec)):
        return GenericVerdict(generic, _refused("; ".join(problems)))
    wanted = spec["objectKind"]
    group, version, kind = wanted["group"], wanted["version"], wanted["kind"]
    identity = f"{group}/{version}", kind
    if why := _why_impossible(group, kind):
        return GenericVerdict(generic, _refused(why))
    if conflict := _conflict(group, kind, world.addons, owners):
        return GenericVerdict(generic, AddonObstacle(AddonPhase.CONFLICT, "Duplicate", conflict), identity)
    try:
        location = _location(spec["channel"], world)
    except ValueError as error:
        return GenericVerdict(generic, _refused(f"spec.channel: {error}"))
    resource = world.resources.get(identity)
    if resource is None:
        text = f"waiting for the kind {kind} ({identity[0]}), which the cluster does not serve; apply its definition"
        return GenericVerdict(generic, AddonObstacle(AddonPhase.PENDING, "Waiting", text), identity)
    text = f"{kind} ({identity[0]}) is an addon, with packages of {kind.lower()} from {location}"
    offered = OfferedAddon(to_addon(resource, version, str(location)), AddonValues(), location)
    return GenericVerdict(generic, AddonObstacle(AddonPhase.CURRENT, "Current", text), identity, offered)


def to_addon(resource: Resource, version: str, source: str) -> Addon:
    """A kind that is served as an addon with defaults alone."""
    group, word = resource.group, resource.kind.lower()
    scope: Scope = "Namespaced" if resource.namespaced else "Cluster"
    kind = AddonObject(resource.kind, resource.plural, group, version, scope, crd="external")
    name = addon_name(group, resource.kind)
    return Addon(name, word, _NOWHERE / name, _NOWHERE, kind, component=word, source=source)


def addon_name(group: str, kind: str) -> str:
    """The name of the addon of a kind, with its group: what one kind has installed must never be taken for that of
    another one. Long names are cut and get a part of their SHA-256."""
    whole = f"{kind.lower()}-{group.replace('.', '-')}"
    if len(whole) <= _LONGEST_NAME:
        return whole
    return f"{whole[: _LONGEST_NAME - _DIGITS - 1].rstrip('-')}-{hashlib.sha256(whole.encode()).hexdigest()[:_DIGITS]}"


def _problems(spec: JSON) -> Iterator[str]:
    """What is wrong with a spec; the definition refuses that at once, unless someone else's is in the cluster."""
    wanted = spec.get("objectKind") if isinstance(spec, dict) else None
    if not isinstance(wanted, dict):
        yield "spec.objectKind is missing; write group, kind and version"
        return
    for name, pattern in _PATTERNS.items():
        text = wanted.get(name)
        if not (isinstance(text, str) and len(text) <= _LONGEST and re.fullmatch(pattern, text)):
            yield f"spec.objectKind.{name} is missing or wrong; write it as `kubectl api-resources` shows it"
    if not isinstance(spec.get("channel"), str) or not spec["channel"]:
        yield "spec.channel is missing; write the location of channels and packages"


def _why_impossible(group: str, kind: str) -> str:
    if _identity(f"{group}/v1", kind) == _identity(GENERIC.object.api_version, GENERIC.object.kind):
        return "spec.objectKind: Generic cannot be an addon itself; name another kind"
    if is_kubernetes_group(group) or group.endswith(PROTECTED) or group in {part[1:] for part in PROTECTED}:
        text = f"spec.objectKind: {kind} ({group}) is a kind of Kubernetes, which hookrunner itself and others need"
        return f"{text}; name a kind of a definition of your own"
    return ""


def _conflict(group: str, kind: str, addons: Iterable[Addon], owners: Mapping[tuple[str, str], Instance]) -> str:
    for addon in addons:
        if (addon.object.group, addon.object.kind.lower()) == (group, kind.lower()):
            return f"{kind} ({group}) is the kind of the addon {addon.name} in {addon.directory}; delete this object"
    if owner := owners.get(_identity(f"{group}/v1", kind)):
        return f"{kind} ({group}) is an addon by Generic {owner.namespace}/{owner.name}, which is older; delete one"
    return ""


def _identity(api_version: str, kind: str) -> tuple[str, str]:
    """What two objects cannot both make an addon: a kind in whichever version."""
    return api_version.rpartition("/")[0], kind.lower()


def _location(text: str, world: GenericWorld) -> SourceLocation:
    """The location that a text means. Raises ValueError if it cannot be read, or is not allowed."""
    if not any(is_below(text, prefix) for prefix in world.prefixes):
        shown = printable_text(text[:200])
        raise ValueError(f"{shown} is not among the locations that --addon-generic-sources allows")
    return parse_location(world.mirrors.moved(text), Path.cwd(), world.plain_http)


def is_below(text: str, prefix: str) -> bool:
    """Is a location the one that is allowed, or below it? By whole parts of a path: `/a` allows `/a/b` and not
    `/ab`. Nothing is below a location with a `?`: `?ref=a/b` is another branch than `?ref=a`."""
    top = prefix.rstrip("/")
    below = () if "?" in top else (f"{top}/", f"{top}?")
    return not _UNSAFE.search(text) and (text.rstrip("/") == top or text.startswith(below))


def _refused(text: str) -> AddonObstacle:
    return AddonObstacle(AddonPhase.RENDER_FAILED, "SpecInvalid", text)

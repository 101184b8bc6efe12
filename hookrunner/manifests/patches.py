"""Patches of an instance: the list `spec.patches` put on the objects of its package, in order (docs/addons.md).

A part of an object (`apiVersion`, `kind`, `metadata.name` and fields) merges: strategically for built-in kinds, as JSON
merge patch (RFC 7386) for others. `{target: {apiVersion, kind, name}, jsonPatch: […]}` is a JSON patch (RFC 6902). A
patch without a namespace fits the one object of this name in any namespace.

Whether a patch that fits no object refuses the whole change is the addon's decision (`unmatchedPatches`), so this is
reported and not raised: before anything is written, and upstream ignores it silently. A patch is written once and meets
new versions of a package, in which names, namespaces and versions of APIs change; so the report names the closest
object that the package has instead.

Patches are written by users, and each may be for the largest object. What is more than a few milliseconds of work is
done in a process of its own, with a deadline (`PATCHING`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

import orjson

from hookrunner import redaction
from hookrunner.errors import BadPatch, RenderFailed
from hookrunner.manifests.large_texts import json_size
from hookrunner.model.sourced_objects import SourcedObject, VersionlessId
from hookrunner.process.pure_calls import CallLost, SizeBounds
from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.openapi import builtin_kinds
from kubetypes.openapi.documents import SchemaDefinitions, kind_schema
from kubetypes.openapi.schemas import REFERENCE, Schema
from kubetypes.patches import json_patch, merge_patch, strategic
from kubetypes.patches.refusals import PatchRefused

_MOST_DEPTH = 100
"""Levels of an object; JSON patches can nest it deeper with each step."""
_MOST_NAMES = 5
_MOST_COMPARED = 500
"""Names of objects that are compared with one that is not there; a comparison takes some 20 µs."""
_MOST_SHOWN = 300
"""Characters of a target."""


def _failure(size: int, lost: CallLost) -> Exception:
    if lost.is_expensive:
        advice = "combine those of one object, or leave some out"
        return BadPatch("MergeFailed", f"spec.patches: too much work, {lost}; {advice}")
    return RenderFailed(f"spec.patches cannot be applied: {lost}")


PATCHING = SizeBounds(in_place=256 << 10, error=_failure)
"""256 KiB of patches and of the objects that they are for, each as often as it is patched: 10 to 20 ms of work."""
_LOOKED_AT = 32
"""Bytes that take as long as to look at an object: a patch that fits none looks at all, for the closest."""
_WRITTEN = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields")
"""Fields of `metadata` that an object has from the API server alone."""
_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_CORE = SchemaDefinitions("", "v1")
_CLOSE = 0.85
"""`Deploymnt` is close to `Deployment`; `Service` is not close to `Secret`."""


@dataclass(frozen=True, slots=True)
class PatchTarget:
    """The object that a patch is for. Without `namespace` it may be in any, if there is one such object."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        """`apps/v1 Deployment kube-system/coredns`."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.api_version} {self.kind} {place}{self.name}"


@dataclass(frozen=True, slots=True)
class InstancePatch:
    """One item of the list. `place` names it in messages, `operations` is a JSON patch; without it `fields` is a part
    of an object."""

    place: str
    target: PatchTarget
    fields: JSON
    operations: JSON = None


@dataclass(frozen=True, slots=True)
class PatchedObjects:
    """The objects after all patches. `changed` names those that a patch has changed; `problems` are patches that could
    not be applied, whose objects are as without them."""

    objects: tuple[SourcedObject, ...]
    changed: frozenset[VersionlessId] = frozenset()
    problems: tuple[BadPatch, ...] = ()


def patching_work(sources: Sequence[SourcedObject], patches: Sequence[JSON]) -> int:
    """Bytes to work through, about: those of the patches, and of each object as often as a patch has its name."""
    times = Counter(_name(item) for item in patches)
    named = [source for source in sources if source.name in times]
    looked_at = len(sources) * len(patches) * _LOOKED_AT
    return json_size(patches) + sum(json_size(source.obj) * times[source.name] for source in named) + looked_at


def _name(item: JSON) -> str:
    """The name of the object that an item of the list is for, "" if it has none."""
    named = item.get("target", item.get("metadata")) if isinstance(item, dict) else None
    return _text(named, "name")


def apply_patches(sources: Sequence[SourcedObject], patches: Sequence[JSON]) -> PatchedObjects:
    """Put the items of `spec.patches` on objects whose namespaces are filled in."""
    objects, changed, problems = list(sources), set(), []
    places = _places(sources)
    for index, item in enumerate(patches):
        try:
            patch = parse_patch(item, f"spec.patches[{index}]")
            position = match(objects, places, patch)
            patched = _apply(objects[position], patch)
        except BadPatch as error:
            problems.append(error)
        else:
            if patched.obj != objects[position].obj:
                changed.add(patched.identity)
            objects[position] = patched
    return PatchedObjects(tuple(objects), frozenset(changed), tuple(problems))


def require_patches(patched: PatchedObjects, *, unmatched: bool = False) -> None:
    """Raises BadPatch with all problems, and the reason of the first; with `unmatched` not for `NoMatch`."""
    problems = [error for error in patched.problems if not (unmatched and error.reason == "NoMatch")]
    if problems:
        raise BadPatch(problems[0].reason, "; ".join(map(str, problems)))


def parse_patch(item: JSON, place: str) -> InstancePatch:
    """One item of the list; `place` is for messages. Raises BadPatch if it says neither which object nor how."""
    if not isinstance(item, dict):
        raise BadPatch("MergeFailed", f"{place}: not a patch but {redaction.described(item)}")
    if "jsonPatch" not in item and "target" not in item:
        return InstancePatch(place, _target(item, item.get("metadata"), place, "metadata.name"), item)
    operations = item.get("jsonPatch")
    if not isinstance(operations, list):
        described = redaction.described(operations) if "jsonPatch" in item else "missing"
        raise BadPatch("MergeFailed", f"{place}: jsonPatch is {described}; write a list of operations")
    return InstancePatch(
        place, _target(item.get("target"), item.get("target"), f"{place}.target", "name"), None, operations
    )


def _target(kinds: JSON, names: JSON, place: str, name_key: str) -> PatchTarget:
    """What `apiVersion` and `kind` of one map, `name` and `namespace` of another say; `name_key` is for messages."""
    api_version, kind = _text(kinds, "apiVersion"), _text(kinds, "kind")
    name = _text(names, "name")
    lacking = [key for key, text in (("apiVersion", api_version), ("kind", kind), (name_key, name)) if not text]
    if lacking:
        raise BadPatch("MergeFailed", f"{place}: names no object: it needs {' and '.join(lacking)}")
    return PatchTarget(api_version, kind, name, _text(names, "namespace"))


def _text(fields: JSON, key: str) -> str:
    value = fields.get(key) if isinstance(fields, dict) else None
    return value if isinstance(value, str) else ""


def _apply(source: SourcedObject, patch: InstancePatch) -> SourcedObject:
    try:
        obj = _patched(source, patch)
    except PatchRefused as refused:
        # A JSON patch is refused without its values; operations and paths, which its author needs, are shown.
        hidden = redaction.words(patch.fields) | redaction.words(source.obj) if patch.operations is None else ()
        why = refused.detail if refused.message == json_patch.REJECTED else refused.message
        raise BadPatch("MergeFailed", f"{patch.place}: {source}: {redaction.excerpt(why, hidden)}") from None
    except orjson.JSONEncodeError as error:  # nested too deep, or an integer of more than 64 bits
        raise BadPatch("MergeFailed", f"{patch.place}: {source}: cannot be written as JSON: {error}") from None
    if problem := next(_spoilt(source, obj, patch), ""):
        raise BadPatch("MergeFailed", f"{patch.place}: {source}: the patch {problem}")
    return SourcedObject(source.path, obj)


def _patched(source: SourcedObject, patch: InstancePatch) -> JSON:
    if patch.operations is not None:
        return json_patch.apply(source.obj, patch.operations)
    schema = patch_schema(source, patch.fields)
    if schema is None:
        return merge_patch.apply(source.obj, patch.fields)
    return strategic.apply(source.obj, patch.fields, schema)


def patch_schema(source: SourcedObject, fields: JSON) -> Schema | None:
    """The schema by which a strategic merge patch of this object merges; None for kinds that are not Kubernetes' own.

    Of a few of its kinds no OpenAPI document is at hand: APIServices, flow control, dynamic resources, autoscaling/v1.
    No list in their specs merges, so what is needed of them is the schema of `metadata`, and that the fields exist
    (docs/decisions.md, 80).
    """
    if schema := kind_schema(source.api_version, source.kind):
        return schema
    if source.kind not in builtin_kinds.document()["served"].get(source.api_version, ()):
        return None
    properties = {**_fields_of(fields).get("properties", {}), "metadata": {"$ref": f"{REFERENCE}{_METADATA}"}}
    return Schema({"properties": properties}, _CORE)


def _fields_of(value: JSON) -> dict[str, JSON]:
    """A schema that has the fields of a patch, with lists that are replaced as a whole."""
    return {"properties": {key: _fields_of(inner) for key, inner in value.items()}} if isinstance(value, dict) else {}


def _spoilt(source: SourcedObject, obj: JSON, patch: InstancePatch) -> Iterator[str]:
    """Why a patched document cannot take the place of the object."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict):
        yield "leaves no object; a patch cannot remove one"
        return
    before = {"apiVersion": source.obj["apiVersion"], "kind": source.obj["kind"], **_place_of(source.obj["metadata"])}
    after = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), **_place_of(metadata)}
    if moved := [key for key in before if before[key] != after[key]]:
        yield f"changes {' and '.join(moved)}; a patched object stays the same one"
    if written := [key for key in _WRITTEN if metadata.get(key) != source.obj["metadata"].get(key)]:
        yield f"sets metadata.{written[0]}, which only the API server writes"
    if wrong := [key for key in ("labels", "annotations") if not isinstance(metadata.get(key) or {}, dict)]:
        yield f"makes metadata.{wrong[0]} {redaction.described(metadata[wrong[0]])}, not a map"
    # A part of an object is merged at the depth that it has itself; only a JSON patch moves what is there.
    if _depth(patch.fields if patch.operations is None else obj) > _MOST_DEPTH:
        yield f"nests the object deeper than {_MOST_DEPTH} levels"


def _place_of(metadata: JSON) -> JSON:
    return {f"metadata.{key}": metadata.get(key) for key in ("name", "namespace")}


def _depth(value: JSON) -> int:
    """Levels of maps and lists, without recursion: the value may be too deep for it."""
    depth, level = 0, [value]
    while level := [inner for item in level for inner in _inner(item)]:
        depth += 1
    return depth


def _inner(value: JSON) -> Sequence[JSON]:
    if isinstance(value, dict):
        return tuple(value.values())
    return value if isinstance(value, list) else ()


Places = Mapping[tuple[str, str, str], Sequence[int]]
"""The positions of objects by version, kind and name, which no patch changes."""


def _places(sources: Sequence[SourcedObject]) -> Places:
    places: dict[tuple[str, str, str], list[int]] = {}
    for position, source in enumerate(sources):
        places.setdefault((source.api_version, source.kind, source.name), []).append(position)
    return places


def match(sources: Sequence[SourcedObject], places: Places, patch: InstancePatch) -> int:
    """The position of the patch's object. The version counts, since fields may have moved between two.

    Raises BadPatch: NoMatch with the closest object, Ambiguous with the namespaces.
    """
    target = patch.target
    named = places.get((target.api_version, target.kind, target.name), ())
    positions = [position for position in named if target.namespace in ("", sources[position].namespace)]
    shown = redaction.excerpt(str(target), (), _MOST_SHOWN)
    if len(positions) > 1:
        namespaces = sorted(sources[position].namespace for position in positions)
        raise BadPatch(
            "Ambiguous", f"{patch.place}: {shown} is in the namespaces {_shortened(namespaces)}; name one of them"
        )
    if not positions:
        raise BadPatch("NoMatch", f"{patch.place}: the package has no {shown}{next(_hints(sources, target), '')}")
    return positions[0]


def _hints(sources: Sequence[SourcedObject], target: PatchTarget) -> Iterator[str]:
    """What is closest to the target, the closest first."""
    named = [source for source in sources if source.name == target.name]
    group = target.api_version.rpartition("/")[0]
    of_kind = [source for source in sources if (source.kind, source.group) == (target.kind, group)]
    for source in (source for source in of_kind if source.name == target.name):
        yield f": it is {_difference(source, target)}"
    for source in (source for source in named if source.kind == target.kind):
        yield f": it is {source.api_version}"
    names = sorted({source.name for source in of_kind})
    if close := suggestion(target.name, names[:_MOST_COMPARED]):
        yield close
    if of_kind:
        yield f": its objects of this kind are {_shortened(names)}"
    for source in named:
        yield f", but {source.api_version} {source.identity}"
    kinds = sorted({source.kind for source in sources} - {target.kind})[:_MOST_COMPARED]
    for kind in get_close_matches(target.kind, kinds, n=1, cutoff=_CLOSE):
        yield f"; did you mean '{kind}'?"


def _difference(source: SourcedObject, target: PatchTarget) -> str:
    if source.api_version != target.api_version:
        return source.api_version
    return f"in namespace {source.namespace}" if source.namespace else "in no namespace"


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"

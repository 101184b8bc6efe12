"""What must hold for the objects of an instance as a whole, and their order.

Namespaces are filled in by then, so two objects that would be one in the cluster look alike here.
"""

from collections.abc import Iterable, Sequence

from hookrunner.errors import BadManifest
from hookrunner.manifests.sourced_object import SourcedObject, VersionlessId
from kubetypes.json_values import JSON


def check_objects(sources: Sequence[SourcedObject], instance: VersionlessId) -> None:
    """Raises BadManifest, naming files, for an object without a name, for one that stands twice (in whatever version of
    its API), and for the instance itself, which must not manage itself."""
    seen: dict[VersionlessId, SourcedObject] = {}
    for source in sources:
        if not source.name:
            raise BadManifest(
                f"{source.path}: {source.kind} has no metadata.name; hookrunner could not find it again: name it"
            )
        if source.identity == instance:
            raise BadManifest(f"{source}: this is the instance itself; remove it from the package")
        if first := seen.get(source.identity):
            raise BadManifest(f"{source}: {_same(first, source)}; remove one of them")
        seen[source.identity] = source


def ordered(sources: Iterable[SourcedObject]) -> tuple[SourcedObject, ...]:
    """The objects in Helm's order of kinds, those of a kind by namespace and name, the keys of all maps sorted: the
    same for any order of files, documents and keys."""
    by_kind = sorted(sources, key=lambda source: (*source.order, source.namespace, source.name, source.group))
    return tuple(SourcedObject(source.path, _sorted(source.obj)) for source in by_kind)


def _same(first: SourcedObject, second: SourcedObject) -> str:
    versions = "" if first.api_version == second.api_version else f" as {first.api_version}"
    return f"the package has it twice, also in {first.path}{versions}"


def _sorted(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value

"""What concerns the objects of an instance as a whole: what must hold, their order, and the Application object.

Namespaces are filled in by then, so two objects that would be one in the cluster look alike here.

An Application shows user interfaces what belongs together (https://github.com/kubernetes-sigs/application has the
kind). Its controller looks for objects in the Application's own namespace only, by `spec.selector` and
`spec.componentKinds`. Upstream's operators write `componentGroupKinds`, which the definition drops, and an empty
version if a channel has chosen it; here both are right (docs/differences.md).
"""

from collections.abc import Iterable, Mapping, Sequence

from hookrunner.errors import BadManifest
from hookrunner.model.sourced_objects import SourcedObject, VersionlessId
from kubetypes.json_values import JSON

_APPLICATION = "app.k8s.io", "Application"


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


def is_application(source: SourcedObject) -> bool:
    """Is it an Application, in any version?"""
    return (source.group, source.kind) == _APPLICATION


def fill_application(
    sources: Sequence[SourcedObject], match_labels: Mapping[str, str], version: str
) -> tuple[SourcedObject, ...]:
    """The objects; an Application among them selects by these labels, lists all kinds and has the version.

    Raises BadManifest if there are several.
    """
    applications = [source for source in sources if is_application(source)]
    if len(applications) > 1:
        raise BadManifest(
            f"the package has {len(applications)} Applications: {', '.join(map(str, applications))}; "
            "leave one, or set `application: false` in addon.yaml"
        )
    kinds = sorted({(source.kind, source.group) for source in sources}, key=lambda kind: ".".join(kind))
    spec = {
        "selector": {"matchLabels": dict(match_labels)},
        "componentKinds": [{"group": group, "kind": kind} for kind, group in kinds],
    }
    return tuple(_filled(source, spec, version) if is_application(source) else source for source in sources)


def unselected_namespaces(sources: Sequence[SourcedObject]) -> tuple[str, ...]:
    """Namespaces of objects that the Application cannot show, because it is in another one: a remark of `addon lint`.
    Empty without an Application."""
    homes = {source.namespace for source in sources if is_application(source)}
    others = {source.namespace for source in sources if source.namespace} - homes
    return tuple(sorted(others)) if homes else ()


def _same(first: SourcedObject, second: SourcedObject) -> str:
    versions = "" if first.api_version == second.api_version else f" as {first.api_version}"
    return f"the package has it twice, also in {first.path}{versions}"


def _sorted(value: JSON) -> JSON:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _filled(source: SourcedObject, spec: Mapping[str, JSON], version: str) -> SourcedObject:
    given = source.obj.get("spec")
    own = given if isinstance(given, dict) else {}
    descriptor = own.get("descriptor")
    described = {**(descriptor if isinstance(descriptor, dict) else {}), "version": version}
    return SourcedObject(source.path, {**source.obj, "spec": {**own, **spec, "descriptor": described}})

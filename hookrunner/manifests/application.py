"""Fills in the Application object of a package, for user interfaces that show what belongs together.

https://github.com/kubernetes-sigs/application has the kind. Its controller looks for objects in the Application's own
namespace only, by `spec.selector` and `spec.componentKinds`. Upstream's operators write `componentGroupKinds`, which
the definition drops, and an empty version if a channel has chosen it; here both are right (docs/differences.md).
"""

from collections.abc import Mapping, Sequence

from hookrunner.errors import BadManifest
from hookrunner.manifests.sourced_object import SourcedObject
from kubetypes.json_values import JSON

GROUP, KIND = "app.k8s.io", "Application"


def is_application(source: SourcedObject) -> bool:
    """Is it an Application, in any version?"""
    return (source.group, source.kind) == (GROUP, KIND)


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
    """Namespaces of objects that the Application cannot show, because it is in another one; for a warning."""
    homes = {source.namespace for source in sources if is_application(source)}
    others = {source.namespace for source in sources if source.namespace} - homes
    return tuple(sorted(others)) if homes else ()


def _filled(source: SourcedObject, spec: Mapping[str, JSON], version: str) -> SourcedObject:
    given = source.obj.get("spec")
    own = given if isinstance(given, dict) else {}
    descriptor = own.get("descriptor")
    described = {**(descriptor if isinstance(descriptor, dict) else {}), "version": version}
    return SourcedObject(source.path, {**source.obj, "spec": {**own, **spec, "descriptor": described}})

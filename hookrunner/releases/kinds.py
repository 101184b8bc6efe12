"""Which resource an object of a release is written through. What the release itself defines is known from its CRDs: the
API server's own list of kinds may be a moment behind, and so may our memory of it."""

from collections.abc import Iterable

from hookrunner.errors import ReleaseFailed, UnknownKind
from hookrunner.kube.discovery import Discovery
from hookrunner.model.resources import JSON, Resource
from hookrunner.releases.ordering import CRD

_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")


class Kinds:
    """The kinds of one cluster."""

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery
        self._defined: dict[tuple[str, str], Resource] = {}

    def learn(self, objects: Iterable[JSON]) -> None:
        """Remember what the CRDs among the objects define. Raises ReleaseFailed if one does not say."""
        for obj in objects:
            if obj.get("kind") == CRD:
                self._defined |= {(one.api_version, one.kind): one for one in resources(obj)}

    async def resolve(self, api_version: str, kind: str) -> Resource:
        """Of an object in a manifest. Raises UnknownKind, or another KubeError if the server cannot be asked."""
        try:
            return await self._discovery.resolve(api_version, kind, exact=True)
        except UnknownKind:
            if found := self._defined.get((api_version, kind)):
                return found
            raise

    def forget(self, api_version: str) -> None:
        """The server said 404 for something of this version: ask again next time."""
        self._discovery.forget(api_version)


def resources(crd: JSON) -> list[Resource]:
    """What a CRD defines, one for each served version. Raises ReleaseFailed if that cannot be said."""
    try:
        spec = crd["spec"]
        names, namespaced = spec["names"], spec.get("scope") == "Namespaced"
        versions = [version["name"] for version in spec["versions"] if version.get("served")]
        return [
            Resource(f"{spec['group']}/{version}", names["kind"], names["plural"], namespaced, verbs=_VERBS)
            for version in versions
        ]
    except (LookupError, TypeError, AttributeError):
        raise ReleaseFailed(
            f"CustomResourceDefinition {(crd.get('metadata') or {}).get('name')}: it needs spec.group, "
            "spec.names.{kind, plural} and spec.versions[].name; see `kubectl explain crd.spec`"
        ) from None

"""Finds the object that a patch is for; without one, the closest, for a message that helps.

A patch is written once and meets new versions of a package: names change, namespaces move, APIs get versions. What the
package has instead is what its author wants to know.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from hookrunner.errors import BadPatch
from hookrunner.manifests.sourced_object import SourcedObject
from hookrunner.shapes import suggestion

_MOST_NAMES = 5
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

    def fits(self, source: SourcedObject) -> bool:
        """Is this the object? The version counts, since fields may have moved between two."""
        return (
            (source.api_version, source.kind, source.name) == (self.api_version, self.kind, self.name)
            and self.namespace in ("", source.namespace)
        )  # fmt: skip


def match(sources: Sequence[SourcedObject], target: PatchTarget, place: str) -> int:
    """The position of the target among the objects; `place` names the patch in messages.

    Raises BadPatch: NoMatch with the closest object, Ambiguous with the namespaces.
    """
    positions = [position for position, source in enumerate(sources) if target.fits(source)]
    if len(positions) > 1:
        namespaces = sorted(sources[position].namespace for position in positions)
        raise BadPatch("Ambiguous", f"{place}: {target} is in the namespaces {', '.join(namespaces)}; name one of them")
    if not positions:
        raise BadPatch("NoMatch", f"{place}: the package has no {target}{next(_hints(sources, target), '')}")
    return positions[0]


def _hints(sources: Sequence[SourcedObject], target: PatchTarget) -> Iterator[str]:
    """What is closest to the target, the closest first."""
    named = [source for source in sources if source.name == target.name]
    of_kind = [source for source in sources if (source.kind, source.group) == (target.kind, _group(target))]
    for source in (source for source in of_kind if source.name == target.name):
        yield f": it is {_difference(source, target)}"
    for source in (source for source in named if source.kind == target.kind):
        yield f": it is {source.api_version}"
    names = sorted({source.name for source in of_kind})
    if close := suggestion(target.name, names):
        yield close
    if of_kind:
        yield f": its objects of this kind are {_shortened(names)}"
    for source in named:
        yield f", but {source.api_version} {source.identity}"
    kinds = sorted({source.kind for source in sources} - {target.kind})
    for kind in get_close_matches(target.kind, kinds, n=1, cutoff=_CLOSE):
        yield f"; did you mean '{kind}'?"


def _difference(source: SourcedObject, target: PatchTarget) -> str:
    if source.api_version != target.api_version:
        return source.api_version
    return f"in namespace {source.namespace}" if source.namespace else "in no namespace"


def _group(target: PatchTarget) -> str:
    return target.api_version.rpartition("/")[0]


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"

"""Decides whether an instance may change its package's objects as its patches did (docs/addons.md, Patches).

What counts is the difference between the objects before the first patch and after the last one, however it came about:
by directives of strategic merge patches, by `move` and `copy`, or by elements that were renamed. Each must be at or
below a path that the addon lists, or one of the common ones, and none may be what `unpatchable.py` has. Both are
functions of plain values, so that another process can call them.
"""

from collections.abc import Iterable, Iterator, Sequence

from hookrunner.errors import BadPatch
from hookrunner.manifests.field_changes import Element, FieldPlace, field_changes
from hookrunner.manifests.field_paths import FieldPath, Selector, parse_path
from hookrunner.manifests.images import POD_SPECS
from hookrunner.manifests.unpatchable import reason_of_kind, reason_of_step
from hookrunner.model.addons import PatchMode, PatchRule
from hookrunner.model.sourced_objects import SourcedObject
from hookrunner.model.status import some
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_REPLICATED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
_OWN = ("metadata.labels", "metadata.annotations")
_IN_PODS = (
    *("resources", "containers[*].resources", "initContainers[*].resources"),
    *("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints"),
)
_MOST = 100
"""Refused changes of an object that are counted."""
_OFF = (
    "spec.patches: this hookrunner applies no patches (--addon-patches none; in the chart addons.patches). Remove "
    "spec.patches, or start it with --addon-patches listed, which allows what `patches` in addon.yaml lists"
)
_ADVICE = (
    "Remove that from spec.patches, let `patches` in addon.yaml list it, or start hookrunner with --addon-patches all, "
    "which lets all authors of instances change everything that it installs"
)
_NEVER_ADVICE = (
    "Remove that from spec.patches, or start hookrunner with --addon-patches all, which lets all authors of instances "
    "change everything that it installs"
)


@dataclass(frozen=True, slots=True)
class PatchPolicy:
    """What patches may do: nothing, anything, or what the rules of an addon list."""

    mode: PatchMode = "listed"
    rules: tuple[PatchRule, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedChanges:
    """What patches did to an object and may not. `never` are paths that no addon can list, each with what it would
    change; `unlisted` are paths that this addon does not list."""

    subject: str
    never: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()

    def __str__(self) -> str:
        never = f"`patches` in addon.yaml cannot allow {some(self.never)}" if self.never else ""
        unlisted = f"`patches` in addon.yaml does not list {some(self.unlisted)}" if self.unlisted else ""
        return f"{self.subject}: {'; '.join(filter(None, (never, unlisted)))}"


def require_patches_on(policy: PatchPolicy, patches: Sequence[JSON]) -> None:
    """Raises BadPatch if there are patches and none may be applied."""
    if patches and policy.mode == "none":
        raise BadPatch("NotAllowed", _OFF)


def require_allowed(before: Sequence[SourcedObject], after: Sequence[SourcedObject], policy: PatchPolicy) -> None:
    """Raises BadPatch for what patches have done to these objects and may not; both have the same order."""
    if policy.mode == "all":
        return
    refused = list(refused_changes(before, after, policy))
    if not refused:
        return
    advice = _ADVICE if any(changes.unlisted for changes in refused) else _NEVER_ADVICE
    raise BadPatch("NotAllowed", f"spec.patches: {some(list(map(str, refused)), '; ')}. {advice}")


def refused_changes(
    before: Sequence[SourcedObject], after: Sequence[SourcedObject], policy: PatchPolicy
) -> Iterator[RefusedChanges]:
    """What the addon's rules do not allow, for each object that has such changes."""
    for source, patched in zip(before, after, strict=True):
        if patched is not source and (changes := _refused(source, patched, policy.rules)):
            yield changes


def allowed_paths(group: str, kind: str, name: str, rules: Iterable[PatchRule]) -> tuple[FieldPath, ...]:
    """The paths of an object that may be patched: the common ones and those that the rules list for it."""
    listed = (path for rule in rules if rule.kind == kind and rule.name in ("", name) for path in rule.paths)
    return tuple(map(parse_path, (*_common_paths(group, kind), *listed)))


def _common_paths(group: str, kind: str) -> Iterator[str]:
    """Paths of workloads that give no rights: the same programs run with the same arguments."""
    pods = POD_SPECS.get((group, kind))
    if pods is None:
        return
    yield from _OWN
    yield from (".".join((*pods[:-1], path)) for path in _OWN)
    yield from (".".join((*pods, path)) for path in _IN_PODS)
    if kind in _REPLICATED:
        yield "spec.replicas"


def _refused(source: SourcedObject, patched: SourcedObject, rules: Sequence[PatchRule]) -> RefusedChanges | None:
    changes = field_changes(source.obj, patched.obj)
    if reason := reason_of_kind(source.group, source.kind):
        return RefusedChanges(str(source), (f"any {source.kind} ({reason})",)) if next(changes, None) else None
    never, unlisted = dict[FieldPlace, str](), list[str]()
    whole = _Judgement(allowed_paths(source.group, source.kind, source.name, rules))
    judgements: dict[FieldPlace | None, _Judgement] = {None: whole}
    for change in changes:
        judgement = _judge(source, change.place, judgements)
        if judgement.never:
            never[judgement.never] = judgement.reason
        elif not (judgement.is_allowed or change.within):
            unlisted.append(str(change))
        if len(never) + len(unlisted) >= _MOST:
            break
    if not (never or unlisted):
        return None
    return RefusedChanges(str(source), tuple(f"{place} ({why})" for place, why in never.items()), tuple(unlisted))


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What may be patched at a place and in it: `allowed` are paths that go on from there, an empty one allows all of
    it. `never` is the first place on the way that no addon can list, and `reason` what that changes."""

    allowed: tuple[FieldPath, ...]
    never: FieldPlace | None = None
    reason: str = ""

    @property
    def is_allowed(self) -> bool:
        return () in self.allowed


def _judge(source: SourcedObject, place: FieldPlace, known: dict[FieldPlace | None, _Judgement]) -> _Judgement:
    """The judgement of a place, by that of the place above. Keeps all in `known`, so that each is made once; None
    there stands for the object itself."""
    if place.above is None or place in known:
        return known[place if place.above else None]
    above = _judge(source, place.above, known)
    allowed = tuple(path[1:] for path in above.allowed if not path or _fits(path[0], place.step))
    never, reason = above.never, above.reason
    if not never and (reason := reason_of_step(source.group, source.kind, _steps_above(place), place.step)):
        never = place
    known[place] = _Judgement(allowed, never, reason)
    return known[place]


def _steps_above(place: FieldPlace) -> tuple[str | Element, ...]:
    """The last two steps to the place above; fewer where the object begins there."""
    parent = place.above
    if not (parent and parent.above):
        return ()
    return (parent.above.step, parent.step) if parent.above.above else (parent.step,)


def _fits(allowed: str | Selector, step: str | Element) -> bool:
    if isinstance(allowed, Selector):
        return isinstance(step, Element) and step.is_selected(allowed.key, allowed.value)
    return step == allowed

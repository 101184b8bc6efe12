"""Answers one conversion review: which objects go through which hook, and whether what comes back can be used.

Objects are grouped by their version and brought together on the way to the desired one, so that each step of it is one
hook run, for thousands of objects too. A hook is given only the objects that are in the version that its rule starts
from, and may return them in any order. What it returns is checked after each step: the reader of the message should
see the hook and the objects; the API server would name only an index and the webhook.

Hooks are not run here but by the function that is handed in. What a conversion must not change:
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from hookrunner.engine.reviews.chains import Chains, Leg, Step, plan
from hookrunner.errors import ReviewFailed
from hookrunner.model.bindings import Hook, Kubernetes
from hookrunner.model.reviews import DENIED, ConversionReview, Converted
from hookrunner.model.tasks import HookRun
from kubetypes.json_values import JSON

Run: TypeAlias = Callable[[Step, Sequence[JSON], ConversionReview], Awaitable[Converted]]
"""Runs the hook of a step on these objects; the review's `desiredAPIVersion` is for the hook too. Raises ReviewFailed
if the hook fails. The objects that it returns are ours to change."""

_MANY = 500
"""Objects that take some milliseconds to check: that is done in a thread, and other reviews go on meanwhile."""

_NAMED = 3
"""Objects, and complaints, that a message names before it only counts."""

_BAD_REQUEST = 400
_IDENTITY = ("name", "namespace")
"""What a conversion must not change in `metadata`, besides the uid, which identifies objects."""

_HOOKS_OWN = ("labels", "annotations")
"""What a conversion may change in `metadata`."""


async def convert(review: ConversionReview, chains: Chains, run: Run) -> Sequence[JSON]:
    """All objects of the request in the desired version, in the request's order. Raises ReviewFailed.

    The objects of the request are not changed; those that are in the desired version already are returned themselves.
    """
    objects: list[JSON] = list(review.request["objects"])
    _refuse("the request", _malformed(objects), _BAD_REQUEST)
    indices = _by_version(objects)
    for leg in plan(chains, review.definition, indices, review.request["desiredAPIVersion"]):
        group = sorted(indices.pop(leg.source))
        before = [objects[index] for index in group]
        answer = await run(leg.step, before, review)
        check = partial(_check_answer, leg, before, answer)
        after = await asyncio.to_thread(check) if len(before) > _MANY else check()
        for index, obj in zip(group, after, strict=True):
            objects[index] = obj
        indices[leg.target] += group
    return objects


def _by_version(objects: Iterable[JSON]) -> defaultdict[str, list[int]]:
    indices: defaultdict[str, list[int]] = defaultdict(list)
    for index, obj in enumerate(objects):
        indices[obj["apiVersion"]].append(index)
    return indices


def _check_answer(leg: Leg, before: Sequence[JSON], answer: Converted) -> Sequence[JSON]:
    """The objects of an answer in the order of those that were sent, with the metadata that is not the hook's."""
    if answer.failure:
        raise ReviewFailed(f"{leg.step}: {answer.failure}")
    _refuse(leg.step, _malformed(answer.objects))
    after = _in_order(leg.step, before, answer.objects)
    _refuse(leg.step, _changes(leg.target, before, after))
    for old, new in zip(before, after, strict=True):
        new["metadata"] = _metadata(old, new["metadata"])
    return after


Complaint: TypeAlias = tuple[str, str]
"""What is wrong, and the object with which it is."""


def _refuse(who: object, complaints: Iterable[Complaint], code: int = DENIED) -> None:
    """Raise ReviewFailed if there is any complaint, objects with the same one named together."""
    objects_of: defaultdict[str, list[str]] = defaultdict(list)
    for complaint, name in complaints:
        objects_of[complaint].append(name)
    if objects_of:
        texts = [f"{complaint}: {_few(names, ', ')}" for complaint, names in objects_of.items()]
        raise ReviewFailed(f"{who}: {_few(texts, '; ')}", code)


def _few(words: Sequence[str], separator: str) -> str:
    rest = [f"and {len(words) - _NAMED:,} more"] if len(words) > _NAMED else []
    return separator.join([*words[:_NAMED], *rest])


def _malformed(objects: Sequence[JSON]) -> Iterator[Complaint]:
    for number, obj in enumerate(objects, 1):
        if not isinstance(obj, dict):
            yield "not an object", f"number {number}"
        elif not isinstance(obj.get("metadata"), dict) or not isinstance(obj.get("apiVersion"), str):
            yield "an object without `metadata` or `apiVersion`", f"number {number}"


def _in_order(step: Step, before: Sequence[JSON], after: Sequence[JSON]) -> Sequence[JSON]:
    """The returned objects, one for each that was sent."""
    sent, returned = [_identity(obj) for obj in before], [_identity(obj) for obj in after]
    if sent == returned:
        return after
    by_identity = dict(zip(returned, after, strict=True))
    _refuse(step, _miscounted(dict(zip(sent, before, strict=True)), by_identity, Counter(returned)))
    return [by_identity[identity] for identity in sent]


def _miscounted(sent: dict[str, JSON], by_identity: dict[str, JSON], returned: Counter[str]) -> Iterator[Complaint]:
    """Objects that are missing, that were not sent, and that came more than once."""
    for identity, obj in sent.items():
        if identity not in by_identity:
            yield f"did not come back ({len(sent):,} sent, {returned.total():,} returned)", _name(obj)
    for identity, obj in by_identity.items():
        if identity not in sent:
            yield "was never sent, or has another name, namespace or uid now", _name(obj)
        if returned[identity] > 1:
            yield "came back more than once", _name(obj)


def _identity(obj: JSON) -> str:
    """What an object is recognized by: its uid, or its name while it has none."""
    metadata = obj["metadata"]
    uid = metadata.get("uid")
    return uid if uid and isinstance(uid, str) else f"{metadata.get('namespace') or ''}/{metadata.get('name')}"


def _name(obj: JSON) -> str:
    metadata = obj["metadata"]
    names = (metadata.get("namespace"), metadata.get("name") or metadata.get("generateName"))
    return f"{obj.get('kind')} {'/'.join(str(name) for name in names if name)}"


def _changes(version: str, before: Iterable[JSON], after: Iterable[JSON]) -> Iterator[Complaint]:
    for old, new in zip(before, after, strict=True):
        if complaint := _change(version, old, new):
            yield complaint, _name(old)


def _change(version: str, old: JSON, new: JSON) -> str:
    """The change of an object that no conversion may make; empty without such a change."""
    if new.get("apiVersion") != version:
        return f"came back in version {new.get('apiVersion')}, not {version}"
    if new.get("kind") != old.get("kind"):
        return f"came back with kind {new.get('kind')}"
    was, now = old["metadata"], new["metadata"]
    for key in _IDENTITY:
        if was.get(key) != now.get(key) and (was.get(key) or now.get(key)):
            return f"came back with metadata.{key} {now.get(key)}"
    for key in _HOOKS_OWN:
        if now.get(key) != was.get(key) and not _texts(now.get(key)):
            return f"came back with metadata.{key} that are no map of strings"
    return ""


def _texts(value: JSON) -> bool:
    return not value or (isinstance(value, dict) and all(isinstance(text, str) for text in value.values()))


def _metadata(old: JSON, new: JSON) -> JSON:
    """The old metadata with the new labels and annotations, as the API server itself would do with the last answer."""
    metadata: dict[str, JSON] = old["metadata"].copy()
    for key in _HOOKS_OWN:
        metadata.pop(key, None)
        if new.get(key):
            metadata[key] = new[key]
    return metadata


def find_cycle(hook: Hook, order: HookRun, review: ConversionReview) -> str:
    """Why the order may wait indefinitely; empty if it does not.

    It does not wait if the desired version is the stored one: then the list may come without any conversion.
    """
    names = [binding.name for binding in _read(hook, order) if _lists(binding, review)]
    if not names:
        return ""
    return (
        f"it needs the snapshot of '{names[0]}', which lists its own objects in {review.request['desiredAPIVersion']}, "
        "for which the API server needs this conversion: have that binding watch the stored version, or leave it out "
        "of includeSnapshotsFrom"
    )


def _read(hook: Hook, order: HookRun) -> Iterator[Kubernetes]:
    """The bindings whose snapshots the run reads."""
    for context in order.contexts:
        for include in context.includes:
            yield hook.config.kubernetes[include.index]


def _lists(binding: Kubernetes, review: ConversionReview) -> bool:
    """Without a version the API's preferred one is watched, which may be this."""
    kinds = {str(obj.get("kind")).lower() for obj in review.request["objects"]} | {review.definition.partition(".")[0]}
    return binding.api_version in ("", review.request["desiredAPIVersion"]) and binding.kind.lower() in kinds

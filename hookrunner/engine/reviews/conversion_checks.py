"""Whether what a hook has made of the objects of a conversion can be used: pure functions.

The reader of a message should see the hook and the objects; the API server would name only an index and the webhook.
What a conversion must not change:
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from hookrunner.errors import ReviewFailed
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.reviews import DENIED, ConversionRequest, malformation
from kubetypes.json_values import JSON

Complaint: TypeAlias = tuple[str, str]
"""What is wrong, and the object with which it is."""

_NAMED = 3
"""Objects, and complaints, that a message names before it only counts."""

_BAD_REQUEST = 400
_IDENTITY = ("name", "namespace")
"""What a conversion must not change in `metadata`, besides the uid, which identifies objects."""

_HOOKS_OWN = ("labels", "annotations")
"""What a conversion may change in `metadata`."""


def require_objects(request: ConversionRequest) -> None:
    """Raises ReviewFailed if what the API server has sent is not all objects."""
    wrong = request.malformed.items()
    _refuse("the request", ((what, f"number {number}") for what, numbers in wrong for number in numbers), _BAD_REQUEST)


def check_answer(who: str, target: str, before: JsonObjects, answer: JsonObjects) -> JsonObjects:
    """The objects of an answer in the order of those that were sent, with the metadata that is not the hook's. They
    have to be of the version `target`; `who` is the hook, for messages. Raises ReviewFailed."""
    sent, returned = before.values(), answer.values()
    _refuse(who, _malformed(returned))
    after = _in_order(who, sent, returned)
    _refuse(who, _changes(target, sent, after))
    for old, new in zip(sent, after, strict=True):
        new["metadata"] = _metadata(old, new["metadata"])
    return JsonObjects.of(after)


def _refuse(who: str, complaints: Iterable[Complaint], code: int = DENIED) -> None:
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
        if wrong := malformation(obj):
            yield wrong, f"number {number}"


def _in_order(who: str, before: Sequence[JSON], after: Sequence[JSON]) -> Sequence[JSON]:
    """The returned objects, one for each that was sent."""
    sent, returned = [_identity(obj) for obj in before], [_identity(obj) for obj in after]
    if sent == returned:
        return after
    by_identity = dict(zip(returned, after, strict=True))
    _refuse(who, _miscounted(dict(zip(sent, before, strict=True)), by_identity, Counter(returned)))
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

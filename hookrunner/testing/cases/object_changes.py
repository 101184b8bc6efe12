"""What a case expects of objects, when it states only how they differ from those of another case.

`rest` in an expectation names a file of objects, such as the whole output of the default case. Everything is as there,
but for what `contain` and `absent` state: an object under `contain` states the fields that differ, `null` for one that
is missing. A list of the same length is stated item by item, `{}` for an item that is the same; a list of another
length is stated whole. So a case of five lines asserts as much as its whole output would.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hookrunner.testing import manifests
from hookrunner.testing.cases.expectations import Difference, nearest, of_objects, projected
from hookrunner.testing.display import yaml_diff
from kubetypes.json_values import JSON, equal_in_value

ObjectId = tuple[str, str, str, str]
"""apiVersion, kind, namespace, name."""


def load_rest(expected: JSON, directory: Path) -> Sequence[JSON]:
    """The objects of the file that an expectation names as `rest`, none if it names none. Raises BadInput."""
    is_named = isinstance(expected, dict) and "rest" in expected
    return manifests.load([expected["rest"]], directory) if is_named else ()


def expected_objects(key: str, expected: JSON, built: Sequence[JSON], rest: Sequence[JSON]) -> Iterator[Difference]:
    """How objects, in any order, differ from an expectation; `rest` are those that `load_rest` returns."""
    if isinstance(expected, dict) and "rest" in expected:
        yield from object_differences(with_changes(rest, expected), built)
        expected = {name: items for name, items in expected.items() if name == "exactly"}
    yield from of_objects(key, expected, built)


def with_changes(rest: Sequence[JSON], expected: JSON) -> list[JSON]:
    """The objects of `rest`, changed as the expectation states. A stated object that is not among them is added as it
    is stated."""
    objects = [obj for obj in rest if not any(_is_like(obj, item) for item in expected.get("absent", ()))]
    for item in expected.get("contain", ()):
        same = [index for index, obj in enumerate(objects) if _is_like(obj, _identity(item))]
        for index in same:
            objects[index] = _overlaid(objects[index], item)
        if not same:
            objects.append(item)
    return objects


def updated_objects(expected: JSON, built: Sequence[JSON], rest: Sequence[JSON]) -> JSON:
    """What an expectation should state: what differs from `rest`; without that, for each expected object the same keys
    of the most similar one. An absence is not removed then: that is for a person to decide."""
    if isinstance(expected, list):
        return [now for item in expected if (now := nearest(item, built)) is not None]
    exactly = {"exactly": list(built)} if "exactly" in expected else {}
    if "rest" in expected:
        return changes(rest, built) | {"rest": expected["rest"]} | exactly
    some = {"contain": updated_objects(expected["contain"], built, rest)} if "contain" in expected else {}
    return expected | some | exactly


def changes(rest: Sequence[JSON], built: Sequence[JSON]) -> dict[str, JSON]:
    """The shortest `contain` and `absent` with which `with_changes` makes the built objects of the rest."""
    before, after = _by_id(rest), _by_id(built)
    differing = [obj for key, obj in after.items() if not equal_in_value(before.get(key), obj)]
    contain = [_overlaid(_identity(obj), _changed(before.get(object_id(obj)), obj)) for obj in differing]
    absent = [_identity(obj) for key, obj in before.items() if key not in after]
    return {key: items for key, items in (("contain", contain), ("absent", absent)) if items}


def _is_like(obj: JSON, item: JSON) -> bool:
    return equal_in_value(projected(obj, item), item)


def _identity(item: JSON) -> dict[str, JSON]:
    """What an object states of its version, kind, namespace and name."""
    metadata = {key: item.get("metadata", {})[key] for key in ("namespace", "name") if key in item.get("metadata", {})}
    return {key: item[key] for key in ("apiVersion", "kind") if key in item} | {"metadata": metadata}


def _overlaid(value: JSON, stated: JSON) -> JSON:
    """A value with what is stated over it."""
    if isinstance(value, dict) and isinstance(stated, dict):
        merged = value | {key: _overlaid(value.get(key), item) for key, item in stated.items()}
        return {key: item for key, item in merged.items() if item is not None}
    if isinstance(value, list) and isinstance(stated, list) and len(value) == len(stated):
        return [_overlaid(old, new) for old, new in zip(value, stated, strict=True)]
    return stated


def _changed(old: JSON, new: JSON) -> JSON:
    """What has to be stated over an old value to get the new one."""
    if isinstance(old, dict) and isinstance(new, dict):
        removed = {key: None for key in old if key not in new}
        return removed | {
            key: _changed(old.get(key), item) for key, item in new.items() if not equal_in_value(old.get(key), item)
        }
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [_changed(one, other) for one, other in zip(old, new, strict=True)]
    return new


def object_differences(before: Sequence[JSON], after: Sequence[JSON]) -> Iterator[Difference]:
    """How two lists of objects differ, object by object; their order does not matter."""
    first, second = _by_id(before), _by_id(after)
    for object_id in sorted({*first, *second}):
        old, new = first.get(object_id), second.get(object_id)
        if old is None or new is None or not equal_in_value(old, new):
            title = shown(object_id)
            lines = yaml_diff(old, new, title if old else "(nothing)", title if new else "(nothing)")
            yield Difference(title, tuple(lines))


def _by_id(objects: Sequence[JSON]) -> dict[ObjectId, JSON]:
    return {object_id(obj): obj for obj in objects}


def object_id(obj: JSON) -> ObjectId:
    """What identifies an object in a cluster, and its version; a part that it does not state is empty."""
    metadata = obj.get("metadata", {})
    name = str(metadata.get("name") or "")
    return str(obj.get("apiVersion", "")), str(obj.get("kind", "")), str(metadata.get("namespace") or ""), name


def shown(identity: ObjectId) -> str:
    """`Deployment kube-system/coredns (apps/v1)`."""
    api_version, kind, namespace, name = identity
    return f"{kind} {namespace}{'/' * bool(namespace)}{name} ({api_version})"

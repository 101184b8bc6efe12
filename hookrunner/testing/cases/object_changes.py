"""How two lists of objects differ, object by object."""

from collections.abc import Iterator, Sequence

from hookrunner.testing.cases.expectations import Difference
from hookrunner.testing.display import yaml_diff
from kubetypes.json_values import JSON, equal_in_value

ObjectId = tuple[str, str, str, str]
"""apiVersion, kind, namespace, name."""


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
    """What identifies an object in a cluster, and its version."""
    metadata = obj["metadata"]
    return str(obj["apiVersion"]), str(obj["kind"]), str(metadata.get("namespace") or ""), str(metadata.get("name"))


def shown(identity: ObjectId) -> str:
    """`Deployment kube-system/coredns (apps/v1)`."""
    api_version, kind, namespace, name = identity
    return f"{kind} {namespace}{'/' * bool(namespace)}{name} ({api_version})"

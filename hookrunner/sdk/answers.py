"""What a run answers: how it ended, changes of objects and of values, metrics, conditions. All but the first are
collected as the documents that docs/hooks.md describes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Union

from .config import nearest, to_kind

JSON = Any
Path = Union[str, Sequence[str]]  # noqa: UP007  # Python 3.9
"""Of a value: keys with dots between, or a sequence of keys, which may have dots in them."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_NO_LABELS: Mapping[str, str] = {}
_OPTIONS = {
    "subresource": "subresource",
    "ignore_missing": "ignoreMissingObject",
    "ignore_hook_error": "ignoreHookError",
}


class HookFailed(Exception):
    """The run has failed. The message is for a person, and is all that the log has of it."""


class Cancelled(BaseException):
    """Raised in a function of a process that stays when its run takes longer than it may. It is no `Exception`, so that
    a function that catches those ends nevertheless."""


class Deny(HookFailed):
    """A review is refused, with this message to the user and an HTTP status from 400 to 599."""

    def __init__(self, message: str, code: int = 403) -> None:
        self.code = code
        super().__init__(message)


class After:
    """The answer of a function that asks for another run after some time, in seconds or as settings have it: "1m30s".
    Raises ValueError for no time."""

    def __init__(self, seconds: float | str = 0, minutes: float = 0, hours: float = 0) -> None:
        self.seconds = (_to_seconds(seconds) if isinstance(seconds, str) else seconds) + 60 * minutes + 3600 * hours
        if not self.seconds > 0:
            raise ValueError("another run needs some time before it: After(seconds=5), After(minutes=10)")


def _to_seconds(text: str) -> float:
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", text)
    if not parts or "".join(map("".join, parts)) != text:
        raise ValueError(f"'{text}' is no time: write After(seconds=30), After(minutes=10) or After('1m30s')")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def ref(kind: str, name: str, namespace: str = "") -> dict[str, JSON]:
    """What stands for an object of a kind (`apps/v1/Deployment`, or `Deployment`) where only its name is known."""
    return {**to_kind(kind), "metadata": {"name": name, **({"namespace": namespace} if namespace else {})}}


class Cluster:
    """What the run asks to have changed in the cluster; it is done when the run has ended well. A `target` is an
    object, or a `ref`. Keywords of changes: `subresource`, `ignore_missing` and, with `subresource="status"`,
    `ignore_hook_error`: then it is done although the run fails."""

    def __init__(self) -> None:
        self.operations: list[dict[str, JSON]] = []

    def create(self, obj: Mapping[str, JSON], subresource: str = "") -> None:
        """Create it; the run fails if it exists."""
        self._write("Create", obj, subresource)

    def create_if_not_exists(self, obj: Mapping[str, JSON], subresource: str = "") -> None:
        """Create it, or leave what exists as it is."""
        self._write("CreateIfNotExists", obj, subresource)

    def create_or_update(self, obj: Mapping[str, JSON], subresource: str = "") -> None:
        """Create it, or replace the whole object."""
        self._write("CreateOrUpdate", obj, subresource)

    def apply(self, obj: Mapping[str, JSON], subresource: str = "") -> None:
        """Server-side apply: only the fields that it has become ours."""
        self._write("Apply", obj, subresource)

    def merge(self, target: Mapping[str, JSON], patch: Mapping[str, JSON], **options: JSON) -> None:
        """Merge a patch (RFC 7396)."""
        self._patch("MergePatch", target, options, mergePatch=patch)

    def json(self, target: Mapping[str, JSON], patch: Sequence[Mapping[str, JSON]], **options: JSON) -> None:
        """Carry out the steps of a JSON patch (RFC 6902)."""
        self._patch("JSONPatch", target, options, jsonPatch=patch)

    def jq(self, target: Mapping[str, JSON], program: str, **options: JSON) -> None:
        """Replace it by what a jq program makes of it."""
        self._patch("JQPatch", target, options, jqFilter=program)

    def delete(
        self, target: Mapping[str, JSON], cascade: str = "foreground", uid: str = "", resource_version: str = ""
    ) -> None:
        """Delete it and its dependents and wait for that (`foreground`), or not (`background`), or leave them
        (`orphan`); with `uid` or `resource_version` only the very object that was seen."""
        verbs = {"foreground": "Delete", "background": "DeleteInBackground", "orphan": "DeleteNonCascading"}
        seen = {"uid": uid, "resourceVersion": resource_version}
        self.operations.append(
            {"operation": verbs[cascade], **_target(target), **{key: text for key, text in seen.items() if text}}
        )

    def _write(self, verb: str, obj: Mapping[str, JSON], subresource: str) -> None:
        self.operations.append(
            {"operation": verb, "object": obj, **({"subresource": subresource} if subresource else {})}
        )

    def _patch(self, verb: str, target: Mapping[str, JSON], options: Mapping[str, JSON], **body: JSON) -> None:
        if unknown := [key for key in options if key not in _OPTIONS]:
            raise TypeError(f"a change of an object has no option '{unknown[0]}'{nearest(unknown[0], _OPTIONS)}")
        given = {_OPTIONS[key]: value for key, value in options.items() if value}
        self.operations.append({"operation": verb, **_target(target), **body, **given})


class Metrics:
    """What the run reports as metrics, under `/metrics/hooks`. Series of a `group` replace those of the run before."""

    def __init__(self) -> None:
        self.operations: list[dict[str, JSON]] = []

    def set(self, name: str, value: float, labels: Mapping[str, str] = _NO_LABELS, group: str = "") -> None:
        """A gauge."""
        self._report("set", group, name=name, value=value, labels=labels)

    def add(self, name: str, value: float = 1, labels: Mapping[str, str] = _NO_LABELS, group: str = "") -> None:
        """A counter."""
        self._report("add", group, name=name, value=value, labels=labels)

    def observe(
        self, name: str, value: float, buckets: Sequence[float], labels: Mapping[str, str] = _NO_LABELS, group: str = ""
    ) -> None:
        """A histogram."""
        self._report("observe", group, name=name, value=value, buckets=buckets, labels=labels)

    def expire(self, group: str) -> None:
        """Take away all series of a group."""
        self._report("expire", group)

    def _report(self, action: str, group: str, **rest: JSON) -> None:
        self.operations.append({"action": action, **rest, **({"group": group} if group else {})})


class Values:
    """Values of modules, of global hooks or of instances, at the start of the run, and changes of them. A path begins
    with the module's key or `global`."""

    def __init__(self, values: dict[str, JSON]) -> None:
        self.all = values
        self.patch: list[dict[str, JSON]] = []

    def get(self, path: Path, default: JSON = None) -> JSON:
        """What is there, or the default if nothing or null is."""
        value: JSON = self.all
        for key in _keys(path):
            value = value.get(key) if isinstance(value, dict) else None
        return default if value is None else value

    def set(self, path: Path, value: JSON) -> None:
        """Set a value. Objects on the way to it that are missing are made."""
        keys, node = _keys(path), self.all
        for place, key in enumerate(keys[:-1]):
            if not isinstance(node.get(key), dict):
                for inner in reversed(keys[place + 1 :]):
                    value = {inner: value}
                keys = keys[: place + 1]
                break
            node = node[key]
        node[keys[-1]] = value
        self.patch.append({"op": "add", "path": pointer_of(keys), "value": value})

    def remove(self, path: Path) -> None:
        """Take a value away; nothing happens if it is not there."""
        *way, last = _keys(path)
        holder = self.get(way) if way else self.all
        if isinstance(holder, dict) and last in holder:
            del holder[last]
            self.patch.append({"op": "remove", "path": pointer_of([*way, last])})

    def test(self, path: Path, value: JSON) -> None:
        """Let the run fail unless this value is there when the changes are made."""
        self.patch.append({"op": "test", "path": pointer_of(_keys(path)), "value": value})


class Conditions:
    """Conditions that a hook of an addon reports in the status of its instance."""

    def __init__(self) -> None:
        self.reports: list[dict[str, JSON]] = []

    def set(self, type: str, status: str, reason: str = "", message: str = "", healthy: bool = True) -> None:
        """Report one. With `healthy=False` the instance does not count as ready."""
        texts = {"reason": reason, "message": message}
        given = {key: text for key, text in texts.items() if text}
        self.reports.append({"type": type, "status": status, "healthy": healthy, **given})


def _target(target: Mapping[str, JSON]) -> dict[str, JSON]:
    metadata = target["metadata"]
    names = {"apiVersion": target.get("apiVersion"), "namespace": metadata.get("namespace"), "name": metadata["name"]}
    return {"kind": target["kind"], **{key: text for key, text in names.items() if text}}


def _keys(path: Path) -> list[str]:
    return path.split(".") if isinstance(path, str) else list(path)


def pointer_of(keys: Sequence[str]) -> str:
    """The path to a value, as RFC 6901 has it."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)

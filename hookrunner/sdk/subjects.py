"""What functions are given: events, reviews, snapshots, the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

JSON = Any


class Snapshot(list["dict[str, JSON]"]):
    """The entries of a binding, each with `object` and `filterResult` as far as the binding keeps them."""

    @property
    def objects(self) -> list[JSON]:
        """The objects."""
        return [entry["object"] for entry in self]

    @property
    def results(self) -> list[JSON]:
        """What the filter made of each."""
        return [entry.get("filterResult") for entry in self]


class Event:
    """Why a function runs: `type` is Added, Modified, Deleted or Synchronization, otherwise that of the context."""

    def __init__(self, context: Mapping[str, JSON], entry: Mapping[str, JSON]) -> None:
        self.context = context
        self.binding: str = context.get("binding", "")
        self.type: str = context.get("watchEvent") or context.get("type") or ""
        self.object: JSON = entry.get("object")
        self.filter_result: JSON = entry.get("filterResult")
        metadata = (self.object or {}).get("metadata") or {}
        self.name: str = metadata.get("name", "")
        self.namespace: str = metadata.get("namespace", "")


class Review:
    """An admission review. A mutating function changes `object` in place, or returns what it should be, or a JSON
    patch. `request` has everything."""

    def __init__(self, context: Mapping[str, JSON]) -> None:
        self.request: dict[str, JSON] = context["review"]["request"]
        self.object: JSON = self.request.get("object")
        self.old_object: JSON = self.request.get("oldObject")
        self.operation: str = self.request["operation"]
        self.name: str = self.request.get("name", "")
        self.namespace: str = self.request.get("namespace", "")
        self.user: dict[str, JSON] = self.request.get("userInfo") or {}
        self.dry_run = bool(self.request.get("dryRun"))
        self.verdict: dict[str, JSON] = {"allowed": True}

    def warn(self, text: str) -> None:
        """Show the user a warning."""
        self.verdict.setdefault("warnings", []).append(text)

    def annotate(self, key: str, text: str) -> None:
        """Add to the API server's audit log."""
        self.verdict.setdefault("auditAnnotations", {})[key] = text


class Log:
    """Records with a level and fields; `print` writes such of level info. `report` sends one, unless it returns False:
    then it is printed."""

    def __init__(self, report: Callable[[str, Mapping[str, JSON]], bool]) -> None:
        self._report = report

    def write(self, level: str, message: str, **fields: JSON) -> None:
        """One record."""
        record = {"level": level, "msg": message, **fields}
        if not self._report("log", record):
            print(json.dumps(record, default=str), flush=True)

    def debug(self, message: str, **fields: JSON) -> None:
        """For those who look for a mistake."""
        self.write("debug", message, **fields)

    def info(self, message: str, **fields: JSON) -> None:
        """What was done."""
        self.write("info", message, **fields)

    def warn(self, message: str, **fields: JSON) -> None:
        """What may need a person."""
        self.write("warn", message, **fields)

    def error(self, message: str, **fields: JSON) -> None:
        """What needs one."""
        self.write("error", message, **fields)

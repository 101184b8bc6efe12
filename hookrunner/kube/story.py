"""What the server sends about one selection, as reports, and how far it has come.

Pure reading; connections are `watch.py`'s. The one rule that matters most: a watch may be resumed from the version of a
list, a bookmark or a watch event, never from that of an object in a list, which may be years old (user-pains.md R3).
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import sys
from collections.abc import Sequence

import orjson

from hookrunner.errors import Cut, KubeError, Throttled, api_error
from hookrunner.model.bindings import Change
from hookrunner.model.resources import JSON, ObjectKey, Resource
from hookrunner.model.watching import Item, Listed, Report

# In the words of orjson, whose bound it is.
_TOO_DEEP = "depth limit exceeded"
_CHANGES = {"ADDED": Change.ADDED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}


class Story:
    """`version` is where a watch goes on, None while a list is needed or under way.

    `lists` counts the complete ones. `heard` says whether anything came after a list: a sign that the watch works.
    """

    def __init__(self) -> None:
        self.version: str | None = None
        self.lists = 0
        self.heard = False

    def page(self, resource: Resource, page: JSON) -> list[Report]:
        """One page of a list. Its objects lack what the list says for all of them. The last page completes it."""
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        reports: list[Report] = [_item(None, resource.kind, head | obj) for obj in page.get("items") or ()]
        if not page["metadata"].get("continue"):
            reports.append(self._listed(page))
        return reports

    def chunk(self, kind: str, lines: Sequence[bytes]) -> tuple[list[Report], KubeError | None]:
        """Some lines of a watch, and the error that it ended with, to be raised after the reports are told."""
        reports: list[Report] = []
        for line in filter(None, lines):
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                return reports, _unreadable(error)
            if event["type"] == "ERROR":
                return reports, self._error(event["object"])
            reports += self._told(event["type"], kind, event["object"])
        return reports, None

    def _told(self, event: str, kind: str, obj: JSON) -> list[Report]:
        """In a streamed list only its end (a marked bookmark) and deletions are more than "this exists"."""
        listing, change = self.version is None, _CHANGES.get(event)
        if listing and change is None:
            return self._list_end(obj)
        if not listing:
            self.version, self.heard = _version(obj), True
        if change is None:
            return []
        return [_item(None if listing and change is not Change.DELETED else change, kind, obj)]

    def _list_end(self, bookmark: JSON) -> list[Report]:
        annotations = bookmark["metadata"].get("annotations") or {}
        if annotations.get("k8s.io/initial-events-end") != "true":
            return []
        return [self._listed(bookmark)]

    def _listed(self, page: JSON) -> Listed:
        self.version = _version(page)
        self.lists += 1
        return Listed(self.version)

    def _error(self, status: JSON) -> KubeError:
        """An ERROR event carries a `Status`: begin again with a list, unless the server only asks for a pause."""
        error = api_error(status.get("code", 0), status.get("reason", ""), status.get("message", ""))
        if not isinstance(error, Throttled):
            self.version = None
        return error


def _unreadable(error: orjson.JSONDecodeError) -> KubeError:
    if _TOO_DEEP in str(error):
        return KubeError(f"an object is nested deeper than can be read: {_TOO_DEEP}, of 1,024 levels")
    return Cut("the watch broke off in the middle of an event")


def _version(obj: JSON) -> str:
    """The resourceVersion of an object or a list; some aggregated APIs have none."""
    return str(obj["metadata"].get("resourceVersion", ""))


def _item(change: Change | None, kind: str, obj: JSON) -> Item:
    """One copy of each namespace serves all objects in it: there may be 100,000 of them."""
    metadata = obj["metadata"]
    key = ObjectKey(sys.intern(metadata.get("namespace", "")), kind, metadata["name"])
    return Item(change, key, obj, _version(obj))

"""Decodes what the server sends about a selection: pages of lists and lines of a watch become reports.

    reports, error = cursor.read_lines(kind, lines)  # pure; the connections belong to `watch.py`

It remembers from which version to go on. The rule that matters most: a watch may be resumed from the version of a list,
a bookmark or a watch event, never from that of an object in a list, which may be years old.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

import sys
from collections.abc import Sequence

import orjson

from hookrunner.errors import Cut, KubeError, Throttled, api_error
from hookrunner.kube import deep_json
from hookrunner.model.bindings import Change
from hookrunner.model.events import ObjectSeen, Report, Synced
from hookrunner.model.resources import ObjectKey, Resource
from kubetypes.json_values import JSON

_CHANGES = {"ADDED": Change.ADDED, "MODIFIED": Change.MODIFIED, "DELETED": Change.DELETED}


class WatchCursor:
    """How far one watch has come.

    `version`: where the watch goes on; None while a list is needed or in progress.
    `lists`: the number of complete lists so far.
    `has_events`: whether anything came after a list, a sign that the watch works. `watch.py` resets it.
    """

    def __init__(self) -> None:
        self.version: str | None = None
        self.lists = 0
        self.has_events = False

    def read_page(self, resource: Resource, page: JSON) -> list[Report]:
        """The reports of one page of a list; the last page completes the list.

        Objects in a list lack `apiVersion` and `kind`, which the list states once for all of them.
        """
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        reports: list[Report] = [_seen(None, resource.kind, head | obj) for obj in page["items"]]
        if not page["metadata"].get("continue"):
            reports.append(self._synced(page))
        return reports

    def read_lines(self, kind: str, lines: Sequence[bytes]) -> tuple[list[Report], KubeError | None]:
        """The reports in these lines of a watch, and the error that ended it, to be raised after the reports."""
        reports: list[Report] = []
        for line in filter(None, lines):
            try:
                event = _decode(line)
            except orjson.JSONDecodeError:
                return reports, Cut("the watch broke off in the middle of an event")
            if event["type"] == "ERROR":
                return reports, self._error(event["object"])
            reports += self._read_event(event["type"], kind, event["object"])
        return reports, None

    def _read_event(self, event: str, kind: str, obj: JSON) -> list[Report]:
        """In a streamed list, only its end (a marked bookmark) and deletions mean more than "this object exists"."""
        listing, change = self.version is None, _CHANGES.get(event)
        if listing and change is None:
            return self._read_list_end(obj)
        if not listing:
            self.version, self.has_events = _version(obj), True
        if change is None:
            return []
        return [_seen(None if listing and change is not Change.DELETED else change, kind, obj)]

    def _read_list_end(self, bookmark: JSON) -> list[Report]:
        annotations = bookmark["metadata"].get("annotations") or {}
        if annotations.get("k8s.io/initial-events-end") != "true":
            return []
        return [self._synced(bookmark)]

    def _synced(self, page: JSON) -> Synced:
        self.version = _version(page)
        self.lists += 1
        return Synced(self.version)

    def _error(self, status: JSON) -> KubeError:
        """The error in an ERROR event, which carries a `Status`. Unless the server only asks for a pause, the next
        attempt begins with a list."""
        error = api_error(status.get("code", 0), status.get("reason", ""), status.get("message", ""))
        if not isinstance(error, Throttled):
            self.version = None
        return error


def _decode(line: bytes) -> JSON:
    """Raises orjson.JSONDecodeError."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return deep_json.parse(line)


def _version(obj: JSON) -> str:
    """The resourceVersion of an object or a list; some aggregated APIs have none."""
    return str(obj["metadata"].get("resourceVersion", ""))


def _seen(change: Change | None, kind: str, obj: JSON) -> ObjectSeen:
    """The namespace is interned: up to 100,000 objects share one copy of its name."""
    metadata = obj["metadata"]
    key = ObjectKey(sys.intern(metadata.get("namespace", "")), kind, metadata["name"])
    return ObjectSeen(change, key, obj, _version(obj))

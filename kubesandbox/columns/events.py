"""The columns of events, in the shape of `v1` and in that of `events.k8s.io/v1`: the same cells from other fields."""

from datetime import datetime

from kubesandbox.columns.ages import UNKNOWN, since
from kubesandbox.columns.parts import Cells, Object, Printer, at, name

CORE = {
    "first": "firstTimestamp",
    "last": "lastTimestamp",
    "count": "count",
    "about": "involvedObject",
    "message": "message",
    "source": "source",
    "component": "reportingComponent",
}
NEW = {
    "first": "deprecatedFirstTimestamp",
    "last": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "about": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "component": "reportingController",
}


def printer(keys: dict[str, str]) -> Printer:
    """Last Seen, Type, Reason, Object; Subobject, Source; Message; First Seen, Count, Name."""

    def cells(obj: Object, now: datetime) -> Cells:
        first, last = since(obj.get(keys["first"]), now), since(obj.get(keys["last"]), now)
        first = since(obj.get("eventTime"), now) if first == UNKNOWN else first
        last = first if last == UNKNOWN else last
        many = obj.get(keys["count"]) or 1
        if series := obj.get("series"):
            last, many = since(series.get("lastObservedTime"), now), series.get("count", 0)
        about = obj.get(keys["about"]) or {}
        target = about.get("kind", "").lower() + (f"/{about['name']}" if about.get("name") else "")
        cells = [last, obj.get("type", ""), obj.get("reason", ""), target, about.get("fieldPath", "")]
        return [*cells, _source(obj, keys), obj.get(keys["message"], "").strip(), first, many, name(obj)]

    return cells


def _source(obj: Object, keys: dict[str, str]) -> str:
    """`kubelet, node-1`."""
    component = at(obj, f"{keys['source']}.component") or obj.get(keys["component"]) or ""
    instance = at(obj, f"{keys['source']}.host") or obj.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else str(component)


CELLS = {"events": printer(CORE), "events.events.k8s.io": printer(NEW)}

"""The status of an `Addon`, made of its components. Pure: the same components make the same status.

    make_status("coredns", components, ["1.14.2"], present, "2026-07-01T12:00:00Z")

The phase is that of the components together, as kstatus adds them up: one that failed outweighs all others, and with
one of unknown health nothing is called current. A component that does not exist is no reference, but it counts: an
object that a release has and the cluster has not.
Source: https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus
"""

from collections.abc import Iterable, Sequence

import orjson

from hookrunner.discovery.components import Component
from hookrunner.model.addons import DISCOVERY_LABEL
from hookrunner.model.status import some
from kubetypes.json_values import JSON

READY = "Ready"
MOST_REFERENCES = 1000
"""An object may have 1.5 MiB; the message says how many components are not listed."""
MOST_TEXT_BYTES = 512 * 1024
"""Of the messages and conditions of all references together; those of further ones are left out. Names may take as much
again."""

_LONGEST = 1024
_OWN = ("phase", "version", "components")


def make_status(
    addon: str, components: Iterable[Component], versions: Iterable[str], present: JSON, now: str
) -> dict[str, JSON]:
    """The status of the addon of this name. `present` is its present condition `Ready`, None without one: its time
    stays while its status does. `now` is the time, RFC 3339."""
    ordered = sorted(components, key=_place)
    existing = [component for component in ordered if component.health.status != "NotFound"]
    current = sum(component.health.is_current for component in ordered)
    label = {"key": f"{DISCOVERY_LABEL}{addon}", "operator": "Exists"}
    phase = phase_of(ordered)
    return {
        "phase": phase,
        "version": ", ".join(sorted(set(filter(None, versions)))),
        "components": {
            "labelSelector": {"matchExpressions": [label]},
            "current": f"{current}/{len(ordered)}",
            "refs": _references(existing[:MOST_REFERENCES]),
        },
        "conditions": [_ready(phase, ordered, present, now)],
    }


def phase_of(components: Sequence[Component]) -> str:
    """`Failed`, `Unknown`, `Current` or `InProgress`."""
    words = {component.health.status for component in components}
    for word in ("Failed", "Unknown"):
        if word in words:
            return word
    return "Current" if words <= {"Current"} else "InProgress"


def own_part(status: JSON) -> tuple[bytes, JSON]:
    """What we write of a status, without the time in it, as bytes to be compared; and its condition `Ready`, None
    without one."""
    fields = status if isinstance(status, dict) else {}
    entries = fields.get("conditions")
    conditions = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    ready = next((entry for entry in conditions if entry.get("type") == READY), None)
    timeless = {key: value for key, value in (ready or {}).items() if key != "lastTransitionTime"}
    parts = [*(fields.get(key) for key in _OWN), timeless]
    return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS), ready


def _place(component: Component) -> tuple[str, ...]:
    group, key = component.identity
    return (key.kind, key.namespace, key.name, group)


def _references(components: Sequence[Component]) -> list[JSON]:
    references, room = list[JSON](), MOST_TEXT_BYTES
    for component in components:
        texts = {"message": component.health.message[:_LONGEST], "conditions": component.conditions}
        room -= len(orjson.dumps(texts))
        references.append(_reference(component) | {name: text for name, text in texts.items() if text and room >= 0})
    return references


def _reference(component: Component) -> dict[str, JSON]:
    key, status = component.key, component.health.status
    parts = {"apiVersion": component.api_version, "kind": key.kind, "namespace": key.namespace, "name": key.name}
    return {name: part for name, part in (parts | {"status": status}).items() if part}


def _ready(phase: str, components: Sequence[Component], present: JSON, now: str) -> JSON:
    status = {"Current": "True", "Unknown": "Unknown"}.get(phase, "False")
    since = present.get("lastTransitionTime") if present and present.get("status") == status else None
    message = _message(components)
    return {"type": READY, "status": status, "reason": phase, "message": message, "lastTransitionTime": since or now}


def _message(components: Sequence[Component]) -> str:
    """What is not current, those first that make the phase; and what is not listed."""
    phase = phase_of(components)
    others = [component for component in components if not component.health.is_current]
    others.sort(key=lambda component: component.health.status != phase)
    lines = [f"{component}: {component.health.message or component.health.status}" for component in others]
    more = len(components) - MOST_REFERENCES
    return "; ".join(filter(None, (some(lines, "; ")[:_LONGEST], f"{more} components are not listed" * (more > 0))))

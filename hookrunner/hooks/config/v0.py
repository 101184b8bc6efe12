"""The legacy configuration without `configVersion`: its rules and its `HookConfig`.

Where shell-operator's v0 crashes or does nothing, this does what was meant: an omitted `event` means all three, and a
selector that the API server would refuse is refused here.
"""

from collections.abc import Iterator

from hookrunner.hooks import shapes
from hookrunner.hooks.config import admission, selectors
from hookrunner.hooks.config.rules import items, schedule
from hookrunner.hooks.config.schema import V0, V0_OF, HookKind, lifecycle
from hookrunner.hooks.shapes import Problem, check
from hookrunner.model.bindings import Change, HookConfig, Kubernetes, Schedule
from kubetypes.json_values import JSON

_CHANGES = {"add": Change.ADDED, "update": Change.MODIFIED, "delete": Change.DELETED}


def lenient(raw: JSON) -> JSON:
    """An answer whose items are read without a schema, as ever: nulls are nothing, `name: 1` is a text."""
    return {key: shapes.lenient(value, V0.keys[key]) if key in V0.keys else value for key, value in raw.items()}


def problems(raw: JSON, kind: HookKind = HookKind.PLAIN) -> Iterator[Problem]:
    """All problems of the answer of a hook of this kind."""
    wrong = list(check(raw, V0_OF[kind]))
    yield from wrong
    if wrong and "configVersion" not in raw:
        yield Problem("configVersion", "is not there, so this was read as v0; add `configVersion: v1` if it is not")
    for path, item in items(raw, "schedule", wrong):
        yield from schedule(path, {"crontab": item.get("crontab", "")})
    for path, item in items(raw, "onKubernetesEvent", wrong):
        yield from _kubernetes_problems(path, item)


def read(raw: JSON) -> HookConfig:
    """The configuration. `raw` has passed `problems`."""
    return HookConfig(
        version="v0",
        on_startup=float(raw["onStartup"]) if "onStartup" in raw else None,
        lifecycle=lifecycle(raw),
        schedules=tuple(
            Schedule(item.get("name") or "schedule", item["crontab"], allow_failure=item.get("allowFailure", False))
            for item in raw.get("schedule", [])
        ),
        kubernetes=tuple(map(_kubernetes, raw.get("onKubernetesEvent", []))),
    )


def _kubernetes_problems(path: str, item: JSON) -> Iterator[Problem]:
    for event in item.get("event", []):
        if event not in _CHANGES:
            yield Problem(f"{path}.event", "is invalid: the event is unsupported; use add, update or delete", event)
    yield from admission.label_selector(f"{path}.selector", item.get("selector"))


def _kubernetes(raw: JSON) -> Kubernetes:
    """Objects themselves are never shown to a v0 hook, so none are kept; it never hears of a Synchronization."""
    namespaces = raw.get("namespaceSelector", {})
    return Kubernetes(
        name=raw.get("name") or "onKubernetesEvent",
        kind=raw.get("kind", ""),
        changes=frozenset(_CHANGES[event] for event in raw.get("event", _CHANGES)),
        run_on_synchronization=False,
        keep_full_objects=False,
        jq_filter=raw.get("jqFilter", ""),
        names=(raw["objectName"],) if raw.get("objectName") else (),
        namespaces=() if namespaces.get("any") else tuple(dict.fromkeys(namespaces.get("matchNames", []))),
        labels=selectors.labels(raw.get("selector", {})),
        allow_failure=raw.get("allowFailure", False),
    )

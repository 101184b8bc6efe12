"""The answer of a hook to `--config` as its `HookConfig`: which version it has, then the rules of that version, every
default and effective include.

The legacy version v0 has no `configVersion`. Where shell-operator's v0 crashes or does nothing, this does what was
meant: an omitted `event` means all three, and a selector that the API server would refuse is refused here.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from hookrunner import redaction, shapes
from hookrunner.errors import BadHookConfig
from hookrunner.hooks import documents
from hookrunner.hooks.config import permissions, rules, selectors
from hookrunner.hooks.config.schema import V0, V0_OF, HookKind, lifecycle
from hookrunner.model.bindings import (
    LONGEST_LINE,
    MAIN,
    Admission,
    Change,
    ConversionBinding,
    HookConfig,
    HookSettings,
    Kubernetes,
    QueueRules,
    Resident,
    Schedule,
)
from hookrunner.options import duration, size
from hookrunner.shapes import MOST_PROBLEMS, Problem, check
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

_KEY = "configVersion"


def parse(hook: str, output: bytes, kind: HookKind = HookKind.PLAIN) -> HookConfig:
    """The configuration of the hook named `hook`. jq filters are not compiled here.

    Raises BadHookConfig with every problem that can be found, of very many with the first ones.
    """
    try:
        raw = _mapping(output)
        is_v1 = _is_v1(raw)
        raw = raw if is_v1 else lenient_v0(raw)
    except ValueError as error:
        raise BadHookConfig(hook, [str(error)]) from None
    found = rules.problems(raw, kind) if is_v1 else v0_problems(raw, kind)
    if problems := list(islice(found, MOST_PROBLEMS)):
        raise BadHookConfig(hook, [*map(str, problems)], values=[problem.value for problem in problems])
    return _read_v1(raw) if is_v1 else read_v0(raw)


def _mapping(output: bytes) -> dict[str, JSON]:
    """Raises ValueError. An empty answer is an empty configuration."""
    try:
        raw = documents.first(output)
    except BadDocument as error:
        raise ValueError(f"config unmarshal: {error}") from None
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ValueError(f"config unmarshal: keys with values are expected, not {redaction.described(raw)}")
    return raw


def _is_v1(raw: dict[str, JSON]) -> bool:
    """False: v0. Raises ValueError."""
    match raw.get(_KEY, "v0"):
        case "v0" | "v1" as version:
            return bool(version == "v1")
        case None:
            raise ValueError(f"config version: missing '{_KEY}' value; write `{_KEY}: v1`")
        case str():
            raise ValueError(f"config version: '{_KEY}' value is unsupported; write `{_KEY}: v1`")
        case _:
            raise ValueError(f"config version: string value is expected for key '{_KEY}'; write `{_KEY}: v1`")


_Groups = Mapping[str, Sequence[str]]


def _read_v1(raw: JSON) -> HookConfig:
    """The configuration. `raw` has passed `rules.problems`."""
    kubernetes = raw.get("kubernetes", [])
    groups = rules.snapshot_groups(kubernetes)
    return HookConfig(
        version="v1",
        on_startup=float(raw["onStartup"]) if "onStartup" in raw else None,
        lifecycle=lifecycle(raw),
        settings=_settings(raw.get("settings", {})),
        schedules=tuple(_schedule(item, groups) for item in raw.get("schedule", [])),
        kubernetes=tuple(_kubernetes(item, groups) for item in kubernetes),
        validating=tuple(_admission(item, groups) for item in raw.get("kubernetesValidating", [])),
        mutating=tuple(_admission(item, groups) for item in raw.get("kubernetesMutating", [])),
        conversions=tuple(_conversion(item, groups) for item in raw.get("kubernetesCustomResourceConversion", [])),
    )


def _settings(raw: JSON) -> HookSettings:
    return HookSettings(
        min_interval=max(0.0, duration(raw.get("executionMinInterval", "0"))),
        burst=int(raw.get("executionBurst", 0)) or 1,
        timeout=max(0.0, duration(raw.get("timeout", "0"))) or None,
        combine=raw.get("combine", True),
        on_failure=raw.get("onFailure", "retry"),
        max_attempts=int(raw.get("maxAttempts", 0)),
        on_dry_run=raw.get("onDryRun", "run"),
        on_review_patches=raw.get("onReviewPatches", "apply"),
        fork=raw.get("fork", True),
        permissions=permissions.read_permissions(raw["permissions"]) if "permissions" in raw else None,
        resident=_resident(raw.get("resident", False)),
        queues={name: _queue_rules(queue) for name, queue in raw.get("queues", {}).items()},
    )


def _queue_rules(raw: JSON) -> QueueRules:
    return QueueRules(int(raw.get("concurrency", 1)), raw.get("orderBy", "binding"))


def _resident(raw: JSON) -> Resident | None:
    if isinstance(raw, bool):
        return Resident() if raw else None
    return Resident(
        workers=int(raw.get("workers", 1)),
        idle=max(0.0, duration(raw.get("idle", "5m"))),
        max_runs=int(raw.get("maxRuns", 10_000)),
        max_memory=size(raw.get("maxMemory", "0")),
        fallback=raw.get("fallback", False),
        max_line=size(raw["maxLine"]) if "maxLine" in raw else LONGEST_LINE,
    )


def _schedule(raw: JSON, groups: _Groups) -> Schedule:
    return Schedule(
        name=raw.get("name") or "schedule",
        crontab=raw["crontab"],
        timezone=raw.get("timezone", ""),
        queue=raw.get("queue") or MAIN,
        group=raw.get("group", ""),
        allow_failure=raw.get("allowFailure", False),
        snapshots=rules.effective_includes(raw, groups),
    )


def _kubernetes(raw: JSON, groups: _Groups) -> Kubernetes:
    namespace = raw.get("namespace", {})
    return Kubernetes(
        name=raw.get("name") or rules.UNNAMED,
        kind=raw["kind"],
        api_version=raw.get("apiVersion", "").removeprefix("/"),
        # `executeHookOnEvent` wins over its old name, even if it is empty.
        changes=frozenset(map(Change, raw.get("executeHookOnEvent", raw.get("watchEvent", tuple(Change))))),
        run_on_synchronization=raw.get("executeHookOnSynchronization", True),
        # Without a queue of its own a binding has nowhere else to synchronize, so `false` means nothing.
        wait_for_synchronization=raw.get("waitForSynchronization", True) or not raw.get("queue"),
        synchronize_each_object=raw.get("synchronizeEachObject", False),
        optional=raw.get("optional", False),
        keep_full_objects=raw.get("keepFullObjectsInMemory", True),
        jq_filter=raw.get("jqFilter", ""),
        names=_names(raw.get("nameSelector")),
        # A label selector for namespaces makes them dynamic and the list of names meaningless.
        namespaces=() if "labelSelector" in namespace else _names(namespace.get("nameSelector")),
        namespace_labels=selectors.labels(namespace["labelSelector"]) if "labelSelector" in namespace else None,
        labels=selectors.labels(raw.get("labelSelector", {})),
        fields=selectors.fields(raw.get("fieldSelector", {"matchExpressions": []})),
        queue=raw.get("queue") or MAIN,
        group=raw.get("group", ""),
        allow_failure=raw.get("allowFailure", False),
        snapshots=rules.effective_includes(raw, groups),
    )


def _names(selector: JSON) -> tuple[str, ...]:
    return tuple(dict.fromkeys(selector["matchNames"])) if selector else ()


def _admission(raw: JSON, groups: _Groups) -> Admission:
    return Admission(
        name=raw["name"],
        rules=tuple(raw.get("rules", [])),
        failure_policy=raw.get("failurePolicy", "Fail"),
        side_effects=raw.get("sideEffects", "None"),
        timeout_seconds=int(raw.get("timeoutSeconds", 10)),
        reinvocation_policy=raw.get("reinvocationPolicy", ""),
        match_conditions=tuple(raw.get("matchConditions", [])),
        object_selector=raw.get("labelSelector"),
        namespace_selector=raw.get("namespace", {}).get("labelSelector"),
        group=raw.get("group", ""),
        snapshots=rules.effective_includes(raw, groups),
    )


def _conversion(raw: JSON, groups: _Groups) -> ConversionBinding:
    return ConversionBinding(
        name=raw["name"],
        crd=raw["crdName"],
        rules=tuple((rule["fromVersion"], rule["toVersion"]) for rule in raw["conversions"]),
        group=raw.get("group", ""),
        snapshots=rules.effective_includes(raw, groups),
    )


_V0_CHANGES = {"add": Change.ADDED, "update": Change.MODIFIED, "delete": Change.DELETED}


def lenient_v0(raw: JSON) -> JSON:
    """An answer as the predecessor reads it, without a schema: nulls are left out, `name: 1` is a text."""
    return {key: shapes.lenient(value, V0.keys[key]) if key in V0.keys else value for key, value in raw.items()}


def v0_problems(raw: JSON, kind: HookKind = HookKind.PLAIN) -> Iterator[Problem]:
    """All problems of the answer of a hook of this kind."""
    wrong = list(check(raw, V0_OF[kind]))
    yield from wrong
    if wrong and "configVersion" not in raw:
        yield Problem("configVersion", "is not there, so this was read as v0; add `configVersion: v1` if it is not")
    for path, item in rules.items(raw, "schedule", wrong):
        yield from rules.schedule(path, {"crontab": item.get("crontab", "")})
    for path, item in rules.items(raw, "onKubernetesEvent", wrong):
        yield from _v0_kubernetes_problems(path, item)


def read_v0(raw: JSON) -> HookConfig:
    """The configuration. `raw` has passed `v0_problems`."""
    return HookConfig(
        version="v0",
        on_startup=float(raw["onStartup"]) if "onStartup" in raw else None,
        lifecycle=lifecycle(raw),
        schedules=tuple(
            Schedule(item.get("name") or "schedule", item["crontab"], allow_failure=item.get("allowFailure", False))
            for item in raw.get("schedule", [])
        ),
        kubernetes=tuple(map(_v0_kubernetes, raw.get("onKubernetesEvent", []))),
    )


def _v0_kubernetes_problems(path: str, item: JSON) -> Iterator[Problem]:
    for event in item.get("event", []):
        if event not in _V0_CHANGES:
            yield Problem(f"{path}.event", "is invalid: the event is unsupported; use add, update or delete", event)
    yield from selectors.label_problems(f"{path}.selector", item.get("selector"))


def _v0_kubernetes(raw: JSON) -> Kubernetes:
    """Objects themselves are never shown to a v0 hook, so none are kept; it gets no Synchronization."""
    namespaces = raw.get("namespaceSelector", {})
    return Kubernetes(
        name=raw.get("name") or "onKubernetesEvent",
        kind=raw.get("kind", ""),
        changes=frozenset(_V0_CHANGES[event] for event in raw.get("event", _V0_CHANGES)),
        run_on_synchronization=False,
        keep_full_objects=False,
        jq_filter=raw.get("jqFilter", ""),
        names=(raw["objectName"],) if raw.get("objectName") else (),
        namespaces=() if namespaces.get("any") else tuple(dict.fromkeys(namespaces.get("matchNames", []))),
        labels=selectors.labels(raw.get("selector", {})),
        allow_failure=raw.get("allowFailure", False),
    )

"""The answer of a hook to `--config` as its `HookConfig`: which version it has, then the rules of that version. A v1
configuration is read here, with every default and effective include; the legacy one in `v0.py`."""

from collections.abc import Mapping, Sequence

from hookrunner import redaction
from hookrunner.errors import BadHookConfig
from hookrunner.hooks import documents
from hookrunner.hooks.config import rules, selectors, v0
from hookrunner.hooks.config.schema import HookKind, lifecycle
from hookrunner.model.bindings import (
    MAIN,
    Admission,
    Change,
    ConversionBinding,
    HookConfig,
    HookSettings,
    Kubernetes,
    Schedule,
)
from hookrunner.options import duration
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

_KEY = "configVersion"


def parse(hook: str, output: bytes, kind: HookKind = HookKind.PLAIN) -> HookConfig:
    """The configuration of the hook named `hook`. jq filters are not compiled here.

    Raises BadHookConfig with every problem that can be found.
    """
    try:
        raw = _mapping(output)
        is_v1 = _is_v1(raw)
        raw = raw if is_v1 else v0.lenient(raw)
    except ValueError as error:
        raise BadHookConfig(hook, [str(error)]) from None
    if found := list(rules.problems(raw, kind) if is_v1 else v0.problems(raw, kind)):
        raise BadHookConfig(hook, [*map(str, found)], values=[problem.value for problem in found])
    return _read_v1(raw) if is_v1 else v0.read(raw)


def _mapping(output: bytes) -> dict[str, JSON]:
    """Raises ValueError. An answer that says nothing is an empty configuration."""
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
        changes=_changes(raw),
        run_on_synchronization=raw.get("executeHookOnSynchronization", True),
        # Without a queue of its own a binding has nowhere else to synchronize, so `false` means nothing.
        wait_for_synchronization=raw.get("waitForSynchronization", True) or not raw.get("queue"),
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


def _changes(raw: JSON) -> frozenset[Change]:
    """`executeHookOnEvent` wins over its old name `watchEvent`, even if it is empty."""
    return frozenset(map(Change, raw.get("executeHookOnEvent", raw.get("watchEvent", tuple(Change)))))


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

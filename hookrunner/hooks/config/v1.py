"""A v1 configuration without problems as a `HookConfig`: every default and effective include (shell-operator.md §2)."""

from collections.abc import Mapping, Sequence

from hookrunner.hooks.config import includes, selectors
from hookrunner.hooks.config.kinds import lifecycle
from hookrunner.model.bindings import (
    MAIN,
    Admission,
    Change,
    Conversion,
    HookConfig,
    HookSettings,
    Kubernetes,
    Schedule,
)
from hookrunner.model.resources import JSON
from hookrunner.options import duration

_Groups = Mapping[str, Sequence[str]]


def read(raw: JSON) -> HookConfig:
    """The configuration. `raw` has passed `rules.problems`."""
    kubernetes = raw.get("kubernetes", [])
    groups = includes.groups(kubernetes)
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
        snapshots=includes.effective(raw, groups),
    )


def _kubernetes(raw: JSON, groups: _Groups) -> Kubernetes:
    namespace = raw.get("namespace", {})
    return Kubernetes(
        name=raw.get("name") or includes.UNNAMED,
        kind=raw["kind"],
        api_version=raw.get("apiVersion", "").removeprefix("/"),
        changes=_changes(raw),
        run_on_synchronization=raw.get("executeHookOnSynchronization", True),
        # Without a queue of its own a binding has nowhere else to synchronize, so `false` means nothing (§2.3).
        wait_for_synchronization=raw.get("waitForSynchronization", True) or not raw.get("queue"),
        keep_full_objects=raw.get("keepFullObjectsInMemory", True),
        jq_filter=raw.get("jqFilter", ""),
        names=_names(raw.get("nameSelector")),
        # A label selector for namespaces makes them dynamic and the list of names meaningless (§4.2).
        namespaces=() if "labelSelector" in namespace else _names(namespace.get("nameSelector")),
        namespace_labels=selectors.labels(namespace["labelSelector"]) if "labelSelector" in namespace else None,
        labels=selectors.labels(raw.get("labelSelector", {})),
        fields=selectors.fields(raw.get("fieldSelector", {"matchExpressions": []})),
        queue=raw.get("queue") or MAIN,
        group=raw.get("group", ""),
        allow_failure=raw.get("allowFailure", False),
        snapshots=includes.effective(raw, groups),
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
        snapshots=includes.effective(raw, groups),
    )


def _conversion(raw: JSON, groups: _Groups) -> Conversion:
    return Conversion(
        name=raw["name"],
        crd=raw["crdName"],
        rules=tuple((rule["fromVersion"], rule["toVersion"]) for rule in raw["conversions"]),
        group=raw.get("group", ""),
        snapshots=includes.effective(raw, groups),
    )

"""What a hook asked for, as JSON in one spelling, whatever the spelling in its files: for people, tests and goldens."""

from dataclasses import fields
from typing import Any

from hookrunner.model.bindings import HookConfig
from hookrunner.model.operations import MetricOperation, ObjectOperation, Verb
from hookrunner.model.resources import JSON

_BODY = {Verb.MERGE_PATCH: "mergePatch", Verb.JSON_PATCH: "jsonPatch"}
_CREATES = (Verb.CREATE, Verb.CREATE_OR_UPDATE, Verb.CREATE_IF_NOT_EXISTS, Verb.APPLY)


def patch(operation: ObjectOperation) -> JSON:
    """A document of the patch file; what has its default is left out."""
    if operation.verb in _CREATES:
        return _without_nothing(
            {"operation": str(operation.verb), "subresource": operation.subresource, "object": operation.body}
        )
    document = {
        "operation": str(operation.verb),
        "apiVersion": operation.api_version,
        "kind": operation.kind,
        "namespace": operation.namespace,
        "name": operation.name,
        "subresource": operation.subresource,
        "jqFilter": operation.jq_filter,
        "ignoreMissingObject": operation.ignore_missing,
        "ignoreHookError": operation.ignore_hook_error,
    }
    if operation.verb in _BODY:
        document[_BODY[operation.verb]] = operation.body
    return _without_nothing(document)


def metric(operation: MetricOperation) -> JSON:
    """A document of the metrics file."""
    expire = operation.action == "expire"
    document = {
        "name": operation.name,
        "group": operation.group,
        "action": str(operation.action),
        "value": None if expire else _number(operation.value),
        "buckets": [_number(bound) for bound in operation.buckets],
        "labels": dict(operation.labels),
    }
    return _without_nothing(document)


def config(found: HookConfig) -> JSON:
    """The effective configuration, every default written out. Durations are seconds."""
    return {
        "configVersion": found.version,
        "onStartup": _json(found.on_startup),
        **{str(type): order for type, order in found.lifecycle.items()},
        "settings": _plain(found.settings),
        "schedule": [_plain(binding) for binding in found.schedules],
        "kubernetes": [_plain(binding) for binding in found.kubernetes],
        "kubernetesValidating": [_plain(binding) for binding in found.validating],
        "kubernetesMutating": [_plain(binding) for binding in found.mutating],
        "kubernetesCustomResourceConversion": [_plain(binding) for binding in found.conversions],
    }


_KEYS = {
    "min_interval": "executionMinInterval",
    "burst": "executionBurst",
    "changes": "executeHookOnEvent",
    "run_on_synchronization": "executeHookOnSynchronization",
    "keep_full_objects": "keepFullObjectsInMemory",
    "names": "nameSelector",
    "namespaces": "namespace.nameSelector",
    "namespace_labels": "namespace.labelSelector",
    "labels": "labelSelector",
    "fields": "fieldSelector",
    "object_selector": "labelSelector",
    "namespace_selector": "namespace.labelSelector",
    "snapshots": "includeSnapshotsFrom",
    "crd": "crdName",
}
"""Where the key in a hook's configuration is not our field's name in camel case. `conversions` has `rules` too, but as
pairs."""


def _plain(value: Any) -> JSON:
    """A frozen data class of `model/bindings` with the keys that the user writes."""
    return {_key(field.name): _json(getattr(value, field.name)) for field in fields(value)}


def _key(name: str) -> str:
    first, *rest = name.split("_")
    return _KEYS.get(name) or first + "".join(map(str.capitalize, rest))


def _json(value: Any) -> JSON:
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | int:
    """Whole numbers without a point, as they are written."""
    return int(value) if value.is_integer() else value


def _without_nothing(document: dict[str, JSON]) -> JSON:
    return {key: value for key, value in document.items() if value not in ("", None, False, {}, [])}

"""A hook's configuration and its operations as JSON in one spelling, whatever the spelling in its files; JSON as YAML
and as unified diffs. For people, tests and golden files."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import yaml

from hookrunner.manifests.role_objects import to_rule
from hookrunner.model.bindings import HookConfig
from hookrunner.model.operations import MetricOperation, ObjectOperation, Verb
from hookrunner.model.resources import key_of
from hookrunner.model.rights import Right
from kubetypes.json_values import JSON
from kubetypes.yaml_values import YAML_1_2

_BODY = {Verb.MERGE_PATCH: "mergePatch", Verb.JSON_PATCH: "jsonPatch"}
_CREATES = (Verb.CREATE, Verb.CREATE_OR_UPDATE, Verb.CREATE_IF_NOT_EXISTS, Verb.APPLY)


def patch_document(operation: ObjectOperation) -> JSON:
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
        "uid": operation.uid,
        "resourceVersion": operation.version,
        "ignoreMissingObject": operation.ignore_missing,
        "ignoreHookError": operation.ignore_hook_error,
    }
    if operation.verb in _BODY:
        document[_BODY[operation.verb]] = operation.body
    return _without_nothing(document)


def metric_document(operation: MetricOperation) -> JSON:
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


def config_document(config: HookConfig) -> JSON:
    """The effective configuration, every default written out. Durations are seconds."""
    return {
        "configVersion": config.version,
        "onStartup": _json(config.on_startup),
        **{str(type): order for type, order in config.lifecycle.items()},
        "settings": _plain(config.settings),
        "schedule": [_plain(binding) for binding in config.schedules],
        "kubernetes": [_plain(binding) for binding in config.kubernetes],
        "kubernetesValidating": [_plain(binding) for binding in config.validating],
        "kubernetesMutating": [_plain(binding) for binding in config.mutating],
        "kubernetesCustomResourceConversion": [_plain(binding) for binding in config.conversions],
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
    if isinstance(value, Right):
        return to_rule(value) | ({"namespaces": [value.namespace]} if value.namespace else {})
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _json(item) for key, item in value.items()}
    if is_dataclass(value):
        return _plain(value)
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | int:
    """Whole numbers without a point, as they are written."""
    return int(value) if value.is_integer() else value


def _without_nothing(document: dict[str, JSON]) -> JSON:
    return {key: value for key, value in document.items() if value not in ("", None, False, {}, [])}


def name_of(obj: JSON) -> str:
    """`ConfigMap/default/settings`."""
    return str(key_of(obj)).lstrip("/")


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, lists indented, nothing shared shown as an alias."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    """What only our own reader takes for a number is quoted, too: `1e3`, `0o17`."""
    other = "'" if YAML_1_2.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value.rstrip("\n") else other)


_Dumper.add_representer(str, _text)


def as_yaml(value: JSON, *, is_short: bool = False) -> str:
    """A value as YAML in its own order of keys; nothing for None. In short, a map or list that holds no other stands on
    one line."""
    if value is None:
        return ""
    style = None if is_short else False
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=style
    )
    return text.removesuffix("...\n")


def yaml_diff(before: JSON, after: JSON, name_before: str, name_after: str) -> Iterator[str]:
    """The lines of a unified diff without newlines; none if the values are equal."""
    first, second = as_yaml(before).splitlines(), as_yaml(after).splitlines()
    yield from difflib.unified_diff(first, second, name_before, name_after, lineterm="")

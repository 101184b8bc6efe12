"""Check of jq filters whose result changes with every write or heartbeat, so that no event is ever held back.

Not by the text of the filter, which may hide anything: it is run on two objects that differ in nothing else.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy

from hookrunner.errors import BadFilter, FilterFailed
from hookrunner.jq.program import Jq
from hookrunner.linting.findings import Remark
from hookrunner.linting.hook_source import Source
from hookrunner.model.bindings import Change, HookConfig, Kubernetes
from kubetypes.json_values import JSON

_OBJECT: JSON = {
    "apiVersion": "v1",
    "kind": "Sample",
    "metadata": {
        "name": "sample",
        "namespace": "default",
        "uid": "0e2ab2a0-5f8a-4d6c-9f6e-3a1a0e4fd3aa",
        "resourceVersion": "1000",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "sample"},
        "annotations": {"note": "sample"},
        "ownerReferences": [],
        "finalizers": [],
        "managedFields": [{"manager": "kubectl", "operation": "Update", "time": "2026-01-01T00:00:00Z"}],
    },
    "spec": {"replicas": 1, "renewTime": "2026-01-01T00:00:00.000000Z"},
    "data": {"key": "dmFsdWU="},
    "status": {
        "phase": "Running",
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    },
}
_LATER = "2026-01-01T00:00:10Z"
_NODES = ("node", "nodes", "no")
_LEASES = ("lease", "leases")


async def check_filters(source: Source, config: HookConfig, jq: Jq) -> list[Remark]:
    """Remarks on filters that let through what changes by itself. One that fails on the sample is not judged."""
    found: list[Remark] = []
    for binding in config.kubernetes:
        if binding.jq_filter and Change.MODIFIED in binding.changes:
            found += [_remark(source, binding, what) for what in await _passing(binding, jq)]
    return found


async def _passing(binding: Kubernetes, jq: Jq) -> list[str]:
    """The first of the moving fields that gets through the filter."""
    changed = dict(_changed(binding.kind.lower()))
    try:
        compiled = await jq.compile(binding.jq_filter)
    except BadFilter:
        return []
    before, *after = await jq.apply(compiled, [_OBJECT, *changed.values()])
    if isinstance(before, FilterFailed):
        return []
    moving = [what for what, result in zip(changed, after, strict=True) if result != before]
    return moving[:1]


def _changed(kind: str) -> Iterator[tuple[str, JSON]]:
    """The sample with a field changed that the API server or a controller changes by itself."""
    yield "metadata.resourceVersion", _with(_OBJECT, ("metadata", "resourceVersion"), "1001")
    fields = [{"manager": "kubectl", "operation": "Update", "time": _LATER}]
    yield "metadata.managedFields", _with(_OBJECT, ("metadata", "managedFields"), fields)
    if kind in _NODES:
        conditions = [_OBJECT["status"]["conditions"][0] | {"lastHeartbeatTime": _LATER}]
        yield "status.conditions[].lastHeartbeatTime", _with(_OBJECT, ("status", "conditions"), conditions)
    if kind in _LEASES:
        yield "spec.renewTime", _with(_OBJECT, ("spec", "renewTime"), _LATER)


def _with(obj: Mapping[str, JSON], path: tuple[str, str], value: JSON) -> JSON:
    copy: JSON = deepcopy(dict(obj))
    copy[path[0]][path[1]] = value
    return copy


def _remark(source: Source, binding: Kubernetes, what: str) -> Remark:
    line = binding.jq_filter.strip().partition("\n")[0]
    return Remark(
        "filter-noisy",
        source.find(line, "jqFilter"),
        f"the filter of '{binding.name}' lets {what} through, so each write is an event and none is held back; keep "
        "only the fields that the hook reads, such as {labels: .metadata.labels}",
    )

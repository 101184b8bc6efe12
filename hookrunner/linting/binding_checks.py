"""Checks of what a hook declares: bindings that load and cannot do what their author meant; in hooks that use the shell
framework, bindings without a handler and handlers without a binding; jq filters whose result changes with every write
or heartbeat, so that no event is ever held back.

Filters are not judged by their text, which may hide anything: they run on two objects that differ in nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from datetime import datetime
from itertools import pairwise

from hookrunner import cron
from hookrunner.errors import BadFilter, FilterFailed
from hookrunner.jq.program import Jq
from hookrunner.linting.findings import Remark
from hookrunner.linting.hook_source import Language, Source
from hookrunner.model.bindings import (
    MAIN,
    Admission,
    Change,
    ConversionBinding,
    HookConfig,
    Kubernetes,
    QueuedBinding,
    Schedule,
)
from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON

_WRITES = re.compile(r"\bKUBERNETES_PATCH_PATH\b|\bkubectl\b")
_WRITES_IN_PYTHON = re.compile(
    r"""\bKUBERNETES_PATCH_PATH\b|(?<=["'])kubectl\b|\bcluster\.(?:apply|create\w*|delete|jq|json|merge)(?=\()"""
)
"""The last are those of the SDK."""
_BUSY = 5.0
"""Seconds. A schedule with shorter pauses is hardly intended."""
_MANY = (
    *("pod", "pods", "po"),
    *("event", "events", "ev"),
    *("lease", "leases"),
    *("configmap", "configmaps", "cm"),
    *("secret", "secrets"),
    *("endpoints", "ep"),
    *("endpointslice", "endpointslices"),
    *("replicaset", "replicasets", "rs"),
)
"""Kinds of which a cluster has thousands, or that change all the time, in the spellings that users write."""


def check_bindings(source: Source, config: HookConfig, now: datetime) -> Iterator[Remark]:
    """`now` is where the next runs are counted from; its zone is the one that they are shown in, if the schedule names
    none."""
    for binding in config.kubernetes:
        yield from _queue(source, binding)
        yield from _whole_cluster(source, binding)
    for schedule in config.schedules:
        yield from _cron(source, schedule, now)
    yield from _unused(source, config)
    yield from _unused_rules(source, config)


def check_permissions(source: Source, config: HookConfig) -> Iterator[Remark]:
    """A remark on a hook that asks for changes or starts kubectl, and does not state which rights that needs."""
    used = (_WRITES_IN_PYTHON if source.language is Language.PYTHON else _WRITES).search(source.code)
    if used and config.settings.permissions is None and config.version == "v1":
        text = "the hook uses {0}, and settings.permissions does not state which rights that needs; state them, or "
        yield Remark("permissions-missing", used.start(), f"{text.format(used[0])}`permissions: []` for none")


def _unused(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Bindings that run nothing and whose snapshot no binding includes; lifecycle bindings get all (docs/hooks.md)."""
    if config.lifecycle:
        return
    queued: tuple[QueuedBinding, ...] = (*config.kubernetes, *config.schedules)
    others: tuple[Admission | ConversionBinding, ...] = (*config.validating, *config.mutating, *config.conversions)
    running = (one for one in queued if isinstance(one, Schedule) or one.changes or one.run_on_synchronization)
    wanted = {name for one in (*running, *others) for name in one.snapshots}
    for binding in config.kubernetes:
        if not binding.changes and not binding.run_on_synchronization and binding.name not in wanted:
            text = (
                f"the binding '{binding.name}' runs nothing, and its snapshot is included nowhere; drop it, or add it"
            )
            yield Remark("binding-unused", source.find(binding.name, binding.kind), f"{text} to includeSnapshotsFrom")


def _unused_rules(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Rules for queues in which no binding of the hook is: names that differ by a letter, most often."""
    queued: tuple[QueuedBinding, ...] = (*config.kubernetes, *config.schedules)
    used = {binding.queue for binding in queued}
    for name in config.settings.queues.keys() - used:
        advice = suggestion(name, used - {MAIN}) or "; name it in a binding, or drop its rules"
        text = f"settings.queues has rules for '{name}', and no binding of the hook is in this queue{advice}"
        yield Remark("queue-unused", source.find(f'"{name}"', name), text)


def _queue(source: Source, binding: Kubernetes) -> Iterator[Remark]:
    """A Synchronization runs in `main`, unless no other run waits for it, or each object has a run (docs/hooks.md)."""
    synchronizes_there = not binding.wait_for_synchronization or binding.synchronize_each_object
    if binding.queue == MAIN or binding.changes or (binding.run_on_synchronization and synchronizes_there):
        return
    why = "its Synchronization runs in 'main'" if binding.run_on_synchronization else "it is a snapshot only"
    mend = (
        "drop the queue, or set waitForSynchronization: false" if binding.run_on_synchronization else "drop the queue"
    )
    offset = source.find(f"queue: {binding.queue}", f'queue: "{binding.queue}"', binding.queue)
    yield Remark(
        "queue-unused",
        offset,
        f"the binding '{binding.name}' never puts anything into queue '{binding.queue}': {why}; {mend}",
    )


def _whole_cluster(source: Source, binding: Kubernetes) -> Iterator[Remark]:
    narrowed = binding.names or binding.namespaces or binding.namespace_labels is not None
    if narrowed or binding.labels or binding.fields or not binding.keep_full_objects:
        return
    if binding.kind.lower() in _MANY:
        yield Remark(
            "whole-cluster",
            source.find(f"kind: {binding.kind}", f'"{binding.kind}"', binding.kind),
            f"the binding '{binding.name}' keeps every {binding.kind} of the cluster whole in memory; add a "
            "selector, or a jqFilter with keepFullObjectsInMemory: false and read filterResult",
        )


def _cron(source: Source, schedule: Schedule, now: datetime) -> Iterator[Remark]:
    offset = source.find(schedule.crontab)
    times = _times(schedule, now)
    if not times:
        text = f"the schedule '{schedule.name}' never fires: no day matches '{schedule.crontab}'; see its day and month"
        yield Remark("cron-never", offset, text)
        return
    following = ", ".join(moment.isoformat(timespec="seconds") for moment in times[:3])
    if any((later - earlier).total_seconds() < _BUSY for earlier, later in pairwise(times)):
        yield Remark(
            "cron-busy",
            offset,
            f"the schedule '{schedule.name}' fires every few seconds ('{schedule.crontab}': {following}); with six "
            "fields the first one is seconds, put 0 there for once a minute",
        )
    yield Remark("next-runs", offset, f"the schedule '{schedule.name}' ('{schedule.crontab}') fires next: {following}")


def _times(schedule: Schedule, now: datetime) -> list[datetime]:
    """The next four times, fewer if it ceases, in the zone that the schedule is written in."""
    crontab = cron.parse(schedule.crontab, cron.time_zone(schedule.timezone) if schedule.timezone else None)
    zone = crontab.zone if isinstance(crontab, cron.Calendar) else None
    moments = [now.timestamp()]
    while len(moments) < 5 and (moment := crontab.next_after(moments[-1], moments[0])) is not None:
        moments.append(moment)
    return [datetime.fromtimestamp(moment, zone or now.tzinfo) for moment in moments[1:]]


_DEFINED = re.compile(r"^[ \t]*(?:function[ \t]+)?(__on_[\w:./-]+|__main__)[ \t]*(?:\(\)|\{)", re.MULTILINE)
_EVENTS = {
    Change.ADDED: ("added", "added_or_modified"),
    Change.MODIFIED: ("modified", "added_or_modified"),
    Change.DELETED: ("deleted",),
}


def check_handlers(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Remarks on a hook of the framework. Handlers may come from other files: then nothing is known."""
    if not source.framework or source.sources_others or config.version == "v0":
        return
    defined = {match[1]: match.start(1) for match in _DEFINED.finditer(source.code)}
    if "__main__" not in defined:
        for what, handlers in _needed(config):
            if not defined.keys() & set(handlers):
                yield Remark(
                    "handler-missing",
                    source.find("hook::run"),
                    f"no handler for {what}: every run that brings it fails; define {handlers[-1]}, or __main__",
                )
    yield from _unknown(defined, config)


def _needed(config: HookConfig) -> Iterator[tuple[str, list[str]]]:
    """Each kind of context that may come, and the handlers of which one must exist, the most general last."""
    if config.on_startup is not None:
        yield "onStartup", ["__on_startup"]
    yield from ((type, [f"__on_{re.sub('(?=[A-Z])', '_', type).lower()}"]) for type in config.lifecycle)
    for schedule in config.schedules:
        if not schedule.group:
            yield f"the schedule '{schedule.name}'", [f"__on_schedule::{schedule.name}"]
    queued: tuple[QueuedBinding, ...] = (*config.kubernetes, *config.schedules)
    for group in dict.fromkeys(one.group for one in queued if one.group):
        yield f"the group '{group}'", [f"__on_group::{group}"]
    for binding in config.kubernetes:
        if not binding.group:
            yield from _of_objects(binding)
    for review in config.validating:
        yield f"reviews of '{review.name}'", [f"__on_validating::{review.name}"]
    for review in config.mutating:
        yield f"reviews of '{review.name}'", [f"__on_mutating::{review.name}"]
    for conversion in config.conversions:
        yield from _of_conversions(conversion)


def _of_objects(binding: Kubernetes) -> Iterator[tuple[str, list[str]]]:
    general = f"__on_kubernetes::{binding.name}"
    if binding.run_on_synchronization:
        yield f"the Synchronization of '{binding.name}'", [f"{general}::synchronization", general]
    for change in Change:
        if change in binding.changes:
            yield f"{change} of '{binding.name}'", [*(f"{general}::{event}" for event in _EVENTS[change]), general]


def _of_conversions(binding: ConversionBinding) -> Iterator[tuple[str, list[str]]]:
    general = f"__on_conversion::{binding.name}"
    for rule in binding.rules:
        source, target = (version.replace("/", ".", 1) for version in rule)
        yield f"{source}→{target} of '{binding.name}'", [f"{general}::{source}::{target}", general]


def _unknown(defined: dict[str, int], config: HookConfig) -> Iterator[Remark]:
    bindings: dict[str, Sequence[Kubernetes | Admission | ConversionBinding]] = {
        "__on_kubernetes": config.kubernetes,
        "__on_validating": config.validating,
        "__on_mutating": config.mutating,
        "__on_conversion": config.conversions,
    }
    for handler, offset in defined.items():
        kind, _, rest = handler.partition("::")
        name, names = rest.partition("::")[0], {binding.name for binding in bindings.get(kind, ())}
        if kind in bindings and name not in names:
            mend = suggestion(name, names) or f"; bindings of this kind are named {sorted(names)}"
            yield Remark("handler-unknown", offset, f"{handler} is never called: no binding is named '{name}'{mend}")


_SAMPLE: JSON = {
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
    remarks: list[Remark] = []
    for binding in config.kubernetes:
        if binding.jq_filter and Change.MODIFIED in binding.changes:
            remarks += [_noisy_filter(source, binding, what) for what in await _passing_field(binding, jq)]
    return remarks


async def _passing_field(binding: Kubernetes, jq: Jq) -> list[str]:
    """The first of the moving fields that gets through the filter."""
    changed = dict(_changed_samples(binding.kind.lower()))
    try:
        compiled = await jq.compile(binding.jq_filter)
    except BadFilter:
        return []
    before, *after = await jq.apply(compiled, [_SAMPLE, *changed.values()])
    if isinstance(before, FilterFailed):
        return []
    moving = [what for what, result in zip(changed, after, strict=True) if result != before]
    return moving[:1]


def _changed_samples(kind: str) -> Iterator[tuple[str, JSON]]:
    """The sample with a field changed that the API server or a controller changes by itself."""
    yield "metadata.resourceVersion", _with_field(("metadata", "resourceVersion"), "1001")
    fields = [{"manager": "kubectl", "operation": "Update", "time": _LATER}]
    yield "metadata.managedFields", _with_field(("metadata", "managedFields"), fields)
    if kind in _NODES:
        conditions = [_SAMPLE["status"]["conditions"][0] | {"lastHeartbeatTime": _LATER}]
        yield "status.conditions[].lastHeartbeatTime", _with_field(("status", "conditions"), conditions)
    if kind in _LEASES:
        yield "spec.renewTime", _with_field(("spec", "renewTime"), _LATER)


def _with_field(path: tuple[str, str], value: JSON) -> JSON:
    copy: JSON = deepcopy(_SAMPLE)
    copy[path[0]][path[1]] = value
    return copy


def _noisy_filter(source: Source, binding: Kubernetes, what: str) -> Remark:
    line = binding.jq_filter.strip().partition("\n")[0]
    return Remark(
        "filter-noisy",
        source.find(line, "jqFilter"),
        f"the filter of '{binding.name}' lets {what} through, so each write is an event and none is held back; keep "
        "only the fields that the hook reads, such as {labels: .metadata.labels}",
    )

"""Checks of what a hook declares: bindings that load and yet cannot do what their author meant."""

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from hookrunner import cron
from hookrunner.linting.findings import Remark
from hookrunner.linting.source import Source
from hookrunner.model.bindings import MAIN, Admission, Conversion, HookConfig, Kubernetes, QueuedBinding, Schedule

_BUSY = 5.0
"""Seconds. A hook that is run more often than this is hardly meant to be."""
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


def check(source: Source, config: HookConfig, now: datetime) -> Iterator[Remark]:
    """`now` is where the next runs are counted from; its zone is the one that they are shown in, if the schedule names
    none."""
    for binding in config.kubernetes:
        yield from _queue(source, binding)
        yield from _whole_cluster(source, binding)
    for schedule in config.schedules:
        yield from _cron(source, schedule, now)
    yield from _unused(source, config)


def _unused(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Bindings that run nothing and whose snapshot nobody gets; lifecycle bindings get all (docs/hooks.md)."""
    if config.lifecycle:
        return
    queued: tuple[QueuedBinding, ...] = (*config.kubernetes, *config.schedules)
    others: tuple[Admission | Conversion, ...] = (*config.validating, *config.mutating, *config.conversions)
    running = (one for one in queued if isinstance(one, Schedule) or one.changes or one.run_on_synchronization)
    wanted = {name for one in (*running, *others) for name in one.snapshots}
    for binding in config.kubernetes:
        if not binding.changes and not binding.run_on_synchronization and binding.name not in wanted:
            text = (
                f"the binding '{binding.name}' runs nothing, and its snapshot is included nowhere; drop it, or add it"
            )
            yield Remark("binding-unused", source.find(binding.name, binding.kind), f"{text} to includeSnapshotsFrom")


def _queue(source: Source, binding: Kubernetes) -> Iterator[Remark]:
    """A Synchronization runs in `main`, unless nobody waits for it (hooks.md, Queues)."""
    if (
        binding.queue == MAIN
        or binding.changes
        or (binding.run_on_synchronization and not binding.wait_for_synchronization)
    ):
        return
    why = "its Synchronization runs in 'main'" if binding.run_on_synchronization else "it is a snapshot only"
    mend = (
        "drop the queue, or set waitForSynchronization: false" if binding.run_on_synchronization else "drop the queue"
    )
    place = source.find(f"queue: {binding.queue}", f'queue: "{binding.queue}"', binding.queue)
    yield Remark(
        "queue-unused",
        place,
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
    place = source.find(schedule.crontab)
    times = _times(schedule, now)
    if not times:
        text = f"the schedule '{schedule.name}' never fires: no day matches '{schedule.crontab}'; see its day and month"
        yield Remark("cron-never", place, text)
        return
    following = ", ".join(moment.isoformat(timespec="seconds") for moment in times[:3])
    if any((later - earlier).total_seconds() < _BUSY for earlier, later in pairwise(times)):
        yield Remark(
            "cron-busy",
            place,
            f"the schedule '{schedule.name}' fires every few seconds ('{schedule.crontab}': {following}); with six "
            "fields the first one is seconds, put 0 there for once a minute",
        )
    yield Remark("next-runs", place, f"the schedule '{schedule.name}' ('{schedule.crontab}') fires next: {following}")


def _times(schedule: Schedule, now: datetime) -> list[datetime]:
    """The next four times, fewer if it ceases, in the zone that the schedule is written in."""
    crontab = cron.parse(schedule.crontab, cron.time_zone(schedule.timezone) if schedule.timezone else None)
    zone = crontab.zone if isinstance(crontab, cron.Calendar) else None
    found = [now.timestamp()]
    while len(found) < 5 and (moment := crontab.next_after(found[-1], found[0])) is not None:
        found.append(moment)
    return [datetime.fromtimestamp(moment, zone or now.tzinfo) for moment in found[1:]]

"""The given objects as a hook's bindings see them: a real `Monitor` for each kubernetes binding, fed by hand.

What a filter makes of an object, whether a change is one that the binding can tell, and what stands in a snapshot in
which order is decided by the monitor, as in a running hookrunner.
"""

from collections.abc import Mapping, Sequence

from hookrunner.engine import dispatch
from hookrunner.errors import BadInput
from hookrunner.jq.program import Jq
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import Change, Hook, Kubernetes
from hookrunner.model.contexts import Entry
from hookrunner.model.events import (
    BindingId,
    FilterBroke,
    ObjectChanged,
    ObjectSeen,
    Progressed,
    RelistStarted,
    Report,
    Synced,
)
from hookrunner.model.resources import Selection, key_of
from hookrunner.model.tasks import HookRun
from hookrunner.sources.monitor import Monitor
from hookrunner.sources.snapshots import Projection, labels_of
from hookrunner.testing.display import name_of
from hookrunner.testing.happenings import Changed, Given, NotRun
from hookrunner.testing.matching import mismatch
from hookrunner.waits import Batches
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BindingMonitors:
    """A hook's monitors by the indexes of their bindings, all listed; the objects that there are; and by the same
    indexes the reason of the first filter that failed."""

    hook: Hook
    monitors: tuple[Monitor, ...]
    objects: tuple[JSON, ...]
    failures: Mapping[int, str]

    def entries(self, index: int) -> list[Entry]:
        """The snapshot of a binding. Raises NotRun if its filter fails on an object."""
        monitor = self.monitors[index]
        if obstacle := monitor.obstacle:
            reason = ": ".join([obstacle.reason, *filter(None, [self.failures.get(index)])])
            others = f" ({len(monitor.broken)} of its objects)" if len(monitor.broken) > 1 else ""
            raise NotRun(f"the snapshot of '{monitor.binding.name}' cannot be used: {reason}{others}")
        return monitor.snapshot.read()

    async def change(self, index: int, happening: Changed) -> HookRun:
        """Apply the change to all monitors; the run that it leads to for the binding with this index. Raises NotRun."""
        self.entries(index)
        events = [await _apply_change(monitor, happening, self.objects) for monitor in self.monitors]
        match events[index]:
            case ObjectChanged() as event:
                return dispatch.for_change(self.hook, event)
            case FilterBroke() as event:
                raise NotRun(f"jqFilter fails on {name_of(happening.obj)}: {event.reason}")
        raise NotRun(_why_no_event(self.monitors[index].binding, happening, self.objects))


async def list_objects(hook: Hook, given: Given, objects: Sequence[JSON], jq: Jq) -> BindingMonitors:
    """Monitors of all bindings that have listed what they watch of these objects. Raises BadInput for a snapshot of
    no binding and for an object that cannot be in it."""
    names = [binding.name for binding in hook.config.kubernetes]
    for name in given.snapshots:
        if name not in names:
            raise BadInput(f"snapshot '{name}': the hook has no such kubernetes binding, it has {sorted(set(names))}")
    monitors = [await _list_binding(hook, index, given, objects, jq) for index in range(len(names))]
    failures = {index: failure for index, monitor in enumerate(monitors) if (failure := await _first_failure(monitor))}
    for monitor in monitors:
        monitor.unlock()
    return BindingMonitors(hook, tuple(monitors), tuple(objects), failures)


async def _first_failure(monitor: Monitor) -> str:
    """The reason of the first filter that failed while the binding listed."""
    broken = (event.reason for event in await monitor.outbox.next_batch() if isinstance(event, FilterBroke))
    return next(broken, "")


async def _list_binding(hook: Hook, index: int, given: Given, objects: Sequence[JSON], jq: Jq) -> Monitor:
    binding = hook.config.kubernetes[index]
    program = await jq.compile(binding.jq_filter) if binding.jq_filter else None
    projection = Projection(labels_of(hook.name, binding, hook.module), binding, program, jq, Metrics(""))
    monitor = Monitor(BindingId(hook.name, index), binding, projection, Batches())
    if not binding.kind:
        monitor.watch_nothing()
        return monitor
    scope = monitor.add_scope(Selection(binding.api_version, binding.kind))
    items: list[Report] = [_item(obj) for obj in _matching(binding, given, objects)]
    await monitor.apply(scope, [RelistStarted(), *items, Synced("")], 0.0)
    return monitor


def _matching(binding: Kubernetes, given: Given, objects: Sequence[JSON]) -> list[JSON]:
    own = given.snapshots.get(binding.name, ())
    for obj in own:
        if reason := mismatch(binding, obj, (*objects, *own)):
            raise BadInput(f"{name_of(obj)} cannot be in snapshot '{binding.name}': {reason}")
    matching = {key_of(obj): obj for obj in objects if not mismatch(binding, obj, objects)}
    return [*(matching | {key_of(obj): obj for obj in own}).values()]


def _item(obj: JSON, change: Change | None = None) -> ObjectSeen:
    """Without a version: made-up objects have the same one before and after, and the monitor compares them whole."""
    return ObjectSeen(change, key_of(obj), obj, "")


async def _apply_change(
    monitor: Monitor, happening: Changed, objects: Sequence[JSON]
) -> ObjectChanged | FilterBroke | None:
    """Apply a change to a binding's monitor; the event that it makes of it, if any."""
    change = _as_seen(monitor.binding, happening, objects)
    if change is None:
        return None
    item = _item(happening.old if change is Change.DELETED and happening.old else happening.obj, change)
    monitor.outbox.put(Progressed(monitor.id))
    await monitor.apply(next(iter(monitor.scopes.values())), [item], 0.0)
    events = [event for event in await monitor.outbox.next_batch() if isinstance(event, ObjectChanged | FilterBroke)]
    return next((event for event in events if event.key == item.key), None)


def _as_seen(binding: Kubernetes, happening: Changed, objects: Sequence[JSON]) -> Change | None:
    """What the API server calls a change on a watch with these selectors: an object that comes to match is Added to
    it, one that ceases to is Deleted from it. None if the watch does not deliver it.
    https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes"""
    fits = not mismatch(binding, happening.obj, objects)
    if happening.change is not Change.MODIFIED or happening.old is None:
        return happening.change if fits else None
    if mismatch(binding, happening.old, objects):
        return Change.ADDED if fits else None
    return Change.MODIFIED if fits else Change.DELETED


def _why_no_event(binding: Kubernetes, happening: Changed, objects: Sequence[JSON]) -> str:
    """Why the monitor made no event of a change."""
    change = _as_seen(binding, happening, objects)
    if change is None:
        return mismatch(binding, happening.obj, objects)
    if change not in binding.changes:
        wanted = ", ".join(one for one in Change if one in binding.changes) or "no event at all"
        meant = f" (the object {'comes to match' if change is Change.ADDED else 'ceases to match'} the selectors)"
        return f"executeHookOnEvent: it is {change}{meant * (change is not happening.change)}, wanted is {wanted}"
    return "filter result unchanged" if binding.jq_filter else "object unchanged"

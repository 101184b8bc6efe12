"""From happenings to the run that they lead to: which contexts the hook gets, with which snapshots.

Everything that decides is the engine's own: `dispatch` makes the runs, `HookRun` says which may become one, monitors
make the snapshots (`monitors.py`).
"""

from collections.abc import Sequence
from dataclasses import replace

from hookrunner.engine import dispatch
from hookrunner.errors import BadInput
from hookrunner.jq.program import Jq
from hookrunner.model.bindings import Change, Hook, QueuedBinding
from hookrunner.model.contexts import Context, Snapshots, wanted, with_objects
from hookrunner.model.events import Ticked
from hookrunner.model.resources import ObjectKey, key_of
from hookrunner.model.tasks import HookRun
from hookrunner.testing import reviews
from hookrunner.testing.binding_monitors import BindingMonitors, list_objects
from hookrunner.testing.happenings import (
    Changed,
    Conversion,
    Given,
    Grouped,
    Happening,
    Lifecycle,
    NotRun,
    Review,
    Startup,
    Synchronization,
    Tick,
    find_binding,
    find_only_binding,
)
from hookrunner.testing.matching import mismatch
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run: its contexts, the snapshots they need, and the objects at its beginning. `notes` say which conditions of
    the run could not be evaluated."""

    contexts: tuple[Context, ...]
    snapshots: Snapshots
    objects: tuple[JSON, ...]
    notes: tuple[str, ...] = ()


async def plan_run(hook: Hook, given: Given, happenings: Sequence[Happening], jq: Jq) -> PlannedRun:
    """The run that the happenings lead to, combined as in a queue where all of them wait (docs/hooks.md).

    Raises NotRun if none of them leads to one, BadInput if that is not clear or they never come in one run.
    """
    changes = [happening for happening in happenings if isinstance(happening, Changed)]
    monitors = await list_objects(hook, given, _objects_before(changes, given.objects), jq)
    runs, reasons = list[HookRun](), list[str]()
    for happening in happenings:
        if isinstance(happening, Changed):
            happening = _with_old_state(happening, monitors.objects, given.objects)
        try:
            runs.append(await _run(monitors, happening))
        except NotRun as reason:
            reasons.append(str(reason))
        if isinstance(happening, Changed):
            monitors = replace(monitors, objects=_objects_after(happening, monitors.objects))
    if not runs:
        raise NotRun("; ".join(reasons))
    contexts = _combine(runs).contexts
    notes = tuple(note for run in runs if (note := reviews.unknown(hook, run)))
    return PlannedRun(contexts, {index: monitors.entries(index) for index in wanted(contexts)}, monitors.objects, notes)


def _combine(runs: Sequence[HookRun]) -> HookRun:
    first, *others = runs
    for other in others:
        if not first.absorbs(other):
            raise BadInput(f"{first.binding} and {other.binding} never come in one run of this hook: make two cases")
    return first.merged(others)


async def _run(monitors: BindingMonitors, happening: Happening) -> HookRun:
    match happening:
        case Review():
            return reviews.admission(monitors.hook, happening, monitors.objects)
        case Conversion():
            return reviews.conversion(monitors.hook, happening)
        case Changed():
            return await monitors.change(_watching_index(monitors, happening), happening)
        case Synchronization():
            return _synchronization_run(monitors, happening.binding)
        case Startup():
            return _startup_run(monitors.hook)
        case Lifecycle():
            return _lifecycle_run(monitors.hook, happening.binding)
        case Tick():
            return _schedule_run(monitors.hook, happening.binding)
        case Grouped():
            return _group_run(monitors.hook, happening.group)


def _startup_run(hook: Hook) -> HookRun:
    if hook.config.on_startup is None:
        raise NotRun("onStartup: the hook's configuration does not have it")
    run = dispatch.startup([hook])[0]
    assert isinstance(run, HookRun)
    return run


def _lifecycle_run(hook: Hook, wanted: str) -> HookRun:
    types = [type for type in hook.config.lifecycle if wanted in ("", type)]
    if not types:
        raise NotRun(f"{wanted or 'a lifecycle binding'}: the hook's configuration does not have it")
    if len(types) > 1:
        raise BadInput(f"which of its bindings? It has {', '.join(types)}")
    return dispatch.for_lifecycle(hook, types[0])


def _synchronization_run(monitors: BindingMonitors, binding: str) -> HookRun:
    hook = monitors.hook
    index = find_binding(hook.config.kubernetes, binding, "kubernetes")
    run = dispatch.synchronizations(hook, 0.0)[index]
    if dispatch.synchronizes_each(hook, index):
        return _runs_of_objects(monitors, run, index)
    if not run.contexts:
        raise NotRun("executeHookOnSynchronization is false: the hook does not want to hear of it")
    return run


def _runs_of_objects(monitors: BindingMonitors, run: HookRun, index: int) -> HookRun:
    """The runs for each object as one: a case has one run."""
    keys = [entry.key for entry in monitors.entries(index)]
    if not keys:
        raise NotRun("synchronizeEachObject: there is no object at the start, so no run")
    runs = dispatch.for_each_object(monitors.hook, run, {index: keys})
    contexts = with_objects(
        [context for one in runs for context in one.contexts],
        lambda index, key: monitors.monitors[index].snapshot.get(key),
    )
    return replace(runs[0], contexts=contexts)


def _schedule_run(hook: Hook, wanted: str) -> HookRun:
    schedules = hook.config.schedules
    by_crontab = [index for index, schedule in enumerate(schedules) if schedule.crontab == wanted]
    index = by_crontab[0] if by_crontab else find_binding(schedules, wanted, "schedule")
    tick = Ticked(schedules[index].crontab, 0.0, schedules[index].timezone)
    return next(run for run in dispatch.for_tick([hook], tick) if run.place == index)


def _group_run(hook: Hook, group: str) -> HookRun:
    """Bindings of a group lead to the same context, so any of them will do."""
    for run in dispatch.synchronizations(hook, 0.0):
        if run.group == group and run.contexts:
            return run
    for schedule in hook.config.schedules:
        if schedule.group == group:
            return _schedule_run(hook, schedule.crontab)
    bindings: tuple[QueuedBinding, ...] = (*hook.config.kubernetes, *hook.config.schedules)
    groups = {binding.group for binding in bindings} - {""}
    raise BadInput(f"no binding is in group '{group}'; groups are {sorted(groups) or 'not used by the hook'}")


def _watching_index(monitors: BindingMonitors, happening: Changed) -> int:
    """The binding that a change is for."""
    bindings = monitors.hook.config.kubernetes
    if happening.binding:
        return find_binding(bindings, happening.binding, "kubernetes")
    states = [state for state in (happening.obj, happening.old) if state is not None]

    def misfit(index: int) -> str:
        reasons = [mismatch(bindings[index], state, monitors.objects) for state in states]
        return reasons[0] if all(reasons) else ""

    listening = [index for index in range(len(bindings)) if happening.change in bindings[index].changes]
    if len(fitting := [index for index in listening if not misfit(index)]) == 1:
        return fitting[0]
    return find_only_binding(bindings, "kubernetes", misfit)


def _objects_before(changes: Sequence[Changed], given: Sequence[JSON]) -> tuple[JSON, ...]:
    """The objects before anything happened, as the first change of each says.

    What is given of an object is its state before, unless it is what the change itself shows.
    """
    first: dict[ObjectKey, JSON] = {}
    for change in changes:
        before = {
            Change.ADDED: None,
            Change.DELETED: change.obj,
            Change.MODIFIED: _with_old_state(change, given, given).old,
        }
        first.setdefault(key_of(change.obj), before[change.change])
    others = [obj for obj in given if key_of(obj) not in first]
    return (*others, *(obj for obj in first.values() if obj is not None))


def _with_old_state(change: Changed, objects: Sequence[JSON], given: Sequence[JSON]) -> Changed:
    """The change with the state before it, as far as that is known."""
    if change.change is not Change.MODIFIED or change.old is not None:
        return change
    known = next((obj for obj in objects if key_of(obj) == key_of(change.obj)), None)
    return replace(change, old=None if known == change.obj and known in given else known)


def _objects_after(change: Changed, objects: Sequence[JSON]) -> tuple[JSON, ...]:
    others = tuple(obj for obj in objects if key_of(obj) != key_of(change.obj))
    return others if change.change is Change.DELETED else (*others, change.obj)

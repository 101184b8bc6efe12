"""From a happening to the run that it leads to: which contexts the hook gets, with which snapshots.

Everything that decides is the engine's own: `dispatch` makes the run, monitors make the snapshots (`world.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hookrunner.engine import dispatch
from hookrunner.errors import BadInput
from hookrunner.jq.program import Jq
from hookrunner.model.bindings import Change, Hook, QueuedBinding
from hookrunner.model.contexts import Context, Snapshots, wanted
from hookrunner.model.events import Ticked
from hookrunner.model.resources import JSON, key_of
from hookrunner.model.tasks import HookRun
from hookrunner.testing import choosing, reviews
from hookrunner.testing.happenings import (
    Changed,
    Conversion,
    Given,
    Grouped,
    Happening,
    NotRun,
    Review,
    Startup,
    Synchronization,
    Tick,
)
from hookrunner.testing.matching import mismatch
from hookrunner.testing.world import World, listed


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: its contexts, the snapshots they need, and the objects that there are when it begins."""

    contexts: tuple[Context, ...]
    snapshots: Snapshots
    objects: tuple[JSON, ...]


async def plan(hook: Hook, given: Given, happening: Happening, jq: Jq) -> Plan:
    """The run that the happening leads to. Raises NotRun if it leads to none, BadInput if it is not clear."""
    before, after = given.objects, given.objects
    if isinstance(happening, Changed):
        happening, before, after = _around(happening, given.objects)
    world = await listed(hook, given, before, jq)
    contexts = await _contexts(world, happening)
    if not contexts:
        raise NotRun("executeHookOnSynchronization is false: the hook does not want to hear of it")
    snapshots = {index: world.entries(index) for index in wanted(contexts)}
    return Plan(contexts, snapshots, after)


async def _contexts(world: World, happening: Happening) -> tuple[Context, ...]:
    hook = world.hook
    match happening:
        case Review():
            return (reviews.admission(hook, happening, world.objects),)
        case Conversion():
            return (reviews.conversion(hook, happening),)
        case Changed():
            return (await world.change(_watching(world, happening), happening)).contexts
        case Synchronization():
            place = choosing.named(hook.config.kubernetes, happening.binding, "kubernetes")
            return dispatch.synchronizations(hook, 0.0)[place].contexts
    return _queued(hook, happening).contexts


def _queued(hook: Hook, happening: Startup | Tick | Grouped) -> HookRun:
    match happening:
        case Startup():
            if hook.config.on_startup is None:
                raise NotRun("onStartup: the hook's configuration does not have it")
            run = dispatch.startup([hook])[0]
            assert isinstance(run, HookRun)
            return run
        case Tick():
            return _ticked(hook, happening.binding)
        case Grouped():
            return _grouped(hook, happening.group)


def _ticked(hook: Hook, wanted: str) -> HookRun:
    schedules = hook.config.schedules
    by_crontab = [place for place, schedule in enumerate(schedules) if schedule.crontab == wanted]
    place = by_crontab[0] if by_crontab else choosing.named(schedules, wanted, "schedule")
    tick = Ticked(schedules[place].crontab, 0.0, schedules[place].timezone)
    return next(run for run in dispatch.for_tick([hook], tick) if run.place == place)


def _grouped(hook: Hook, group: str) -> HookRun:
    """Bindings of a group lead to the same context, so any of them will do."""
    for run in dispatch.synchronizations(hook, 0.0):
        if run.group == group and run.contexts:
            return run
    for schedule in hook.config.schedules:
        if schedule.group == group:
            return _ticked(hook, schedule.crontab)
    bindings: tuple[QueuedBinding, ...] = (*hook.config.kubernetes, *hook.config.schedules)
    groups = {binding.group for binding in bindings} - {""}
    raise BadInput(f"no binding is in group '{group}'; groups are {sorted(groups) or 'not used by the hook'}")


def _watching(world: World, happening: Changed) -> int:
    """The binding that a change is for."""
    bindings = world.hook.config.kubernetes
    if happening.binding:
        return choosing.named(bindings, happening.binding, "kubernetes")
    states = [state for state in (happening.obj, happening.old) if state is not None]

    def misfit(place: int) -> str:
        reasons = [mismatch(bindings[place], state, world.objects) for state in states]
        return reasons[0] if all(reasons) else ""

    return choosing.only(bindings, "kubernetes", misfit)


def _around(happening: Changed, given: Sequence[JSON]) -> tuple[Changed, tuple[JSON, ...], tuple[JSON, ...]]:
    """The change, the objects before it and those after it.

    What is given of the object is its state before, unless it is what the change itself shows.
    """
    key = key_of(happening.obj)
    others = tuple(obj for obj in given if key_of(obj) != key)
    known = next((obj for obj in given if key_of(obj) == key), None)
    if happening.change is Change.ADDED:
        return happening, others, (*others, happening.obj)
    if happening.change is Change.DELETED:
        return happening, (*others, happening.obj), others
    old = happening.old or (known if known != happening.obj else None)
    before = others if old is None else (*others, old)
    return replace(happening, old=old), before, (*others, happening.obj)

"""Turns events into orders: what to run, with which contexts, in which queue. Pure functions.

The order of a start: docs/how-it-works.md; which hook a tick or a change is for: docs/hooks.md.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hookrunner.model.bindings import (
    MAIN,
    Admission,
    BindingType,
    ConversionBinding,
    Hook,
    Kubernetes,
    QueuedBinding,
    Schedule,
)
from hookrunner.model.contexts import Context, ContextType, Include
from hookrunner.model.events import FilterBroke, ObjectChanged, Ticked
from hookrunner.model.json_objects import NO_OBJECTS, JsonObjects
from hookrunner.model.resources import ObjectKey
from hookrunner.model.tasks import (
    OPERATOR_STARTUP,
    EnableKubernetesBindings,
    EnableScheduleBindings,
    FilterRetry,
    HookRun,
    Order,
    own_queue,
)
from kubetypes.json_values import JSON

STARTUP = "onStartup"


def startup(hooks: Iterable[Hook]) -> list[Order]:
    """The first tasks of `main`: onStartup runs by their number, then for each hook the tasks that enable its bindings.
    Those of global hooks are marked as part of the start."""
    hooks = list(hooks)
    return [*startup_runs(hooks, OPERATOR_STARTUP), *(order for hook in hooks for order in enabling(hook))]


def startup_runs(hooks: Iterable[Hook], activation: str = "") -> list[HookRun]:
    """The onStartup runs by their number, then by name. `activation` is for hooks that have a module, or are global."""
    starting = (hook for hook in hooks if hook.config.on_startup is not None)
    first = sorted(starting, key=lambda hook: (hook.config.on_startup or 0.0, hook.name))
    return [_startup_run(hook, activation if hook.module else "") for hook in first]


def enabling(hook: Hook) -> list[Order]:
    """The tasks that activate the bindings of a hook."""
    of_hook = (hook.name, hook.module, OPERATOR_STARTUP if hook.module else "")
    kubernetes = [EnableKubernetesBindings(*of_hook)] * bool(hook.config.kubernetes)
    return [*kubernetes, *[EnableScheduleBindings(*of_hook)] * bool(hook.config.schedules)]


def synchronizations(hook: Hook, now: float) -> tuple[HookRun, ...]:
    """One run for each kubernetes binding, in config order."""
    return tuple(_synchronization(hook, index, now) for index in range(len(hook.config.kubernetes)))


def synchronizes_each(hook: Hook, index: int) -> bool:
    """Has a kubernetes binding a run for each object in place of one Synchronization? In the queue of a module itself
    it has not: what runs there is part of the module's run."""
    binding = hook.config.kubernetes[index]
    return binding.synchronize_each_object and binding.queue != own_queue(hook.module)


def for_each_object(hook: Hook, order: HookRun, objects: Mapping[int, Sequence[ObjectKey]]) -> tuple[HookRun, ...]:
    """The runs in place of a Synchronization, whose order is this, for these objects of each binding."""
    return tuple(run for index, keys in objects.items() for run in _object_runs(hook, order, index, keys))


def for_change(hook: Hook, event: ObjectChanged) -> HookRun:
    """The run that informs a hook of a change."""
    binding = hook.config.kubernetes[event.binding.index]
    context = Context(
        binding=binding.name,
        type=ContextType.GROUP if binding.group else ContextType.EVENT,
        group=binding.group,
        source=event.binding.index,
        change=event.change,
        key=event.key,
        obj=event.obj,
        filtered=event.filtered,
        includes=includes(hook, binding),
    )
    return _hook_run(hook, binding, event.binding.index, context, event.seen_at)


def for_broken_filter(hook: Hook, event: FilterBroke) -> FilterRetry:
    """The task that shows a filter failure and tries again."""
    binding = hook.config.kubernetes[event.binding.index]
    return FilterRetry(hook.name, binding.name, binding.queue, event, hook.module)


def for_tick(hooks: Iterable[Hook], tick: Ticked) -> Iterator[HookRun]:
    """One run for each schedule binding with this crontab, hooks in name order."""
    for hook in hooks:
        for index, schedule in enumerate(hook.config.schedules):
            if (schedule.crontab, schedule.timezone) == (tick.crontab, tick.timezone):
                yield _hook_run(hook, schedule, index, _tick_context(hook, schedule))


def for_admission(hook: Hook, type: BindingType, index: int, extra: JSON) -> HookRun:
    """The run that asks a hook for its verdict; `extra` are the keys of the review. `index` is the binding's among
    those of its type."""
    validating = type is BindingType.VALIDATING
    binding = (hook.config.validating if validating else hook.config.mutating)[index]
    kind = ContextType.VALIDATING if validating else ContextType.MUTATING
    return _review_run(
        hook, binding, type, index, Context(binding.name, kind, includes=includes(hook, binding), extra=extra)
    )


def for_conversion(hook: Hook, index: int, extra: JSON, objects: JsonObjects = NO_OBJECTS) -> HookRun:
    """The run that has a hook convert objects; `extra` has the review without them."""
    binding, kind = hook.config.conversions[index], ContextType.CONVERSION
    context = Context(binding.name, kind, includes=includes(hook, binding), extra=extra, objects=objects)
    return _review_run(hook, binding, BindingType.CONVERSION, index, context)


def for_lifecycle(hook: Hook, type: BindingType, activation: str = "") -> HookRun:
    """The run of a `beforeAll` … `afterDeleteHelm` binding, with all snapshots of the hook; of
    several bindings of one name, that of the first."""
    indices = {binding.name: index for index, binding in reversed(tuple(enumerate(hook.config.kubernetes)))}
    included = tuple(Include(name, index) for name, index in reversed(indices.items()))
    context = Context(type, ContextType.LIFECYCLE, includes=included)
    queue = own_queue(hook.module)
    return HookRun(hook.name, type, type, queue, (context,), merges=False, module=hook.module, activation=activation)


def in_own_queue(hook: Hook) -> Hook:
    """A module's hook whose bindings name no queue, or `main`: they wait in the module's own queue, where they
    hold up no other module and never run beside the module's Helm."""
    queue, config = own_queue(hook.module), hook.config
    kubernetes = tuple(
        replace(binding, queue=queue) if binding.queue == MAIN else binding for binding in config.kubernetes
    )
    schedules = tuple(
        replace(binding, queue=queue) if binding.queue == MAIN else binding for binding in config.schedules
    )
    return replace(hook, config=replace(config, kubernetes=kubernetes, schedules=schedules))


def includes(hook: Hook, binding: QueuedBinding | Admission | ConversionBinding) -> tuple[Include, ...]:
    """The snapshots of a binding as indices in the hook's config; `hooks/config` has checked that each name exists.

    A name that several bindings have means the one in this binding's group, else the first.
    """
    bindings = sorted(enumerate(hook.config.kubernetes), key=lambda item: item[1].group != binding.group)
    indices = {other.name: index for index, other in reversed(bindings)}
    return tuple(Include(name, indices[name]) for name in binding.snapshots)


def _startup_run(hook: Hook, activation: str) -> HookRun:
    return HookRun(
        hook.name,
        STARTUP,
        BindingType.ON_STARTUP,
        own_queue(hook.module),
        (Context(STARTUP, ContextType.STARTUP),),
        merges=False,
        module=hook.module,
        activation=activation,
    )


def _synchronization(hook: Hook, index: int, now: float) -> HookRun:
    """A binding that skips its Synchronization, or has a run for each object, gets a run without contexts, which only
    opens the gate. The run goes to `main` unless the binding names a queue and has `waitForSynchronization: false`; the
    run of a global or module hook and that of a binding with a run for each object go to the binding's queue."""
    binding, each = hook.config.kubernetes[index], synchronizes_each(hook, index)
    context = Context(
        binding=binding.name,
        type=ContextType.GROUP if binding.group else ContextType.SYNCHRONIZATION,
        group=binding.group,
        source=index,
        includes=includes(hook, binding),
    )
    return HookRun(
        hook.name,
        binding.name,
        BindingType.KUBERNETES,
        MAIN if binding.wait_for_synchronization and not hook.module and not each else binding.queue,
        (context,) if binding.run_on_synchronization and not each else (),
        group=binding.group,
        allow_failure=binding.allow_failure,
        place=index,
        merges=_merges(hook),
        unlocks=(index,),
        seen_at=now,
        module=hook.module,
    )


def _object_runs(hook: Hook, order: HookRun, index: int, keys: Iterable[ObjectKey]) -> Iterator[HookRun]:
    binding, kind = hook.config.kubernetes[index], ContextType.SYNCHRONIZATION
    included = includes(hook, binding)
    for key in keys:
        context = Context(binding.name, kind, source=index, key=key, current=True, includes=included)
        run = _hook_run(hook, binding, index, context, order.seen_at)
        yield replace(run, activation=order.activation) if order.activation else run


def _tick_context(hook: Hook, schedule: Schedule) -> Context:
    return Context(
        binding=schedule.name,
        type=ContextType.GROUP if schedule.group else ContextType.SCHEDULE,
        group=schedule.group,
        includes=includes(hook, schedule),
    )


def _hook_run(hook: Hook, binding: QueuedBinding, index: int, context: Context, seen_at: float = 0.0) -> HookRun:
    return HookRun(
        hook.name,
        binding.name,
        BindingType.KUBERNETES if isinstance(binding, Kubernetes) else BindingType.SCHEDULE,
        binding.queue,
        (context,),
        group=binding.group,
        allow_failure=binding.allow_failure,
        place=index,
        merges=_merges(hook),
        seen_at=seen_at,
        module=hook.module,
    )


def _review_run(
    hook: Hook, binding: Admission | ConversionBinding, type: BindingType, index: int, context: Context
) -> HookRun:
    return HookRun(
        hook.name, binding.name, type, "", (context,), binding.group, place=index, merges=False, module=hook.module
    )


def _merges(hook: Hook) -> bool:
    return hook.config.version == "v1" and hook.config.settings.combine

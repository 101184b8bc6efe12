"""What may happen to a hook in a test, and the state of the cluster at that time: plain values.

An empty `binding` means the only one that fits: `find_binding` and `find_only_binding` find it, and `parse_happening`
infers what a user's options leave out. Objects are complete API objects as parsed JSON, raw: a
binding's own filter is applied to them later.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol, TypeAlias

from hookrunner.errors import BadInput
from hookrunner.model.bindings import BindingType, Change, Hook
from hookrunner.shapes import suggestion
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Startup:
    """hookrunner starts."""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """A module is run or deleted, or a pass over all modules begins or ends. `binding` is such as `beforeHelm`."""

    binding: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A schedule comes due. `binding` is its name or its crontab."""

    binding: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """An object comes, changes or goes. `old` is what a Modified object was before, None if that does not matter."""

    change: Change
    obj: JSON
    old: JSON = None
    binding: str = ""


@dataclass(frozen=True, slots=True)
class Synchronization:
    """The binding's objects have been listed for the first time."""

    binding: str = ""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Something happened to a binding of this group."""

    group: str


@dataclass(frozen=True, slots=True)
class Review:
    """The API server asks whether an operation is allowed. `operation`: CREATE, UPDATE, DELETE or CONNECT; `part` is a
    subresource of the object, such as `status`."""

    operation: str
    obj: JSON = None
    old: JSON = None
    binding: str = ""
    dry_run: bool = False
    part: str = ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """The API server wants objects of a custom kind in another version. `to` is `group/version`, or the binding's
    version alone."""

    objects: tuple[JSON, ...]
    to: str = ""
    binding: str = ""


Happening: TypeAlias = Startup | Lifecycle | Tick | Changed | Synchronization | Grouped | Review | Conversion


@dataclass(frozen=True, slots=True)
class Given:
    """The cluster before the happening. `objects` are offered to every binding, which takes those that match;
    `snapshots` are by a binding's name and for it alone. `values` and `config_values` are None for a hook that is not
    a module's or an addon's. `instance` is the object that a hook of an addon runs for, `package_directory` that of its
    package."""

    objects: tuple[JSON, ...] = ()
    snapshots: Mapping[str, tuple[JSON, ...]] = field(default_factory=dict)
    values: JSON = None
    config_values: JSON = None
    instance: JSON = None
    package_directory: str = ""


class NotRun(Exception):
    """The hook would not run; the message says which condition failed. A result, not a mistake."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def find_binding(bindings: Sequence[_Named], wanted: str, kind: str) -> int:
    """The index of the binding with this name or position (`kubernetes[1]`), or of the only one. `kind` is the key in
    the hook's configuration. Raises BadInput."""
    if not wanted:
        return find_only_binding(bindings, kind, lambda index: "")
    names = [binding.name for binding in bindings]
    indexes = [index for index, name in enumerate(names) if wanted in (name, f"{kind}[{index}]")]
    if len(indexes) > 1:
        positions = ", ".join(f"{kind}[{index}]" for index in indexes)
        raise BadInput(f"{len(indexes)} bindings are named '{wanted}': say which, {positions}")
    if not indexes:
        raise BadInput(f"no {kind} binding is named '{wanted}'{suggestion(wanted, names) or _there_are(names)}")
    return indexes[0]


def find_only_binding(bindings: Sequence[_Named], kind: str, misfit: Callable[[int], str]) -> int:
    """The index of the only binding that fits; `misfit` says why the one at an index does not, empty if it does.

    Raises BadInput if the hook has no such binding or several fit, NotRun with the reasons if no binding fits.
    """
    if not bindings:
        raise BadInput(f"the hook has no {kind} binding")
    reasons = {index: misfit(index) for index in range(len(bindings))}
    fitting = [index for index, reason in reasons.items() if not reason]
    if len(fitting) > 1:
        names = ", ".join(bindings[index].name for index in fitting)
        raise BadInput(f"several bindings fit: say which by `binding` (--binding): {names}")
    if fitting:
        return fitting[0]
    if len(bindings) == 1:
        raise NotRun(reasons[0])
    raise NotRun("; ".join(f"{bindings[index].name}: {reason}" for index, reason in reasons.items()))


def _there_are(names: Sequence[str]) -> str:
    return f"; there are {', '.join(sorted(set(names)))}" if names else "; the hook has none of that kind"


EVENTS = ("Added", "Modified", "Deleted", "Synchronization", "Schedule", "Startup", "Lifecycle", "Review", "Conversion")
"""What may be asked for, mostly in the words of a binding context."""

_EVENT_OF = {
    BindingType.ON_STARTUP: "Startup",
    BindingType.SCHEDULE: "Schedule",
    BindingType.VALIDATING: "Review",
    BindingType.MUTATING: "Review",
    BindingType.CONVERSION: "Conversion",
}


@dataclass(frozen=True, slots=True)
class HappeningOptions:
    """The options of `hook run`, or of `when` in a test case. `event` is one of `EVENTS` or empty, `to` the version
    that a conversion leads to, `part` the subresource that is reviewed."""

    event: str = ""
    binding: str = ""
    group: str = ""
    objects: tuple[JSON, ...] = ()
    old: JSON = None
    operation: str = ""
    to: str = ""
    dry_run: bool = False
    part: str = ""


def parse_happening(hook: Hook, options: HappeningOptions) -> Happening:
    """The happening that the options mean. Raises BadInput if that is not clear."""
    if options.group:
        return Grouped(options.group)
    event = options.event or _event(hook, options)
    match event:
        case "Startup":
            return Startup()
        case "Lifecycle":
            return Lifecycle(options.binding)
        case "Schedule":
            return Tick(options.binding)
        case "Synchronization":
            return Synchronization(options.binding)
        case "Conversion":
            return Conversion(options.objects, options.to, options.binding)
        case "Review":
            return _review(options)
    return Changed(Change(event), _only(options, f"an event {event}"), options.old, options.binding)


def _review(options: HappeningOptions) -> Review:
    operation = (options.operation or ("UPDATE" if options.old is not None else "CREATE")).upper()
    # A deleted object may be given as the old object, as the API server sends it.
    gone = operation == "DELETE" and not options.objects and options.old is not None
    obj = options.old if gone else _only(options, "a review")
    return Review(operation, obj, options.old, options.binding, options.dry_run, options.part)


def _event(hook: Hook, options: HappeningOptions) -> str:
    """The event that is probably meant: by options that only one event takes, then by the kind of the binding."""
    if options.operation or options.dry_run or options.part:
        return "Review"
    if options.to:
        return "Conversion"
    kinds = _kinds(hook, options.binding)
    if len(kinds) > 1 and options.objects:
        kinds &= {BindingType.KUBERNETES}
    if len(kinds) != 1:
        bindings = ", ".join(f"{name} ({kind})" for name, kind in _bindings(hook))
        raise BadInput(f"what happens? Say it by the event or by the binding; the hook has {bindings or 'no bindings'}")
    kind = kinds.pop()
    if kind in _EVENT_OF:
        return _EVENT_OF[kind]
    if kind in hook.config.lifecycle:
        return "Lifecycle"
    if not options.objects:
        return "Synchronization"
    return "Modified" if options.old is not None else "Added"


def _kinds(hook: Hook, wanted: str) -> set[BindingType]:
    """The kinds of the bindings that may be meant. Raises BadInput for an unknown name."""
    if wanted.startswith("kubernetes["):
        return {BindingType.KUBERNETES}
    if any(wanted == schedule.crontab for schedule in hook.config.schedules):
        return {BindingType.SCHEDULE}
    kinds = {kind for name, kind in _bindings(hook) if wanted in ("", name)}
    if wanted and not kinds:
        names = [name for name, _ in _bindings(hook)]
        raise BadInput(f"no binding is named '{wanted}'{suggestion(wanted, names) or f'; it has {names}'}")
    return kinds


def _bindings(hook: Hook) -> list[tuple[str, BindingType]]:
    """Every binding's name and kind."""
    config = hook.config
    bindings = [("onStartup", BindingType.ON_STARTUP)] * (config.on_startup is not None)
    bindings += [(type, type) for type in config.lifecycle]
    bindings += [(binding.name, BindingType.SCHEDULE) for binding in config.schedules]
    bindings += [(binding.name, BindingType.KUBERNETES) for binding in config.kubernetes]
    bindings += [(binding.name, BindingType.VALIDATING) for binding in config.validating]
    bindings += [(binding.name, BindingType.MUTATING) for binding in config.mutating]
    return bindings + [(binding.name, BindingType.CONVERSION) for binding in config.conversions]


def _only(options: HappeningOptions, what: str) -> JSON:
    if len(options.objects) != 1:
        raise BadInput(f"{what} is about one object, not {len(options.objects)}: give `object`")
    return options.objects[0]

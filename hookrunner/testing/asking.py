"""From the few words of a command line to a happening: what is not said follows from the hook and the objects."""

from dataclasses import dataclass

from hookrunner.errors import BadInput
from hookrunner.hooks.shapes import suggestion
from hookrunner.model.bindings import BindingType, Change, Hook
from hookrunner.model.resources import JSON
from hookrunner.testing.happenings import (
    Changed,
    Conversion,
    Grouped,
    Happening,
    Lifecycle,
    Review,
    Startup,
    Synchronization,
    Tick,
)

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
class Words:
    """What somebody said. `event` is one of `EVENTS` or empty, `to` the version that a conversion leads to, `part` the
    subresource that is reviewed."""

    event: str = ""
    binding: str = ""
    group: str = ""
    objects: tuple[JSON, ...] = ()
    old: JSON = None
    operation: str = ""
    to: str = ""
    dry_run: bool = False
    part: str = ""


def happening(hook: Hook, words: Words) -> Happening:
    """What is meant. Raises BadInput if that is not clear."""
    if words.group:
        return Grouped(words.group)
    event = words.event or _event(hook, words)
    match event:
        case "Startup":
            return Startup()
        case "Lifecycle":
            return Lifecycle(words.binding)
        case "Schedule":
            return Tick(words.binding)
        case "Synchronization":
            return Synchronization(words.binding)
        case "Conversion":
            return Conversion(words.objects, words.to, words.binding)
        case "Review":
            return _review(words)
    return Changed(Change(event), _only(words, f"an event {event}"), words.old, words.binding)


def _review(words: Words) -> Review:
    operation = (words.operation or ("UPDATE" if words.old is not None else "CREATE")).upper()
    # What is deleted may be called the old object, as the API server does.
    gone = operation == "DELETE" and not words.objects and words.old is not None
    obj = words.old if gone else _only(words, "a review")
    return Review(operation, obj, words.old, words.binding, words.dry_run, words.part)


def _event(hook: Hook, words: Words) -> str:
    """What is probably meant: by the options that only one thing takes, then by the kind of the binding."""
    if words.operation or words.dry_run or words.part:
        return "Review"
    if words.to:
        return "Conversion"
    kinds = _kinds(hook, words.binding)
    if len(kinds) > 1 and words.objects:
        kinds &= {BindingType.KUBERNETES}
    if len(kinds) != 1:
        bindings = ", ".join(f"{name} ({kind})" for name, kind in _bindings(hook))
        raise BadInput(f"what happens? Say it by the event or by the binding; the hook has {bindings or 'no bindings'}")
    kind = kinds.pop()
    if kind in _EVENT_OF:
        return _EVENT_OF[kind]
    if kind in hook.config.lifecycle:
        return "Lifecycle"
    if not words.objects:
        return "Synchronization"
    return "Modified" if words.old is not None else "Added"


def _kinds(hook: Hook, wanted: str) -> set[BindingType]:
    """The kinds of the bindings that may be meant. Raises BadInput for a name that none has."""
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
    found = [("onStartup", BindingType.ON_STARTUP)] * (config.on_startup is not None)
    found += [(type, type) for type in config.lifecycle]
    found += [(one.name, BindingType.SCHEDULE) for one in config.schedules]
    found += [(one.name, BindingType.KUBERNETES) for one in config.kubernetes]
    found += [(one.name, BindingType.VALIDATING) for one in config.validating]
    found += [(one.name, BindingType.MUTATING) for one in config.mutating]
    return found + [(one.name, BindingType.CONVERSION) for one in config.conversions]


def _only(words: Words, what: str) -> JSON:
    if len(words.objects) != 1:
        raise BadInput(f"{what} is about one object, not {len(words.objects)}: give `object`")
    return words.objects[0]

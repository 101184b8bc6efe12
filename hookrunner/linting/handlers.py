"""Checks of hooks that use the shell framework: is there a handler for all that may come, and does all come that there
is a handler for?"""

import re
from collections.abc import Iterator, Sequence

from hookrunner.hooks.shapes import suggestion
from hookrunner.linting.findings import Remark
from hookrunner.linting.source import Source
from hookrunner.model.bindings import Admission, Change, Conversion, HookConfig, Kubernetes, QueuedBinding

_DEFINED = re.compile(r"^[ \t]*(?:function[ \t]+)?(__on_[\w:./-]+|__main__)[ \t]*(?:\(\)|\{)", re.MULTILINE)
_EVENTS = {
    Change.ADDED: ("added", "added_or_modified"),
    Change.MODIFIED: ("modified", "added_or_modified"),
    Change.DELETED: ("deleted",),
}


def check(source: Source, config: HookConfig) -> Iterator[Remark]:
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
    """What may come, and the functions of which one has to be there, the most general last."""
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


def _of_conversions(binding: Conversion) -> Iterator[tuple[str, list[str]]]:
    general = f"__on_conversion::{binding.name}"
    for rule in binding.rules:
        source, target = (version.replace("/", ".", 1) for version in rule)
        yield f"{source}→{target} of '{binding.name}'", [f"{general}::{source}::{target}", general]


def _unknown(defined: dict[str, int], config: HookConfig) -> Iterator[Remark]:
    bindings: dict[str, Sequence[Kubernetes | Admission | Conversion]] = {
        "__on_kubernetes": config.kubernetes,
        "__on_validating": config.validating,
        "__on_mutating": config.mutating,
        "__on_conversion": config.conversions,
    }
    for handler, place in defined.items():
        kind, _, rest = handler.partition("::")
        name, names = rest.partition("::")[0], {binding.name for binding in bindings.get(kind, ())}
        if kind in bindings and name not in names:
            mend = suggestion(name, names) or f"; bindings of this kind are named {sorted(names)}"
            yield Remark("handler-unknown", place, f"{handler} is never called: no binding is named '{name}'{mend}")

"""Checks of how a hook reads what happened: contexts that it never looks at, or takes for others.

Only mistakes are looked for by which users of shell-operator have lost events: one context is read of several, or the
Synchronization is ignored (docs/decisions.md, 126)."""

from collections.abc import Iterator

from hookrunner.linting.context_readers import ContextReads, read_python, read_shell
from hookrunner.linting.findings import Remark
from hookrunner.linting.hook_source import Language, Source
from hookrunner.model.bindings import Change, HookConfig, QueuedBinding, Schedule


def check_contexts(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Remarks on a text and what it declares. Version v0 has neither combining nor Synchronizations."""
    reading = read_script(source)
    if reading is None or config.version == "v0":
        return
    if reading.first_only is not None and config.settings.combine and may_combine(config):
        yield Remark(
            "first-only",
            reading.first_only,
            "reads only the first context, but one run may bring several and the others are lost; go through the whole "
            "array, or set settings.combine: false",
        )
    yield from _synchronization(source, config, reading)


def read_script(source: Source) -> ContextReads | None:
    """How the text reads its contexts, None if that is not known."""
    match source.language:
        case Language.SHELL:
            return read_shell(source.code)
        case Language.PYTHON:
            return read_python(source)
        case Language.OTHER:
            return None


def may_combine(config: HookConfig) -> bool:
    """Whether contexts that say different things can meet in one run (docs/hooks.md).

    Ticks of one schedule are as good as one, of a group the last one stays, and Synchronizations stand alone.
    """
    if any(binding.changes and not binding.group for binding in config.kubernetes):
        return True
    queued: tuple[QueuedBinding, ...] = (*config.kubernetes, *config.schedules)
    queues: dict[tuple[str, bool], set[str]] = {}
    for index, binding in enumerate(queued):
        if binding.group or isinstance(binding, Schedule):
            queues.setdefault((binding.queue, binding.allow_failure), set()).add(binding.group or f" {index}")
    return any(len(different) > 1 for different in queues.values())


def _synchronization(source: Source, config: HookConfig, reading: ContextReads) -> Iterator[Remark]:
    """Only of hooks whose whole way from the file to the object is in this text."""
    synchronized = [binding for binding in config.kubernetes if binding.run_on_synchronization and not binding.group]
    knows = reading.aware or reading.guarded
    if reading.change is None or knows or not synchronized or _webhooks(config) or source.sources_others:
        return
    names = ", ".join(f"'{binding.name}'" for binding in synchronized)
    mend = 'handle `.type` == "Synchronization" with its `.objects`, or set executeHookOnSynchronization: false'
    if reading.name != "watchEvent":
        text = f"reads `.{reading.name}`, which the Synchronization of {names} does not have: at the start it is null"
        yield Remark("object-unguarded", reading.change, f"{text}; {mend}")
    elif any(Change.ADDED in binding.changes for binding in synchronized):
        text = f"never looks at the Synchronization of {names}: objects that are there at the start are passed over"
        yield Remark("synchronization-ignored", reading.change, f"{text}; {mend}")


def _webhooks(config: HookConfig) -> bool:
    """Reviews have objects of their own."""
    return bool(config.validating or config.mutating or config.conversions)

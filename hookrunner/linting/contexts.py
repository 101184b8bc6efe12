"""Checks of how a hook reads what happened: contexts that it never looks at, and such that it takes for others."""

from collections.abc import Iterator, Sequence

from hookrunner.linting import python, shell
from hookrunner.linting.findings import Remark
from hookrunner.linting.reading import Reading
from hookrunner.linting.source import Language, Source
from hookrunner.model.bindings import Change, HookConfig, Kubernetes, QueuedBinding, Schedule


def check(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Remarks on a text and what it declares. Version v0 has neither combining nor Synchronizations."""
    reading = read(source)
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
    yield from _never_there(config, reading)


def read(source: Source) -> Reading | None:
    """How the text reads its contexts, None if that cannot be told."""
    match source.language:
        case Language.SHELL:
            return shell.read(source.code)
        case Language.PYTHON:
            return python.read(source)
        case Language.OTHER:
            return None


def may_combine(config: HookConfig) -> bool:
    """Whether contexts that say different things can meet in one run (hooks.md, Combining).

    Ticks of one schedule are as good as one, of a group the last one stays, and Synchronizations stand alone.
    """
    if any(binding.changes and not binding.group for binding in config.kubernetes):
        return True
    queued: tuple[QueuedBinding, ...] = (*config.kubernetes, *config.schedules)
    queues: dict[tuple[str, bool], set[str]] = {}
    for place, one in enumerate(queued):
        if one.group or isinstance(one, Schedule):
            queues.setdefault((one.queue, one.allow_failure), set()).add(one.group or f" {place}")
    return any(len(different) > 1 for different in queues.values())


def _synchronization(source: Source, config: HookConfig, reading: Reading) -> Iterator[Remark]:
    """Only of hooks whose whole way from the file to the object is in this text."""
    synchronized = [one for one in config.kubernetes if one.run_on_synchronization and not one.group]
    knows = reading.aware or reading.guarded
    if reading.change is None or knows or not synchronized or _webhooks(config) or source.sources_others:
        return
    names = _listed(synchronized)
    mend = 'handle `.type` == "Synchronization" with its `.objects`, or set executeHookOnSynchronization: false'
    if reading.name != "watchEvent":
        text = f"reads `.{reading.name}`, which the Synchronization of {names} does not have: at the start it is null"
        yield Remark("object-unguarded", reading.change, f"{text}; {mend}")
    elif any(Change.ADDED in one.changes for one in synchronized):
        text = f"never looks at the Synchronization of {names}: objects that are there at the start are passed over"
        yield Remark("synchronization-ignored", reading.change, f"{text}; {mend}")


def _never_there(config: HookConfig, reading: Reading) -> Iterator[Remark]:
    """Keys that no binding brings, be it in an event or in a snapshot."""
    if not config.kubernetes or _webhooks(config):
        return
    if reading.objects is not None and not any(one.keep_full_objects for one in config.kubernetes):
        text = "reads `.object`, which no binding keeps: it is always null; read filterResult, or drop "
        yield Remark("never-there", reading.objects, f"{text}keepFullObjectsInMemory: false")
    if reading.filtered is not None and not any(one.jq_filter for one in config.kubernetes):
        text = "reads `.filterResult`, but no binding has a jqFilter: it is always null; add one, or read `.object`"
        yield Remark("never-there", reading.filtered, text)


def _webhooks(config: HookConfig) -> bool:
    """Reviews have objects of their own."""
    return bool(config.validating or config.mutating or config.conversions)


def _listed(bindings: Sequence[Kubernetes]) -> str:
    return ", ".join(f"'{one.name}'" for one in bindings)

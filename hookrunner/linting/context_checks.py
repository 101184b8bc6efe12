"""Checks of how a hook reads what happened: contexts that it never looks at, or takes for others; snapshots that it
includes and never reads (each is kept in memory and written in every run), or reads and never gets."""

import re
from collections.abc import Iterator, Sequence

from hookrunner.linting.context_readers import ContextReads, read_python, read_shell
from hookrunner.linting.findings import Remark
from hookrunner.linting.hook_source import Language, Source
from hookrunner.model.bindings import (
    Admission,
    Change,
    ConversionBinding,
    HookConfig,
    Kubernetes,
    QueuedBinding,
    Schedule,
)
from hookrunner.shapes import suggestion


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
    yield from _never_there(config, reading)


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
    names = _listed(synchronized)
    mend = 'handle `.type` == "Synchronization" with its `.objects`, or set executeHookOnSynchronization: false'
    if reading.name != "watchEvent":
        text = f"reads `.{reading.name}`, which the Synchronization of {names} does not have: at the start it is null"
        yield Remark("object-unguarded", reading.change, f"{text}; {mend}")
    elif any(Change.ADDED in binding.changes for binding in synchronized):
        text = f"never looks at the Synchronization of {names}: objects that are there at the start are passed over"
        yield Remark("synchronization-ignored", reading.change, f"{text}; {mend}")


def _never_there(config: HookConfig, reading: ContextReads) -> Iterator[Remark]:
    """Keys that no binding brings, be it in an event or in a snapshot."""
    if not config.kubernetes or _webhooks(config):
        return
    if reading.objects is not None and not any(binding.keep_full_objects for binding in config.kubernetes):
        text = "reads `.object`, which no binding keeps: it is always null; read filterResult, or drop "
        yield Remark("never-there", reading.objects, f"{text}keepFullObjectsInMemory: false")
    if reading.filtered is not None and not any(binding.jq_filter for binding in config.kubernetes):
        text = "reads `.filterResult`, but no binding has a jqFilter: it is always null; add one, or read `.object`"
        yield Remark("never-there", reading.filtered, text)


def _webhooks(config: HookConfig) -> bool:
    """Reviews have objects of their own."""
    return bool(config.validating or config.mutating or config.conversions)


def _listed(bindings: Sequence[Kubernetes]) -> str:
    return ", ".join(f"'{binding.name}'" for binding in bindings)


_LITERAL = re.compile(
    r"""\bsnapshots\b(?:\.[\w-]+ | \.?\[?["']{1,2}[\w./\s-]+["'] | ["']\]\[["'][\w./\s-]+["'] | ["']\]?\.get\(["'])""",
    re.X,
)
_READ = re.compile(
    r"""(?:(?<!\w)\.|(?<![\w.]))snapshots
    (?:\.(\w[\w-]*) | \.?\[["']([^"']+)["']\] | ["']\]\[["']([^"']+)["']\])""",
    re.X,
)
"""A name as it is read: `.snapshots.a`, `.snapshots["a"]`, `snapshots.a`, `["snapshots"]["a"]`."""
_ANY = re.compile(r"\bsnapshots\b")


def check_snapshots(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Remarks on a text that reads its snapshots by name, or nothing."""
    if not _readable(source):
        return
    queued: tuple[QueuedBinding, ...] = (*config.kubernetes, *config.schedules)
    others: tuple[Admission | ConversionBinding, ...] = (*config.validating, *config.mutating, *config.conversions)
    yield from _unknown(source, {name for one in (*queued, *others) for name in one.snapshots})
    yield from _unused(source, config, (*queued, *others))


def _unknown(source: Source, included: set[str]) -> Iterator[Remark]:
    for match in _READ.finditer(source.code):
        name = next(filter(None, match.groups()))
        if name not in included and included:
            mend = suggestion(name, included) or f"; includeSnapshotsFrom and groups bring {sorted(included)}"
            yield Remark("snapshot-unknown", match.start(), f"reads the snapshot '{name}', which is never there{mend}")


def _unused(
    source: Source, config: HookConfig, including: tuple[QueuedBinding | Admission | ConversionBinding, ...]
) -> Iterator[Remark]:
    """Names in `includeSnapshotsFrom` that are nowhere else. Bindings of a group get each other's snapshots unasked, so
    those are not reported."""
    groups = {binding.name: binding.group for binding in config.kubernetes}
    included = [name for one in including for name in one.snapshots if not one.group or groups.get(name) != one.group]
    for name in dict.fromkeys(included):
        if len(_places(source, name)) <= 1 + included.count(name):
            text = f"includes the snapshot '{name}' and never reads it; drop it from includeSnapshotsFrom"
            yield Remark("snapshot-unused", source.find("includeSnapshotsFrom"), text)


def _readable(source: Source) -> bool:
    """All reads of snapshots are in this text, and each says by name which it wants."""
    reading = read_script(source)
    if source.language is Language.OTHER or not (source.framework or (reading and reading.closed)):
        return False
    return not source.sources_others and len(_ANY.findall(source.code)) == len(_LITERAL.findall(source.code))


def _places(source: Source, name: str) -> list[str]:
    return re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", source.code)

"""Check of snapshots that a hook asks for and never reads: each is fetched, kept in memory and written in every run."""

import re
from collections.abc import Iterator

from hookrunner.linting import contexts
from hookrunner.linting.findings import Remark
from hookrunner.linting.source import Language, Source
from hookrunner.model.bindings import Admission, Conversion, HookConfig, QueuedBinding

_LITERAL = re.compile(
    r"""\bsnapshots\b(?:\.[\w-]+ | \.?\[?["']{1,2}[\w./\s-]+["'] | ["']\]\[["'][\w./\s-]+["'] | ["']\]?\.get\(["'])""",
    re.X,
)
_ANY = re.compile(r"\bsnapshots\b")


def check(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Names in `includeSnapshotsFrom` that are nowhere else in a text that reads its snapshots by name, or none at all.

    Bindings of a group get each other's snapshots unasked, so those are not told.
    """
    if not _readable(source):
        return
    groups = {binding.name: binding.group for binding in config.kubernetes}
    queued: tuple[QueuedBinding, ...] = (*config.kubernetes, *config.schedules)
    including: tuple[QueuedBinding | Admission | Conversion, ...] = (
        *queued,
        *config.validating,
        *config.mutating,
        *config.conversions,
    )
    asked = [name for one in including for name in one.snapshots if not one.group or groups.get(name) != one.group]
    for name in dict.fromkeys(asked):
        if len(_places(source, name)) <= 1 + asked.count(name):
            text = f"includes the snapshot '{name}' and never reads it; drop it from includeSnapshotsFrom"
            yield Remark("snapshot-unused", source.find("includeSnapshotsFrom"), text)


def _readable(source: Source) -> bool:
    """All reads of snapshots are in this text, and each says by name which it wants."""
    reading = contexts.read(source)
    if source.language is Language.OTHER or not (source.framework or (reading and reading.closed)):
        return False
    return not source.sources_others and len(_ANY.findall(source.code)) == len(_LITERAL.findall(source.code))


def _places(source: Source, name: str) -> list[str]:
    return re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", source.code)

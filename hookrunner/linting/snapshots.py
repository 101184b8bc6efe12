"""Checks of snapshots: such that a hook asks for and never reads (each is kept in memory and written in every run), and
such that it reads and never gets."""

import re
from collections.abc import Iterator

from hookrunner.hooks.shapes import suggestion
from hookrunner.linting import contexts
from hookrunner.linting.findings import Remark
from hookrunner.linting.source import Language, Source
from hookrunner.model.bindings import Admission, Conversion, HookConfig, QueuedBinding

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


def check(source: Source, config: HookConfig) -> Iterator[Remark]:
    """Remarks on a text that reads its snapshots by name, or none at all."""
    if not _readable(source):
        return
    queued: tuple[QueuedBinding, ...] = (*config.kubernetes, *config.schedules)
    others: tuple[Admission | Conversion, ...] = (*config.validating, *config.mutating, *config.conversions)
    yield from _unknown(source, {name for one in (*queued, *others) for name in one.snapshots})
    yield from _unused(source, config, (*queued, *others))


def _unknown(source: Source, included: set[str]) -> Iterator[Remark]:
    for match in _READ.finditer(source.code):
        name = next(filter(None, match.groups()))
        if name not in included and included:
            mend = suggestion(name, included) or f"; includeSnapshotsFrom and groups bring {sorted(included)}"
            yield Remark("snapshot-unknown", match.start(), f"reads the snapshot '{name}', which is never there{mend}")


def _unused(
    source: Source, config: HookConfig, including: tuple[QueuedBinding | Admission | Conversion, ...]
) -> Iterator[Remark]:
    """Names in `includeSnapshotsFrom` that are nowhere else. Bindings of a group get each other's snapshots unasked, so
    those are not told."""
    groups = {binding.name: binding.group for binding in config.kubernetes}
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

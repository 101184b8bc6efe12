"""One result as people and programs read it."""

from collections.abc import Iterator

import orjson

from hookrunner.model.resources import JSON, key_of
from hookrunner.testing.bench import NO_EFFECTS, Effects, Result
from hookrunner.testing.diffs import as_yaml, unified
from hookrunner.testing.values import Patched


def as_json(result: Result, effects: Effects = NO_EFFECTS) -> JSON:
    """Everything, with the same keys each time."""
    return {
        "run": result.ran,
        "reason": result.reason,
        "notes": list(result.notes),
        "failure": result.failure,
        "exit": result.exit_code,
        "seconds": round(result.seconds, 4),
        "contexts": result.contexts,
        "logs": list(result.logs),
        "patches": result.patches,
        "changes": [{"before": before, "after": after} for before, after in effects.changes],
        "refusal": effects.refusal,
        "metrics": list(result.metrics),
        "verdict": result.verdict,
        "mutated": result.mutated,
        "values": result.values.after if result.values else None,
        "configValues": result.config_values.after if result.config_values else None,
    }


def as_text(result: Result, effects: Effects, with_context: bool) -> Iterator[str]:
    """Lines for a terminal, in the order in which things happened."""
    if not result.ran:
        yield f"would not run: {result.reason}"
        return
    yield from (f"note: {note}" for note in result.notes)
    if with_context:
        yield from orjson.dumps(result.contexts, option=orjson.OPT_INDENT_2).decode().splitlines()
    yield from (f"| {line}" for line in result.logs)
    end = "no exit code" if result.exit_code is None else f"exit {result.exit_code}"
    yield f"{end} after {result.seconds * 1000:.0f} ms"
    if result.failure:
        yield f"failed: {result.failure}"
    yield from _section("patches, not applied in a dry run" if result.dry_run else "patches", result.patches)
    for before, after in effects.changes:
        name = _name(before or after)
        yield from unified(before, after, name if before else "(nothing)", name if after else "(deleted)")
    if effects.refusal:
        yield f"not possible on the given objects: {effects.refusal}"
    yield from _section("metrics", list(result.metrics))
    yield from _section("verdict", result.verdict)
    if result.mutated:
        before = result.contexts[0]["review"]["request"]["object"]
        yield from unified(before, result.mutated, _name(before), f"{_name(before)}, mutated")
    yield from _values("values", result.values)
    yield from _values("config values", result.config_values)


def _section(title: str, value: JSON) -> Iterator[str]:
    if value:
        yield f"{title}:"
        yield from (f"  {line}" for line in as_yaml(value).splitlines())


def _name(obj: JSON) -> str:
    return str(key_of(obj)).lstrip("/")


def _values(title: str, patched: Patched | None) -> Iterator[str]:
    if patched and patched.patches:
        yield from unified(patched.before, patched.after, title, f"{title}, patched")

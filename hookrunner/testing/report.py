"""One result as people and programs read it."""

from collections.abc import Iterator

import orjson

from hookrunner.model.resources import JSON
from hookrunner.testing.bench import Result
from hookrunner.testing.diffs import as_yaml, unified
from hookrunner.testing.values import Patched


def as_json(result: Result) -> JSON:
    """Everything, with the same keys each time."""
    return {
        "run": result.ran,
        "reason": result.reason,
        "failure": result.failure,
        "exit": result.exit_code,
        "seconds": round(result.seconds, 4),
        "contexts": result.contexts,
        "logs": list(result.logs),
        "patches": result.patches,
        "metrics": list(result.metrics),
        "verdict": result.verdict,
        "values": result.values.after if result.values else None,
        "configValues": result.config_values.after if result.config_values else None,
    }


def as_text(result: Result, with_context: bool) -> Iterator[str]:
    """Lines for a terminal, in the order in which things happened."""
    if not result.ran:
        yield f"would not run: {result.reason}"
        return
    if with_context:
        yield from orjson.dumps(result.contexts, option=orjson.OPT_INDENT_2).decode().splitlines()
    yield from (f"| {line}" for line in result.logs)
    end = "no exit code" if result.exit_code is None else f"exit {result.exit_code}"
    yield f"{end} after {result.seconds * 1000:.0f} ms"
    if result.failure:
        yield f"failed: {result.failure}"
    yield from _section("patches", result.patches)
    yield from _section("metrics", list(result.metrics))
    yield from _section("verdict", result.verdict)
    yield from _values("values", result.values)
    yield from _values("config values", result.config_values)


def _section(title: str, value: JSON) -> Iterator[str]:
    if value:
        yield f"{title}:"
        yield from (f"  {line}" for line in as_yaml(value).splitlines())


def _values(title: str, patched: Patched | None) -> Iterator[str]:
    if patched and patched.patches:
        yield from unified(patched.before, patched.after, title, f"{title}, patched")

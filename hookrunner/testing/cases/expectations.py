"""Whether a result is what a case expects, and if not, where they differ.

A mapping is as expected if all expected keys are; other keys do not matter, except under `exactly`. The difference is
shown between the expectation and the same keys of the actual value.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from hookrunner.testing.display import yaml_diff
from hookrunner.testing.results import NO_EFFECTS, Effects, Patched, Result
from kubetypes.json_values import JSON, equal_in_value
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """A key under `expect` that does not hold, and lines that show why."""

    key: str
    lines: tuple[str, ...]


def differences(expect: JSON, result: Result, effects: Effects = NO_EFFECTS) -> list[Difference]:
    """All differences between a result and the expectation."""
    return list(_differences(expect, result, effects))


def actual(key: str, result: Result, effects: Effects) -> JSON:
    """The actual value of a key under `expect`."""
    match key:
        case "objects":
            return list(effects.objects)
        case "refusal":
            return effects.refusal
    return _ACTUAL[key](result)


def _differences(expect: JSON, result: Result, effects: Effects) -> Iterator[Difference]:
    wanted = expect.get("run", True)
    if wanted is not result.ran:
        yield Difference("run", (f"the hook would not run: {result.reason}",) if wanted else ("the hook ran",))
        return
    yield from _contained("reason", expect, result.reason)
    if result.ran:
        yield from _end(expect, result)
        yield from _logs(expect, result.logs)
        yield from _refusal(expect, effects.refusal)
    for key in ("contexts", "patches", "metrics", "conditions"):
        if key in expect:
            yield from _listed(key, expect[key], actual(key, result, effects), of_parts)
    if "verdict" in expect:
        actual_value = _with_nothing(expect["verdict"], result.verdict)
        yield from of_parts("verdict", expect["verdict"], actual_value)
    for key in ("runAgainAfterSeconds", "mutated", "values", "configValues"):
        if key in expect:
            yield from of_parts(key, expect[key], actual(key, result, effects))
    if "objects" in expect:
        yield from of_objects("objects", expect["objects"], effects.objects)


def _with_nothing(expected: JSON, verdict: JSON) -> JSON:
    """A verdict with the missing keys that are expected to be empty: `warnings: []`."""
    return {key: value for key, value in expected.items() if value in ("", [], {})} | verdict if verdict else verdict


_ACTUAL: dict[str, Callable[[Result], JSON]] = {
    "run": lambda result: result.ran,
    "reason": lambda result: result.reason,
    "exit": lambda result: result.exit_code,
    "failure": lambda result: result.failure,
    "logs": lambda result: [_literal(line) for line in result.logs],
    "contexts": lambda result: result.contexts or [],
    "patches": lambda result: result.patches,
    "metrics": lambda result: list(result.metrics),
    "conditions": lambda result: result.reported,
    "runAgainAfterSeconds": lambda result: result.again_after,
    "verdict": lambda result: result.verdict,
    "mutated": lambda result: result.mutated,
    "values": lambda result: _after(result.values),
    "configValues": lambda result: _after(result.config_values),
}


def _after(values: Patched | None) -> JSON:
    return values.after if values else None


def _end(expect: JSON, result: Result) -> Iterator[Difference]:
    """A case without `exit` expects success. A run that was killed has no exit code, and `failure` alone is enough."""
    wanted = expect.get("exit", None if "failure" in expect and result.exit_code is None else 0)
    if wanted != result.exit_code:
        code = "no exit code" if result.exit_code is None else f"exit {result.exit_code}"
        lines_shown = [f"{code}, expected {wanted}", *result.failure.splitlines()]
        yield Difference("exit", tuple(lines_shown))
    elif "failure" in expect:
        yield from _contained("failure", expect, result.failure)
    elif result.failure and result.exit_code == 0:
        yield Difference("failure", (result.failure,))


def _contained(key: str, expect: JSON, text: str) -> Iterator[Difference]:
    if key in expect:
        yield from of_text(key, expect[key], text)


def _refusal(expect: JSON, refusal: str) -> Iterator[Difference]:
    """A case without `refusal` expects that all operations of the hook are carried out."""
    if refusal and "refusal" not in expect:
        mend = "mend the hook; give the object that it changes in `given`, complete; or expect it, by `refusal`"
        yield Difference("refusal", (*refusal.splitlines(), mend))
    yield from _contained("refusal", expect, refusal)


def _logs(expect: JSON, lines: Sequence[str]) -> Iterator[Difference]:
    """A text is part of a line; between slashes it is a regular expression; an empty list expects silence."""
    if "logs" not in expect:
        return
    missing = [wanted for wanted in expect["logs"] if not any(pattern(wanted).search(line) for line in lines)]
    if missing or (not expect["logs"] and lines):
        lines_shown = [f"- {wanted}" for wanted in missing] + [f"+ {line}" for line in lines or ("(no line)",)]
        yield Difference("logs", tuple(lines_shown))


def _literal(line: str) -> str:
    """A line; escaped if it looks like a regular expression."""
    return f"/{re.escape(line)}/" if line[:1] == line[-1:] == "/" else line


def pattern(wanted: str) -> re.Pattern[str]:
    """The pattern that a wanted line stands for. Raises re.error for a bad regular expression."""
    regular = len(wanted) > 1 and wanted.startswith("/") and wanted.endswith("/")
    return re.compile(wanted[1:-1] if regular else re.escape(wanted))


_Compare = Callable[[str, list[JSON], list[JSON]], Iterator[Difference]]


def _listed(key: str, expected: JSON, actual_value: list[JSON], compare: _Compare) -> Iterator[Difference]:
    """Compare a plain list by `compare`; a mapping by its keys `contain` and `exactly`."""
    if isinstance(expected, list):
        yield from compare(key, expected, actual_value)
        return
    yield from _some_of(key, expected.get("contain", []), actual_value)
    if "exactly" in expected:
        yield from _shown(key, expected["exactly"], actual_value)


def _some_of(key: str, expected: list[JSON], actual_value: list[JSON]) -> Iterator[Difference]:
    """Each expected item is among the actual ones; a missing one is compared with the most similar."""
    for item in expected:
        if not any(equal_in_value(projected(value, item), item) for value in actual_value):
            yield from _shown(key, item, nearest(item, actual_value))


def nearest(item: JSON, actual_value: Sequence[JSON]) -> JSON:
    """The most similar value, with the keys that the expectation names; None if there is no value."""
    candidates = [projected(value, item) for value in actual_value]
    return max(candidates, key=lambda value: _likeness(value, item), default=None)


def of_objects(key: str, expected: JSON, actual_value: Sequence[JSON]) -> Iterator[Difference]:
    """How objects, in any order, differ from those under `contain`, `exactly` and `absent`."""
    yield from _listed(key, expected, list(actual_value), _some_of)
    for item in expected.get("absent", []) if isinstance(expected, dict) else []:
        if any(equal_in_value(projected(value, item), item) for value in actual_value):
            yield Difference(key, (f"expected to be absent, but it is there: {item}",))


def of_parts(key: str, expected: JSON, actual_value: JSON) -> Iterator[Difference]:
    """How a value differs in what the expectation names: the keys of mappings, all items of lists in their order."""
    yield from _shown(key, expected, projected(actual_value, expected))


def of_text(key: str, expected: str, actual_value: str) -> Iterator[Difference]:
    """A difference if the expected text is not part of the actual one."""
    if expected not in actual_value:
        yield Difference(key, (f"expected to contain: {expected}", f"it is: {actual_value or 'nothing'}"))


def _shown(key: str, expected: JSON, actual_value: JSON) -> Iterator[Difference]:
    if not equal_in_value(expected, actual_value):
        yield Difference(key, tuple(yaml_diff(expected, actual_value, f"{key}: expected", f"{key}: actual")))


def projected(actual_value: JSON, expected: JSON) -> JSON:
    """The parts of a value that the expectation names."""
    if isinstance(actual_value, dict) and isinstance(expected, dict):
        return {key: projected(actual_value[key], expected[key]) for key in expected if key in actual_value}
    if isinstance(actual_value, list) and isinstance(expected, list):
        rest = actual_value[len(expected) :]
        return [projected(value, other) for value, other in zip(actual_value, expected, strict=False)] + rest
    return actual_value


def _likeness(actual_value: JSON, expected: JSON) -> int:
    """How many of the expected values, at any depth, are actual_value."""
    if isinstance(expected, dict) and isinstance(actual_value, dict):
        return sum(_likeness(actual_value[key], expected[key]) for key in expected if key in actual_value)
    return int(equal_in_value(actual_value, expected))

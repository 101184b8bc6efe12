"""What came of a run: the result, its effects on the objects, and both as people and programs read them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import orjson

from hookrunner.errors import BadOutput, BadValues
from hookrunner.model.addon_status import HookCondition
from hookrunner.model.operations import ObjectOperation, ValuesOperation
from hookrunner.testing import display
from hookrunner.testing.display import as_yaml, name_of, yaml_diff
from hookrunner.values import patches
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patched:
    """Values and a hook's operations on them. `key` is the section of the hook's module, empty if it is unknown."""

    before: JSON
    patches: tuple[ValuesOperation, ...] = ()
    key: str = ""

    @property
    def after(self) -> JSON:
        """The values after all operations. Raises BadOutput for an operation that does not apply or is not allowed."""
        try:
            if self.key:
                patches.permitted(self.patches, self.key)
            return patches.applied(self.before, self.patches, "values patch")
        except BadValues as error:
            raise BadOutput(str(error)) from None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a happening.

    `reason` says why the hook would not run; then nothing else is set. `failure` says why the run counts as failed:
    a failed hook's operations are those marked `ignoreHookError`. `logs` are the lines that it printed on either
    stream. `contexts` is what it read. `conditions` are those that a hook of an addon reports. `mutated` is the
    reviewed object with the verdict's patch. `objects` are those there were when it began. `dry_run` says that it was
    about a dry-run review, which carries no operation out. `again_after` are the seconds after which the hook asks to
    be run again. `notes` say what could not be found out about whether it would come to the run.
    """

    reason: str = ""
    failure: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    contexts: JSON = None
    logs: tuple[str, ...] = ()
    operations: tuple[ObjectOperation, ...] = ()
    metrics: tuple[JSON, ...] = ()
    conditions: tuple[HookCondition, ...] = ()
    verdict: JSON = None
    mutated: JSON = None
    values: Patched | None = None
    config_values: Patched | None = None
    objects: tuple[JSON, ...] = ()
    dry_run: bool = False
    again_after: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def ran(self) -> bool:
        """Whether the hook ran at all."""
        return not self.reason

    @property
    def ok(self) -> bool:
        """Whether it ran or rightly did not, and nothing failed."""
        return not self.failure

    @property
    def carried_out(self) -> tuple[ObjectOperation, ...]:
        """The operations that are done."""
        return () if self.dry_run else self.operations

    @property
    def reported(self) -> list[JSON]:
        """The conditions as documents of their file, with every key; the hook is always the one that runs."""
        documents = map(asdict, self.conditions)
        return [{key: value for key, value in document.items() if key != "hook"} for document in documents]

    @property
    def patches(self) -> list[JSON]:
        """The operations as documents of the patch file."""
        return [display.patch_document(operation) for operation in self.operations]


@dataclass(frozen=True, slots=True)
class Effects:
    """What a hook's operations do to the objects: those in the end, in the order of their names; (before, after) of
    those that changed, None for one that is not there; and what the API refuses, in words. Found by `effects.py`."""

    objects: Sequence[JSON] = ()
    changes: Sequence[tuple[JSON, JSON]] = ()
    refusal: str = ""


NO_EFFECTS = Effects()


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
        "conditions": result.reported,
        "runAgainAfterSeconds": result.again_after,
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
        name = name_of(before or after)
        yield from yaml_diff(before, after, name if before else "(nothing)", name if after else "(deleted)")
    if effects.refusal:
        yield f"not possible on the given objects: {effects.refusal}"
    yield from _section("metrics", list(result.metrics))
    yield from _section("conditions", result.reported)
    if result.again_after is not None:
        yield f"asks to be run again after {result.again_after:g} s"
    yield from _section("verdict", result.verdict)
    if result.mutated:
        before = result.contexts[0]["review"]["request"]["object"]
        yield from yaml_diff(before, result.mutated, name_of(before), f"{name_of(before)}, mutated")
    yield from _values("values", result.values)
    yield from _values("config values", result.config_values)


def _section(title: str, value: JSON) -> Iterator[str]:
    if value:
        yield f"{title}:"
        yield from (f"  {line}" for line in as_yaml(value).splitlines())


def _values(title: str, patched: Patched | None) -> Iterator[str]:
    if patched and patched.patches:
        yield from yaml_diff(patched.before, patched.after, title, f"{title}, patched")

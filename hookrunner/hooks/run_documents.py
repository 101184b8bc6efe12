"""A run and its answer as JSON documents, for carriers that send them (docs/hook-protocol.md). Their schemas are
`run.schema.json` and `answer.schema.json`; tests hold both against the same samples.

    text = b"".join(encode_run(run, "r1", deadline))
    answer = judged(read_answer(document, run.has_values, run.has_instance), run)

An answer is read by the code that reads the files of an answer. Unknown keys are ignored, so that a hook may know more
than this version.
"""

from collections.abc import Iterator

import orjson

from hookrunner import log, redaction
from hookrunner.errors import BadOutput, HookFailed
from hookrunner.hooks import condition_reports, metric_operations, patches, repetitions, verdicts
from hookrunner.model.hook_runs import ExitedBadly, Run, Values
from hookrunner.model.operations import Answer, ObjectOperation, ValuesOperation
from hookrunner.model.timestamps import micro_time
from hookrunner.shapes import ANY_VALUE, FLAG, NUMBER, TEXT, Many, Table, Text, check
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_AGAIN = "runAgainAfterSeconds"
_LIST = Many(ANY_VALUE, at_least=0)
ANSWER = Table(
    {
        "id": TEXT,
        "outcome": Text(("done", "failed")),
        "message": TEXT,
        "operations": ANY_VALUE,
        "metrics": _LIST,
        "admission": ANY_VALUE,
        "conversion": ANY_VALUE,
        "configValuesPatch": _LIST,
        "valuesPatch": _LIST,
        "conditions": _LIST,
        _AGAIN: NUMBER,
        "recycle": FLAG,
    },
    open=True,
)
_MOST_MESSAGE = 8 * 1024
"""Characters of a failure's message, which queue dumps show too."""

_log = log.get(__name__)


def encode_run(run: Run, run_id: str, deadline: float | None) -> Iterator[bytes]:
    """The document in pieces; `deadline` is in epoch seconds. It may contain line feeds between values. Raises
    HookFailed for contexts that cannot be written."""
    head: dict[str, JSON] = {"id": run_id, "hook": run.hook.name, "attempt": run.options.attempt}
    if run.hook.module:
        head["module"] = run.hook.module
    if deadline is not None:
        head["deadline"] = micro_time(deadline)
    yield orjson.dumps(head)[:-1]
    yield b',"contexts":'
    try:
        yield from run.rendered_contexts()
    except orjson.JSONEncodeError as error:
        raise HookFailed(f"the binding context cannot be written: {error}") from error
    if run.values:
        yield from _encode_values(run.values)
    yield b"}"


def _encode_values(values: Values) -> Iterator[bytes]:
    yield b',"configValues":%b,"values":%b' % (values.config, values.values)
    if values.instance:
        yield b',"instance":%b' % values.instance.document
        yield b',"packageDirectory":%b' % orjson.dumps(values.instance.package_directory)


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer that can be read. `failure` is the message of one whose outcome is `failed`, whose operations are those
    that survive; `recycle` asks for a new process."""

    answer: Answer
    failure: str | None = None
    recycle: bool = False


def judged(read: ReadAnswer, run: Run) -> Answer:
    """The answer of a run that ended well. Raises ExitedBadly, BadOutput."""
    if read.failure is not None:
        message = f"{run.hook.name} FAILED: {read.failure}"
        operations = () if run.refuses_patches else read.answer.objects
        raise ExitedBadly(message, operations, "it answered that it failed", 1)
    run.require_permitted(read.answer)
    return read.answer


def read_answer(document: JSON, has_values: bool, has_instance: bool) -> ReadAnswer:
    """What an answer states; whether the hook has values and an instance. A pure function. Raises BadOutput with every
    problem."""
    document = {key: value for key, value in document.items() if value is not None}
    if problems := list(check(document, ANSWER)):
        raise BadOutput(f"got a bad answer: {'; '.join(map(str, problems))}; nothing was applied")
    recycle = document.get("recycle", False)
    if document.get("outcome") == "failed":
        said = document.get("message", "").strip()[:_MOST_MESSAGE]
        reason = said or "it gave no reason; write one into `message` of the answer"
        return ReadAnswer(Answer(objects=_despite(document)), reason, recycle)
    return ReadAnswer(_to_answer(document, has_values, has_instance), recycle=recycle)


def _to_answer(document: JSON, has_values: bool, has_instance: bool) -> Answer:
    return Answer(
        config=_value_patch(document, "configValuesPatch") if has_values else (),
        values=_value_patch(document, "valuesPatch") if has_values else (),
        metrics=metric_operations.to_operations(document["metrics"]) if "metrics" in document else (),
        admission=verdicts.to_verdict(document["admission"]) if "admission" in document else None,
        conversion=verdicts.to_converted(document["conversion"])[0] if "conversion" in document else None,
        objects=_operations(document),
        conditions=condition_reports.to_conditions(document.get("conditions", ())) if has_instance else None,
        again_after=repetitions.to_seconds(document[_AGAIN], _AGAIN) if _AGAIN in document else None,
    )


def _operations(document: JSON) -> tuple[ObjectOperation, ...]:
    """A list, or a text as in the file. Raises BadOutput."""
    operations = document.get("operations", [])
    if isinstance(operations, str):
        return patches.parse(operations.encode(errors="replace"))
    if not isinstance(operations, list):
        raise BadOutput(f"operations must be a list or a text, not {redaction.kind(operations)}; nothing was applied")
    return patches.to_operations(operations)


def _value_patch(document: JSON, key: str) -> tuple[ValuesOperation, ...]:
    """Raises BadOutput."""
    try:
        return patches.to_value_operations(document.get(key, ()))
    except BadOutput as error:
        raise BadOutput(f"{key}: {error}") from None


def _despite(document: JSON) -> tuple[ObjectOperation, ...]:
    """Operations of a failed hook to carry out nevertheless."""
    try:
        operations = _operations(document)
    except BadOutput as error:
        _log.warn("the failed hook's operations are ignored", error=error)
        return ()
    return tuple(operation for operation in operations if operation.survives_failure)

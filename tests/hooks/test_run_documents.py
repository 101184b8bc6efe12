"""Runs and answers as documents: what they contain, and that their schemas say the same. Level: pure."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from hookrunner.errors import BadOutput
from hookrunner.hooks.run_documents import ANSWER, encode_run, judged, read_answer
from hookrunner.model.addon_status import HookCondition
from hookrunner.model.bindings import Change, Hook, HookConfig, HookSettings
from hookrunner.model.contexts import Context, ContextType, Entry, Include
from hookrunner.model.hook_runs import ExitedBadly, InstanceInput, Run, RunOptions, Values
from hookrunner.model.operations import Answer, MetricAction, MetricOperation, ValuesOperation, Verb
from hookrunner.model.resources import ObjectKey
from hookrunner.model.reviews import Verdict
from kubetypes.json_values import JSON
from tests.tables import each

POD = ObjectKey("ns", "Pod", "a")
EVENT = Context(
    "pods", ContextType.EVENT, change=Change.ADDED, key=POD, obj=b'{"kind": "Pod"}', includes=(Include("pods", 0),)
)
REVIEW = Context("a.b.c", ContextType.VALIDATING, extra={"review": {"request": {"uid": "1"}}})
HOOK = Hook("sub/hook.sh", Path("/h.sh"), HookConfig("v1"))
VALUES = Values(b'{"m": {"a": 1}}', b'{"global": {},\n"m": {}}', InstanceInput(b'{"kind": "X"}', "/p"))
STATUS = {"operation": "MergePatch", "kind": "Pod", "name": "a", "subresource": "status", "mergePatch": {"status": {}}}
DESPITE = STATUS | {"ignoreHookError": True}
FULL: JSON = {
    "id": "r1",
    "outcome": "done",
    "operations": [{"operation": "Delete", "kind": "Pod", "namespace": "ns", "name": "a"}],
    "metrics": [{"name": "hits", "add": 1, "labels": {"a": "b"}}],
    "admission": {"allowed": True, "warnings": ["w"]},
    "conversion": {"convertedObjects": [{"kind": "X"}]},
    "configValuesPatch": [{"op": "add", "path": "/m/a", "value": 1}],
    "valuesPatch": [{"op": "remove", "path": "/m/b"}],
    "conditions": [{"type": "Conflict", "status": "True"}],
    "recycle": False,
}


def schema(name: str) -> Any:
    document = orjson.loads(resources.files("hookrunner.hooks").joinpath(f"{name}.schema.json").read_bytes())
    Draft202012Validator.check_schema(document)
    return document


def run(*contexts: Context, hook: Hook = HOOK, values: Values | None = None) -> Run:
    return Run(hook, contexts or (EVENT,), {0: [Entry(POD, b"{}", None)]}, RunOptions(attempt=2), values)


def encoded(run: Run, deadline: float | None = None) -> JSON:
    return orjson.loads(b"".join(encode_run(run, "r1", deadline)))


def to_answer(document: JSON, run: Run) -> Answer:
    return judged(read_answer(document, run.has_values, run.has_instance), run)


def test_a_run_has_its_contexts_with_their_snapshots() -> None:
    assert encoded(run()) == {
        "id": "r1",
        "hook": "sub/hook.sh",
        "attempt": 2,
        "contexts": [
            {
                "binding": "pods",
                "type": "Event",
                "watchEvent": "Added",
                "object": {"kind": "Pod"},
                "snapshots": {"pods": [{"object": {}}]},
            }
        ],
    }


def test_a_run_of_an_addons_hook_has_values_instance_and_deadline() -> None:
    document = encoded(run(hook=replace(HOOK, module="m"), values=VALUES), deadline=0.5)
    del document["contexts"]
    assert document == {
        "id": "r1",
        "hook": "sub/hook.sh",
        "module": "m",
        "attempt": 2,
        "deadline": "1970-01-01T00:00:00.500000Z",
        "configValues": {"m": {"a": 1}},
        "values": {"global": {}, "m": {}},
        "instance": {"kind": "X"},
        "packageDirectory": "/p",
    }
    assert document.keys() | {"contexts"} == schema("run")["properties"].keys()


def test_runs_fit_their_schema() -> None:
    validator = Draft202012Validator(schema("run"))
    for sample in (run(), run(hook=replace(HOOK, module="m"), values=VALUES), run(REVIEW)):
        validator.validate(encoded(sample, 1.0))


def test_an_answer_says_what_the_files_of_a_run_say() -> None:
    answer = to_answer(FULL, run(hook=replace(HOOK, module="m"), values=VALUES))
    assert answer.conversion is not None
    assert list(answer.conversion.objects) == [b'{"kind":"X"}']
    assert [operation.verb for operation in answer.objects] == [Verb.DELETE]
    assert replace(answer, conversion=None, objects=()) == Answer(
        metrics=(MetricOperation(MetricAction.ADD, "hits", 1.0, labels=(("a", "b"),)),),
        admission=Verdict(allowed=True, warnings=("w",)),
        config=(ValuesOperation("add", "/m/a", 1),),
        values=(ValuesOperation("remove", "/m/b"),),
        conditions=(HookCondition("Conflict", "True", "Conflict"),),
    )


def test_operations_may_be_a_text_as_in_the_file() -> None:
    text = "operation: Delete\nkind: Pod\nname: a\n---\noperation: Delete\nkind: Pod\nname: b\n"
    assert [operation.name for operation in to_answer({"operations": text}, run()).objects] == ["a", "b"]
    Draft202012Validator(schema("answer")).validate({"operations": text})


def test_an_answer_with_nothing_and_one_with_unknown_keys_asks_for_nothing() -> None:
    assert to_answer({}, run()) == to_answer({"id": "r1", "new": [1], "operations": None}, run()) == Answer()


def test_keys_of_the_schema_are_the_keys_that_are_read() -> None:
    answer = schema("answer")
    assert answer["properties"].keys() == ANSWER.keys.keys()
    assert answer["$defs"]["operation"]["properties"]["operation"]["enum"] == list(Verb)
    Draft202012Validator(answer).validate(FULL)


@each(
    ("document", "words"),
    [
        ({"operations": {}}, "operations"),
        ({"outcome": "maybe"}, "outcome"),
        ({"metrics": [{"name": 1}]}, "got bad metrics: document 1: name"),
        ({"operations": [{"operation": "Delete"}]}, "kind is required"),
        ({"admission": []}, "got bad validating response: an object is expected"),
        ({"conversion": {"convertedObjects": [1]}}, "got bad conversion response"),
        ({"valuesPatch": [{"op": "replace", "path": "/a"}]}, "valuesPatch: unsupported patch operation"),
        ({"conditions": [{"type": "A"}]}, "status is required"),
    ],
)
def test_an_answer_that_cannot_be_read_names_the_key_and_does_not_fit_the_schema(document: JSON, words: str) -> None:
    with pytest.raises(BadOutput, match=words):
        to_answer(document, run(hook=replace(HOOK, module="m"), values=VALUES))
    # The schema says less about single operations, whose required keys depend on the verb.
    assert "operations" in document or list(Draft202012Validator(schema("answer")).iter_errors(document))


@each(
    ("document", "message", "verbs"),
    [
        ({"message": "no quota"}, "sub/hook.sh FAILED: no quota", []),
        ({"message": "x", "operations": [STATUS, DESPITE]}, "sub/hook.sh FAILED: x", [Verb.MERGE_PATCH]),
        ({"message": "x", "operations": [1]}, "sub/hook.sh FAILED: x", []),
        ({}, "sub/hook.sh FAILED: it gave no reason; write one into `message` of the answer", []),
    ],
)
def test_a_failure_has_its_message_and_the_operations_that_survive_it(
    document: JSON, message: str, verbs: Sequence[Verb]
) -> None:
    with pytest.raises(ExitedBadly) as failed:
        to_answer({"outcome": "failed", **document}, run())
    assert str(failed.value) == message
    assert [operation.verb for operation in failed.value.operations] == verbs


CAREFUL = replace(HOOK, module="m", config=HookConfig("v1", settings=HookSettings(on_review_patches="refuse")))


@each("key", ["operations", "configValuesPatch", "valuesPatch"])
@each("type", [ContextType.VALIDATING, ContextType.MUTATING, ContextType.CONVERSION])
def test_a_review_that_may_change_nothing_is_refused_with_its_changes(key: str, type: ContextType) -> None:
    document, review = {key: FULL[key]}, replace(REVIEW, type=type)
    with pytest.raises(BadOutput, match=r"asked for 1 changes in a review, which its settings\.onRev"):
        to_answer(document, run(review, hook=CAREFUL, values=VALUES))
    elsewhere = to_answer(document, run(hook=CAREFUL, values=VALUES))
    assert to_answer(document, run(review, hook=replace(HOOK, module="m"), values=VALUES)) == elsewhere != Answer()
    with pytest.raises(ExitedBadly) as failed:
        to_answer({"outcome": "failed", "operations": [DESPITE]}, run(review, hook=CAREFUL, values=VALUES))
    assert failed.value.operations == ()

"""The examples of docs/providers.md are true: requests and answers are as the schemas and the readers say, and each
provider on the page passes every check that `hookrunner cloud check` makes without writing.

Level: pure."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hookrunner.cloud.answers import ErrorCode, InstanceState
from hookrunner.cloud.checks.check_rules import BOTH
from hookrunner.cloud.checks.probe import Probe
from hookrunner.cloud.checks.program_runner import ProcessRunner
from hookrunner.cloud.checks.provider_check import CheckOptions, RuleStatus, check_provider
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.schemas import answer_schema, request_schema
from hookrunner.cloud.provider.wire_answers import read_answer, read_error, result_of
from hookrunner.cloud.provider.wire_requests import InstancesQuestion, instances_params
from hookrunner.cloud.provider.wire_results import read_instances
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from kubetypes.json_values import JSON
from tests.cloud.checks.sample_provider import nodes_of
from tests.test_docs_examples import DOCS, Example, examples

PAGE = (DOCS / "providers.md").read_text()


def of_page(kind: str) -> list[Example]:
    return [one for one in examples() if one.place.startswith("providers.md") and one.kind == kind]


def exchanges() -> Iterator[tuple[AnyVerb, JSON]]:
    """Each answer of the page, with the verb of the request before it."""
    verb = verbs.CAPABILITIES
    for one in examples():
        if one.place.startswith("providers.md") and one.kind == "request":
            verb = verbs.BY_NAME[json.loads(one.text)["verb"]]
        elif one.place.startswith("providers.md") and one.kind == "answer":
            section = PAGE.rpartition(one.text)[0].rpartition("\n## ")[2]
            yield verbs.INSTANCES if section.startswith("Instances") else verb, json.loads(one.text)


def test_requests_are_as_their_schema_says() -> None:
    for one in of_page("request"):
        request = json.loads(one.text)
        Draft202012Validator(request_schema(verbs.BY_NAME[request["verb"]])).validate(request)


def test_answers_are_as_their_schema_says_and_are_read() -> None:
    answers = list(exchanges())
    for verb, answer in answers:
        Draft202012Validator(answer_schema(verb)).validate(answer)
        if "result" in answer:
            result_of(read_answer(json.dumps(answer).encode()), verb, answer.get("requestID", "r1"))
    assert len(answers) >= 7


def test_the_tables_name_each_state_and_error_as_the_code_does() -> None:
    """A code that means something is not read as another one."""
    assert [state for state in InstanceState if f"| `{state}` |" not in PAGE] == []
    assert [code for code in ErrorCode if f"| `{code}`" not in PAGE] == []
    said = [read_error({"code": code, "retryAfterSeconds": 1}).code for code in ErrorCode]
    assert said == list(ErrorCode)


@pytest.mark.slow
@pytest.mark.parametrize("example", of_page("provider"), ids=lambda one: one.place)
async def test_a_provider_on_the_page_works(example: Example, tmp_path: Path) -> None:
    program = tmp_path / "provider"
    program.write_text(example.text)
    program.chmod(0o755)
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    runner = ProcessRunner(program, {"PATH": path}, Children(Patience()))
    probe = Probe(runner, "kubernetes", 60.0)
    nodes = tuple(nodes_of(["worker-1"]))
    outcomes = [outcome async for outcome in check_provider(probe, CheckOptions(nodes))]
    assert [outcome for outcome in outcomes if outcome.status in (RuleStatus.BROKEN, RuleStatus.DOUBTFUL)] == []
    reply = await probe.ask(verbs.INSTANCES, instances_params(InstancesQuestion(nodes, BOTH)))
    (answer,) = read_instances(reply.result(), ["worker-1"], BOTH).values()
    assert (answer.state, bool(answer.metadata and answer.metadata.addresses)) == (InstanceState.RUNNING, True)


def test_the_smallest_provider_has_fifteen_lines() -> None:
    first = of_page("provider")[0]
    assert len(first.text.splitlines()) <= 15

"""Texts of a program that leaks its token and prints codes of a terminal: valid ones reach Nodes and Services as they
are, all others reach people without either.

Level: pure."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from hookrunner.cloud.answers import InstanceMetadata, NodeAddress, ProviderError, Want
from hookrunner.cloud.checks.printed_answers import AnswerProblem, judge_answer
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.wire_answers import read_answer, result_of
from hookrunner.cloud.provider.wire_results import read_applied, read_ensured, read_instances
from hookrunner.cloud.services.ingress_rules import find_ingress_problem
from hookrunner.printable import printable
from kubetypes.json_values import JSON
from tests.tables import each

TOKEN = "s3cr3t-token-value"
MASK = ProviderProgram(Path("/cloud"), {}, frozenset([TOKEN])).masked
TEXTS = [
    f"x {TOKEN}",
    f"\x1b[31m{TOKEN}",
    f"token_{TOKEN}\x1b[2J",
    "x" * 70 + f" {TOKEN}\u202e",
    "x" * 995 + TOKEN + "\x9b",
    f"\n{TOKEN}\r\n",
]
FIELDS: dict[str, Callable[[str], JSON]] = {
    "zone": lambda text: {"zone": text},
    "region": lambda text: {"region": text},
    "instanceType": lambda text: {"instanceType": text},
    "providerID": lambda text: {"providerID": f"sim://{text}\x07"},
    "address": lambda text: {"addresses": [{"type": "InternalIP", "address": text}]},
    "type of an address": lambda text: {"addresses": [{"type": text, "address": "10.0.0.1"}]},
    "host name": lambda text: {"addresses": [{"type": "Hostname", "address": text}]},
    "label": lambda text: {"additionalLabels": {text: "v"}},
    "value of a label": lambda text: {"additionalLabels": {"rack": text}},
    "message": lambda text: {"message": text},
    "state": lambda text: {"state": text},
}


def answer_about(entry: JSON) -> tuple[InstanceMetadata | None, str]:
    result = {"instances": [{"name": "a", "state": "running", "zone": "z"} | entry]}
    answer = read_instances(result, ["a"], set(Want), MASK)["a"]
    return answer.metadata, answer.message


def is_presentable(text: str) -> bool:
    return TOKEN not in text and TOKEN[:6] not in text and printable(text) == text and "\n" not in text


@each("field", FIELDS)
def test_no_text_of_a_machine_shows_a_token_or_a_code_and_none_of_these_is_written(field: str) -> None:
    for text in TEXTS:
        metadata, message = answer_about(FIELDS[field](text))
        problems = metadata.problems if metadata else ()
        assert [shown for shown in (*problems, message) if not is_presentable(shown)] == []
        assert metadata in (None, InstanceMetadata(zone="z"), InstanceMetadata(problems=problems))
        assert problems or message


def test_valid_texts_are_written_as_they_are_also_with_what_is_masked_elsewhere() -> None:
    entry = {"zone": TOKEN, "providerID": f"sim:///{TOKEN}", "additionalLabels": {TOKEN: TOKEN}}
    host = {"addresses": [{"type": "Hostname", "address": TOKEN}]}
    address = NodeAddress("Hostname", TOKEN)
    written = InstanceMetadata(f"sim:///{TOKEN}", zone=TOKEN, addresses=(address,), additional_labels={TOKEN: TOKEN})
    assert answer_about(entry | host) == (written, "")


def test_errors_and_addresses_of_load_balancers_are_presentable() -> None:
    for text, key in product(TEXTS, ("ip", "hostname", "ipMode", "ports")):
        entry = {"ip": "10.0.0.1", key: [{"port": text}] if key == "ports" else text}
        problem = find_ingress_problem(read_ensured({"status": {"ingress": [entry]}}), MASK)
        assert problem
        assert is_presentable(problem)
    for text, key in product(TEXTS, ("code", "message")):
        error = {"code": "Unavailable", key: text}
        (outcome,) = read_applied({"create": [{"error": error}], "delete": []}, 1, 0, MASK).create
        assert outcome
        assert is_presentable(str(outcome))
        with pytest.raises(ProviderError) as caught:
            result_of(read_answer(json.dumps({"error": error}).encode()), verbs.LB_GET, "r1", MASK)
        assert is_presentable(str(caught.value))


@each("text", ["{}", "usage: {}", '{{"result":{{}}}} {}', '{}{{"result":{{}}}}', '{{"result": "{}'])
def test_what_is_wrong_with_an_output_is_told_presentably(text: str) -> None:
    for hostile in TEXTS:
        problem = judge_answer(text.format(hostile).encode(), verbs.LB_GET, "r1", MASK)
        assert isinstance(problem, AnswerProblem)
        assert is_presentable(problem.text), problem.text

"""Test cases of addons: which files make one, how outcomes are compared, and what --update writes. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.errors import BadInput
from hookrunner.testing.addons.addon_cases import (
    AddonCase,
    BuiltCase,
    case_differences,
    objects_as_yaml,
    read_case,
    read_cases,
    update_case,
)
from hookrunner.testing.cases.case_runner import CaseOutcome
from kubetypes.json_values import JSON
from tests.tables import each

INSTANCE = "apiVersion: a.io/v1\nkind: Web\nmetadata: {name: default}\n"


def config_map(name: str, text: str) -> JSON:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}


@pytest.fixture
def case(tmp_path: Path) -> AddonCase:
    (tmp_path / "tests").mkdir()
    path = tmp_path / "tests/one.in.yaml"
    path.write_text(INSTANCE)
    return read_case(tmp_path, path)


def reread(case: AddonCase) -> AddonCase:
    return read_case(case.subject, case.path)


def test_case_without_expectation_is_stale(case: AddonCase) -> None:
    assert (case.name, case.expects, case.expected, case.error) == ("one", False, None, "")


def test_case_without_expectation_passes_with_a_note(case: AddonCase) -> None:
    outcome = CaseOutcome(case, case, BuiltCase(case, build_notes=("a hook said so",)))
    assert (outcome.passed, outcome.product.notes[0]) == (True, "a hook said so")
    assert outcome.product.notes[1].startswith("nothing is expected: there is neither .out.yaml nor .error")
    case.beside(".error").write_text("no")
    expecting = reread(case)
    assert CaseOutcome(expecting, expecting, BuiltCase(expecting)).product.notes == ()


def test_objects_are_compared_in_any_order(case: AddonCase) -> None:
    first, second = config_map("a", "1"), config_map("b", "2")
    update_case(case, [first, second], "")
    assert not list(case_differences(reread(case), [second, first], ""))


def test_differences_name_the_object(case: AddonCase) -> None:
    update_case(case, [config_map("a", "1"), config_map("b", "2")], "")
    wrong = list(case_differences(reread(case), [config_map("a", "3"), config_map("c", "4")], ""))
    assert [difference.key for difference in wrong] == ["ConfigMap a (v1)", "ConfigMap b (v1)", "ConfigMap c (v1)"]
    assert "-  text: '1'" in wrong[0].lines
    assert "+  text: '3'" in wrong[0].lines


def test_part_of_an_error_is_expected(case: AddonCase) -> None:
    update_case(case, [], "channel 'nope' does not exist")
    expecting = reread(case)
    assert not list(case_differences(expecting, [], "wrong: channel 'nope' does not exist, sorry"))
    assert [difference.key for difference in case_differences(expecting, [config_map("a", "1")], "")] == ["error"]


def test_unexpected_error_is_a_difference(case: AddonCase) -> None:
    update_case(case, [config_map("a", "1")], "")
    [wrong] = case_differences(reread(case), [], "it failed")
    assert wrong.lines == ("it failed",)


def test_update_replaces_an_expected_error(case: AddonCase) -> None:
    update_case(case, [], "it failed")
    update_case(reread(case), [config_map("a", "1")], "")
    assert (reread(case).error, reread(case).expected) == ("", (config_map("a", "1"),))


def test_problems_of_all_files_are_reported(case: AddonCase, tmp_path: Path) -> None:
    (tmp_path / "tests/two.in.yaml").write_text("kind: Web\n")
    case.beside(".error").write_text(" \n")
    with pytest.raises(BadInput) as refused:
        read_cases([tmp_path])
    assert "one.error: is empty" in str(refused.value)
    assert "two.in.yaml:1: `metadata.name` of this Web is missing" in str(refused.value)


def test_case_expects_objects_or_an_error(case: AddonCase) -> None:
    case.beside(".out.yaml").write_text("")
    case.beside(".error").write_text("x")
    with pytest.raises(BadInput, match=r"both one\.out\.yaml and one\.error exist"):
        reread(case)


def test_case_states_how_objects_differ_from_another_case(case: AddonCase) -> None:
    case.beside(".expect.yaml").write_text(
        "objects: {rest: other.out.yaml, contain: [{kind: ConfigMap, data: {text: x}}]}"
    )
    case.path.with_name("other.out.yaml").write_text(objects_as_yaml([config_map("a", "1")]))
    stated = reread(case)
    assert stated.expects
    assert not list(case_differences(stated, [config_map("a", "x")], ""))
    assert [wrong.key for wrong in case_differences(stated, [config_map("a", "1")], "")] == ["ConfigMap a (v1)"]
    update_case(stated, [config_map("a", "2")], "")
    assert not list(case_differences(reread(case), [config_map("a", "2")], ""))
    assert not case.beside(".out.yaml").exists()


def test_case_states_some_objects(case: AddonCase) -> None:
    case.beside(".expect.yaml").write_text("objects: [{kind: ConfigMap, data: {text: x}}]")
    stated = reread(case)
    assert not list(case_differences(stated, [config_map("a", "x"), config_map("b", "y")], ""))
    assert [wrong.key for wrong in case_differences(stated, [config_map("b", "y")], "")] == ["objects"]
    update_case(stated, [], "it failed")
    assert (reread(case).error, reread(case).stated) == ("it failed", None)


@each(
    ("text", "problem"),
    [
        ("objects: {contains: []}", "objects.contains"),
        ("objects: [1]", "objects[0]"),
        ("object: []", "object"),
        ("objects: {rest: none.out.yaml}", "none.out.yaml: no such file"),
        ("- a", "one document with keys and values"),
    ],
)
def test_problems_of_stated_objects_are_reported(text: str, problem: str, case: AddonCase) -> None:
    case.beside(".expect.yaml").write_text(text)
    with pytest.raises(BadInput) as refused:
        reread(case)
    assert problem in str(refused.value)


def test_update_writes_what_holds_nothing_more_on_one_line(case: AddonCase) -> None:
    update_case(case, [config_map("a", "text")], "")
    lines = case.beside(".out.yaml").read_text().splitlines()
    assert lines == ["apiVersion: v1", "kind: ConfigMap", "metadata: {name: a}", "data: {text: text}"]

"""Tables of what a value may be, and the words for what it is not. Level: pure."""

from hookrunner.shapes import (
    FLAG,
    INTEGER,
    MOST_PROBLEMS,
    NUMBER,
    TEXT,
    TEXTS,
    Integer,
    Many,
    Shape,
    Table,
    Text,
    check,
    suggestion,
)
from kubetypes.json_values import JSON
from tests.tables import each


def problems(value: JSON, shape: Shape) -> list[str]:
    return [str(problem) for problem in check(value, shape, "x")]


@each(
    ("value", "shape", "wanted", "found"),
    [
        ("10", INTEGER, "integer", "string"),
        (1.5, INTEGER, "integer", "number"),
        (True, INTEGER, "integer", "boolean"),
        (True, NUMBER, "number", "boolean"),
        (1, FLAG, "boolean", "integer"),
        ("true", FLAG, "boolean", "string"),
        (None, TEXT, "string", "null"),
        ({}, Many(TEXT), "array", "object"),
        ("a", Many(TEXT), "array", "string"),
        ([], Table({}), "object", "array"),
        ([], TEXTS, "object", "array"),
    ],
)
def test_the_error_of_a_wrong_type_names_both_types(value: JSON, shape: Shape, wanted: str, found: str) -> None:
    (problem,) = problems(value, shape)
    assert problem.startswith(f'x must be of type {wanted}: "{found}"; write ')


@each("number", [10, 1.0, 1e3, 0, -5])
def test_a_whole_number_may_be_written_with_a_point(number: float) -> None:
    assert problems(number, INTEGER) == []


def test_numbers_are_kept_within_bounds() -> None:
    assert problems(0, Integer(low=1)) == ["x must be at least 1"]
    assert problems(31, Integer(high=30)) == ["x must be at most 30"]
    assert problems(1, Integer(low=1)) == problems(30, Integer(high=30)) == []


def test_choices_are_listed_and_the_nearest_is_offered() -> None:
    assert problems("added", Text(("Added", "Deleted"))) == [
        "x should be one of [Added Deleted]; did you mean 'Added'?"
    ]


def test_every_problem_is_found_with_its_path() -> None:
    table = Table({"name": TEXT, "list": Many(Table({"key": TEXT}, required={"key": "app"}))}, required={"name": "me"})
    assert problems({"nam": 1, "list": [{"key": 1}, {}]}, table) == [
        "x.nam is a forbidden property; did you mean 'name'?",
        'x.list[0].key must be of type string: "integer"; write a text, in quotes if it looks like something else',
        "x.list[1].key is required; add it, for example `key: app`",
        "x.name is required; add it, for example `name: me`",
    ]


def test_the_error_of_an_unknown_key_lists_the_known_ones() -> None:
    assert problems({"zzz": 1}, Table({"a": TEXT, "b": TEXT})) == ["x.zzz is a forbidden property; known are a, b"]


def test_an_open_table_lets_unknown_keys_pass() -> None:
    assert problems({"zzz": 1}, Table({}, open=True)) == []


def test_empty_lists_and_tables_are_refused_where_items_are_required() -> None:
    assert problems([], Many(TEXT)) == ["x should have at least 1 items; add one, or leave the key out"]
    assert problems([], Many(TEXT, at_least=0)) == []
    assert problems({}, Table({"a": TEXT}, at_least=1)) == ["x should have at least 1 properties; known are a"]


def test_values_of_a_map_of_texts_are_texts() -> None:
    assert problems({"app": 5}, TEXTS)[0].startswith("x.app must be of type string")


@each(("word", "near"), [("executehookonevent", "executeHookOnEvent"), ("kinds", "kind")])
def test_suggestions_overlook_case(word: str, near: str) -> None:
    assert suggestion(word, ["kind", "executeHookOnEvent"]) == f"; did you mean '{near}'?"
    assert suggestion("zzzzz", ["kind"]) == ""


def test_of_very_many_problems_the_first_are_named() -> None:
    found = [str(problem) for problem in check(dict.fromkeys(map(str, range(10_000))), Table({"a": TEXT}))]
    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1] == "has more problems than these; correct these first"


def test_a_list_that_is_too_long_is_one_problem() -> None:
    [problem] = check([1, 2, 3], Many(TEXT, at_most=2), "a")
    assert str(problem) == "a should have at most 2 items, and has 3; leave some out"

"""The functions that read the binding context. Level: pure."""

from collections.abc import Iterable

import pytest

from tests.shell.conftest import Hook

CONTEXT = {
    "binding": "pods",
    "a": {"b.c": {"d": 1}, "with-dash": "x y", "0": "zero", "text": "true", "yes": True, "no": False, "nil": None},
    "list": [{"name": "first"}, {"name": "second"}],
}


def run(hook: Hook, command: str) -> str:
    """What a command prints, called in the second of two contexts."""
    done = hook(f"__main__() {{ if context::is_null a; then return 0; fi; {command}; }}", [{"binding": "x"}, CONTEXT])
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def run_all(hook: Hook, commands: Iterable[str]) -> list[str]:
    """What each of these commands prints, all called in one process."""
    return [printed.strip("\n") for printed in run(hook, "; echo /end/; ".join(commands)).split("/end/")]


PRINTED = {
    "context::get | jq -c .list": '[{"name":"first"},{"name":"second"}]',
    "context::get --required a.nil": "null",
    "context::jq -c '.list | length'": "2",
    "context::global::jq -r '.[0].binding'": "x",
    "(IFS=,; context::get list.0.name)": "first",
}
GOT = (
    ("binding", "pods"),
    ('a."b.c".d', "1"),
    ("a.'b.c'.d", "1"),
    ("a.with-dash", "x y"),
    ("list.0.name", "first"),
    ("list[1].name", "second"),
    ("list.7.name", "null"),
    ("nothing.at.all", "null"),
    ("binding.below.a.string", "null"),
    ("a.no", "false"),
    ('a."0"', "zero"),
    (".binding", "pods"),
)


@pytest.mark.slow
def test_the_values_at_paths_the_whole_context_and_results_of_jq_are_printed(hook: Hook) -> None:
    commands = {f"context::get {path!r}" if "'" not in path else f'context::get "{path}"': text for path, text in GOT}
    commands |= PRINTED
    assert dict(zip(commands, run_all(hook, commands), strict=True)) == commands


@pytest.mark.slow
def test_a_required_value_that_is_absent_is_an_error(hook: Hook) -> None:
    done = hook("__main__() { context::get --required a.b; }", [{"binding": "x", "a": {}}])
    assert done.returncode == 1
    assert "Error: Value a.b required, but doesn't exist\n" in done.stderr


QUESTIONS = {
    "has a.nil": "yes",
    "has a.none": "no",
    "has list.1": "yes",
    "has list.2": "no",
    "has binding.x": "no",
    "has none.x": "no",
    "has ''": "yes",
    "is_true a.yes": "yes",
    "is_true a.text": "no",
    "is_true a.none": "no",
    "is_false a.no": "yes",
    "is_false a.nil": "no",
    "is_null a.nil": "yes",
    "is_null a.none": "yes",
    "is_null a.no": "no",
}


@pytest.mark.slow
def test_questions_are_answered_by_the_exit_status(hook: Hook) -> None:
    answers = run_all(hook, (f"if context::{question}; then echo yes; else echo no; fi" for question in QUESTIONS))
    assert dict(zip(QUESTIONS, answers, strict=True)) == QUESTIONS


@pytest.mark.slow
def test_a_path_that_cannot_be_read_is_an_error(hook: Hook) -> None:
    done = hook("__main__() { context::get 'a.\"open'; }")
    assert done.returncode == 1
    assert "cannot be read at '\"open'" in done.stderr


PARTS = [
    ("", "", "", "null"),
    ("a", "", "a", "null"),
    ('a."b.c"', '["a"]', "b.c", '{"d":1}'),
    ("a.with-dash", '["a"]', "with-dash", '"x y"'),
    ("list.0.name", '["list"][0]', "name", '"first"'),
    ("list.1", '["list"]', "1", '{"name":"second"}'),
    ('["a"]["b.c"].d', '["a"]["b.c"]', "d", "1"),
]


@pytest.mark.slow
def test_libraries_of_others_take_paths_apart(hook: Hook) -> None:
    expected: dict[str, str] = {}
    for path, dirname, basename, value in PARTS:
        part = f"'{path}'"
        expected |= {f"context::_dirname {part}": dirname, f"context::_basename {part}": basename}
        if "." in path:
            expected[f'context::jq -c "$(context::_convert_user_path_to_jq_path {part})"'] = value
            way = f'"$(context::_convert_user_path_to_jq_path "$(context::_dirname {part})")"'
            expected[f"context::jq -r {way}' | type'"] = "array" if dirname == '["list"]' else "object"
    printed = [text.strip() for text in run_all(hook, expected)]
    assert dict(zip(expected, printed, strict=True)) == expected

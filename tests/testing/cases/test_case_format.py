"""Test files as people write them: what is accepted, and the errors for the rest, with the line. Level: pure."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import hookrunner.testing.cases
from hookrunner.errors import BadInput
from hookrunner.testing.cases.case_files import overwrite, read
from hookrunner.testing.happenings import EVENTS
from hookrunner.testing.reviews import OPERATIONS

NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}"
SCHEMA = json.loads((Path(hookrunner.testing.cases.__file__).parent / "cases.schema.json").read_text())


def case_file(directory: Path, text: str) -> Path:
    path = directory / "hook.sh.test.yaml"
    path.write_text(text)
    return path


def test_case_is_read_with_given_and_when(tmp_path: Path) -> None:
    (tmp_path / "others.json").write_text('{"kind": "Pod", "metadata": {"name": "p"}}')
    text = f"""
- name: one
  given: [{NAMESPACE}, "oth*.json"]
  when: {{event: Modified, object: {NAMESPACE}, oldObject: others.json, binding: b}}
- name: two
  given: {{objects: others.json, snapshots: {{b: [{NAMESPACE}]}}, values: {{global: {{}}}}}}
  when: {{event: Startup}}
  expect: {{exit: 1}}
"""
    found = read(case_file(tmp_path, text.replace("objects: others.json", "objects: [others.json]")))
    one, two = found.cases
    assert found.subject == tmp_path / "hook.sh"
    assert [obj["kind"] for obj in one.given.objects] == ["Namespace", "Pod"]
    (words,) = one.happenings
    assert (words.event, words.binding, words.old["kind"], one.expect) == ("Modified", "b", "Pod", {})
    assert (two.line, two.given.snapshots["b"][0]["kind"], two.given.values) == (5, "Namespace", {"global": {}})
    assert two.expect == {"exit": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x", "1: a test file is a list of cases"),
        ("", "1: a test file is a list of cases"),
        (
            "- name: a\n  when: {event: Startup}\n  expects: {}",
            "3: [0].expects is a forbidden property; did you mean 'exp",
        ),
        ("- when: {event: Startup}", "1: [0].name is required"),
        ("- name: a\n", "1: [0].when is required"),
        ("- name: a\n  when:\n    event: Create", "3: [0].when.event should be one of [Added Modified"),
        ("- name: a\n  when:\n    event: Added\n    objekt: {}", "4: [0].when.objekt is a forbidden property; did you"),
        ("- name: a\n  when: []", "2: [0].when should have at least 1 items"),
        ("- name: a\n  when:\n  - event: Startup\n  - evnt: Startup", "4: [0].when[1].evnt is a forbidden property"),
        ("- name: a\n  when: {}", "2: [0].when should have at least 1"),
        (
            "- name: a\n  when: {event: Startup}\n  expect:\n    exit: bad",
            '4: [0].expect.exit must be of type integer: "str',
        ),
        (
            "- name: a\n  when: {event: Startup}\n  expect:\n    patches:\n    - no",
            "5: [0].expect.patches[0] must be of",
        ),
        (
            "- name: a\n  when: {event: Startup}\n- name: a\n  when: {event: Startup}",
            "3: [1].name 'a' is the name of an e",
        ),
        (
            "- name: a\n  when: {event: Added, object: {kind: Pod}}",
            "2: [0].when.object `metadata.name` of this Pod is missing",
        ),
        ("- name: a\n  when: {event: Added, object: no.yaml}", "2: [0].when.object no.yaml: no such file (looked in"),
        ("- name: a\n  when: [", " not YAML: line 3:"),
        ("- name: a\n  name: b\n  when: {event: Startup}", "2: [0].name is given twice; drop one of them"),
        ("- name: a\n  when: {event: Startup}\n---\n- name: b", " a second document begins after `---`"),
        ("- name: a\n  when: Startup", '2: [0].when must be of type object: "string"; write keys with values'),
        (
            "- name: a\n  when: {event: Startup}\n  expect:\n    patches: no",
            '4: [0].expect.patches must be of type array: "string"; write a list',
        ),
        (
            "- name: a\n  when: {event: Startup}\n  expect:\n    logs:\n    - ok\n    - /[/",
            "6: [0].expect.logs[1] '/[/' is no regular expression: unterminated character set at",
        ),
        (
            "- name: a\n  when: {event: Startup}\n  expect:\n    run: false\n    patches: []",
            "3: [0].expect a hook that does not run cannot do what patches expects",
        ),
        (
            "- name: a\n  when: {event: Startup}\n  given:\n    snapshots:\n      s:\n      - {kind: Pod}",
            "6: [0].given.snapshots.s[0] `metadata.name` of this Pod is missing",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = case_file(tmp_path, text + "\n")
    with pytest.raises(BadInput) as found:
        read(path)
    assert str(found.value).startswith(f"{path}:{message}")


def test_every_problem_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as found:
        read(case_file(tmp_path, "- nam: a\n- name: b\n  when: {evnt: Added}\n"))
    assert len(str(found.value).splitlines()) == 4


def test_every_bad_object_is_reported(tmp_path: Path) -> None:
    text = "- name: a\n  given:\n  - {kind: Pod}\n  - no.yaml\n  when: {event: Added, object: 1}\n"
    with pytest.raises(BadInput) as found:
        read(case_file(tmp_path, text))
    assert [line.split(":")[1:3] for line in str(found.value).splitlines()] == [
        ["3", " [0].given[0] `metadata.name` of this Pod is missing, or is no text"],
        ["4", " [0].given[1] no.yaml"],
        ["5", " [0].when.object an API object is a mapping with apiVersion, kind and metadata, not '1'"],
    ]


def test_key_that_looks_like_a_path_is_kept_apart(tmp_path: Path) -> None:
    object_ = "{kind: Pod, metadata: {name: p}, a.b: 1, a: {b: 2}}"
    assert read(case_file(tmp_path, f"- name: a\n  when: {{event: Added, object: {object_}}}\n")).cases


def test_file_keeps_its_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    path = case_file(tmp_path, "")
    path.write_bytes(b"\xef\xbb\xbf- name: a\r\n  when: {event: Startup}\r\n")
    path.chmod(0o640)
    found = read(path)
    assert found.positions["[0].name"].start == (0, 8)
    overwrite(found.path, found.text + "  expect: {}\n")
    assert path.read_bytes() == b"\xef\xbb\xbf- name: a\r\n  when: {event: Startup}\r\n  expect: {}\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_unwritable_file_stays_unchanged(tmp_path: Path) -> None:
    found = read(case_file(tmp_path, "- name: a\n  when: {event: Startup}\n"))
    (tmp_path / f".{found.path.name}.draft").mkdir()
    with pytest.raises(BadInput, match="cannot write: Is a directory"):
        overwrite(found.path, "other")
    assert found.path.read_text() == found.text


GOOD: list[Any] = [
    {"name": "a", "when": {"event": "Startup"}},
    {"name": "b", "given": ["x.yaml"], "when": {"operation": "CREATE", "object": "x.yaml"}, "expect": {"run": False}},
    {"name": "d", "when": [{"event": "Startup"}]},
    {"name": "c", "when": {"to": "v1", "objects": ["x.yaml"]}, "expect": {"objects": {"absent": [{"kind": "Pod"}]}}},
]


@pytest.mark.slow
def test_the_schema_accepts_good_cases_and_refuses_unknown_keys() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(GOOD, SCHEMA)
    for bad in ([{"name": "a"}], [{**GOOD[0], "x": 1}], [{"name": "a", "when": {"events": "Startup"}}]):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, SCHEMA)


def test_the_schema_knows_the_words_of_the_code_and_describes_each_key() -> None:
    definitions = SCHEMA["$defs"]
    words = {key: schema["enum"] for key, schema in definitions["when"]["properties"].items() if "enum" in schema}
    assert words == {"event": list(EVENTS), "operation": list(OPERATIONS)}
    for name, schema in definitions.items():
        assert all("description" in inner for inner in schema.get("properties", {}).values()), name

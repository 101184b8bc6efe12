"""Golden mode: which expectations are written, and that nothing else in the file changes. Level: pure."""

import pytest

from hookrunner.errors import BadInput
from hookrunner.manifests.yaml_positions import find_positions
from hookrunner.model.operations import ObjectOperation, Verb
from hookrunner.testing.cases.expectations import differences
from hookrunner.testing.cases.golden import expectation, rewritten
from hookrunner.testing.results import Effects, Result
from tests.tables import each

DELETES = Result(exit_code=0, operations=(ObjectOperation(Verb.DELETE, "Pod", "p"),), logs=("bye",))
PATCHES = [{"operation": "Delete", "kind": "Pod", "name": "p"}]


@each(
    ("expect", "result", "golden"),
    [
        ({}, DELETES, {"patches": PATCHES}),
        ({}, Result(exit_code=0), {"patches": []}),
        ({}, Result(exit_code=2, failure="oh"), {"exit": 2, "patches": []}),
        ({}, Result(exit_code=0, failure="bad metrics"), {"failure": "bad metrics", "patches": []}),
        ({}, Result(failure="h FAILED: timed out after 1.1s"), {"failure": "h FAILED: timed out", "patches": []}),
        ({"exit": 1}, Result(failure="h FAILED: killed"), {"failure": "h FAILED: killed"}),
        ({"logs": []}, Result(exit_code=0, logs=("/[/",)), {"logs": [r"//\[//"]}),
        ({"patches": []}, Result(reason="why"), {"run": False, "reason": "why"}),
        ({"run": False, "reason": "why"}, DELETES, {"patches": PATCHES}),
        ({"logs": ["b"], "patches": [], "exit": 0}, DELETES, {"logs": ["b"], "patches": PATCHES, "exit": 0}),
    ],
)
def test_golden_keeps_right_expectations_and_writes_the_others(expect: object, result: Result, golden: object) -> None:
    assert expectation(expect, differences(expect, result), result, Effects()) == golden


def test_golden_writes_and_removes_a_refusal() -> None:
    refused = Effects(refusal="not found")
    assert expectation({"exit": 0}, differences({"exit": 0}, DELETES, refused), DELETES, refused) == {
        "exit": 0,
        "refusal": "not found",
    }
    expect = {"refusal": "not found", "exit": 0}
    assert expectation(expect, differences(expect, DELETES), DELETES, Effects()) == {"exit": 0}


def test_golden_refuses_to_remove_an_anchor_used_elsewhere() -> None:
    text = (
        "- {name: a, when: {event: Startup}, expect: {patches: [&one {name: a}]}}\n"
        "- {name: b, when: {event: Startup}, expect: {patches: [*one]}}\n"
    )
    with pytest.raises(BadInput, match="an anchor"):
        rewritten(text, find_positions(text), {"[0]": {"exit": 2}})
    assert "exit" in rewritten(text, find_positions(text), {"[1]": {"exit": 2}})


BLOCK = """\
# about the hook
- name: one  # first
  expect:   # why
    exit: 1
    logs:
    - |
      text

  # when it starts
  when: {event: Startup}
- expect: {exit: 1}  # two
  name: two

- name: three
  when:
    event: Startup
# the end
"""


def test_only_the_expectation_changes() -> None:
    text = rewritten(BLOCK, find_positions(BLOCK), {"[0]": {"exit": 2}, "[1]": {"patches": []}, "[2]": {"exit": 3}})
    assert text == (
        "# about the hook\n- name: one  # first\n  expect:\n    exit: 2\n\n"
        "  # when it starts\n  when: {event: Startup}\n"
        "- expect:  # two\n    patches: []\n  name: two\n\n"
        "- name: three\n  when:\n    event: Startup\n  expect:\n    exit: 3\n# the end\n"
    )


@each(
    ("text", "changed"),
    [
        (
            "- {name: ä, expect: {exit: 1}, when: {event: Startup}} # c\n",
            '- {name: ä, expect: {"exit":2}, when: {event: Startup}} # c\n',
        ),
        ("- {name: a, when: {event: Startup}}\n", '- {name: a, when: {event: Startup}, expect: {"exit":2}}\n'),
        ("[{name: a,\n  expect: {\n  exit: 1}}]", '[{name: a,\n  expect: {"exit":2}}]'),
        ("- name: a\n  expect:\n", "- name: a\n  expect:\n    exit: 2\n"),
        ("- name: a\n  when: {event: Startup}", "- name: a\n  when: {event: Startup}\n  expect:\n    exit: 2"),
    ],
)
def test_each_style_of_yaml_is_kept(text: str, changed: str) -> None:
    assert rewritten(text, find_positions(text), {"[0]": {"exit": 2}}) == changed

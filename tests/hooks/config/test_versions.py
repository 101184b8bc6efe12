"""Which version an answer speaks, and that every problem of it is reported. Its meaning: test_v0.py, test_v1.py and the
golden files of tests/contract.

Level: pure."""

import pytest

from hookrunner.errors import BadHookConfig
from hookrunner.hooks.config.hook_config import parse
from tests.tables import each


def problems(text: str) -> list[str]:
    with pytest.raises(BadHookConfig) as error:
        parse("a/hook.sh", text.encode())
    return error.value.problems


@each(
    ("text", "version", "order"),
    [
        ('{"onStartup": 5}', "v0", 5),
        ("configVersion: v1\nonStartup: 1.0", "v1", 1),
        ("configVersion: v1\nonStartup: 1e3", "v1", 1000),
        ("configVersion: v1\nonStartup: 0x10", "v1", 16),
        ("configVersion: v1\nonStartup: -1", "v1", -1),
    ],
)
def test_the_version_is_found_in_json_and_yaml(text: str, version: str, order: float) -> None:
    config = parse("hook", text.encode())
    assert (config.version, config.on_startup) == (version, order)


@each(
    ("text", "fragment"),
    [
        ("configVersion: {", "config unmarshal: not YAML: line"),
        ("configVersion: ''", "config version: 'configVersion' value is unsupported; write `configVersion: v1`"),
        ("configVersion: v1\nonStartup: 1.5", 'onStartup must be of type integer: "number"'),
        ("configVersion: v1\nonStartup: yes", 'onStartup must be of type integer: "boolean"'),
        ("configVersion: v1\nonStartup: null", 'onStartup must be of type integer: "null"'),
    ],
)
def test_an_unreadable_answer_is_reported_in_the_predecessors_words(text: str, fragment: str) -> None:
    (problem,) = problems(text)
    assert fragment in problem


@each("text", ["", "# nothing", "{}", "kubernetes: [{kind: Pod}]", "ConfigVersion: v1"])
def test_an_answer_without_a_version_is_v0_and_says_so(text: str) -> None:
    assert problems(text)[-1].startswith("configVersion is not there, so this was read as v0; add `configVersion: v1`")


def test_all_problems_are_reported_at_once_each_on_a_line() -> None:
    with pytest.raises(BadHookConfig) as error:
        parse("a/hook.sh", b"configVersion: v1\nonStartup: x\nschedule: [{crontab: '* *'}, {}]")
    assert len(error.value.problems) == 3
    assert str(error.value).startswith("hook 'a/hook.sh': \n  - onStartup must be")

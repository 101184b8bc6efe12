"""Any output of a hook is parsed, or refused with a message; no other result is possible. Level: pure."""

import functools
from collections.abc import Callable
from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.errors import BadHookConfig, BadOutput, HookrunnerError
from hookrunner.hooks import metric_operations, patches, verdicts
from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.config.schema import V0, V1
from hookrunner.model.bindings import HookConfig
from hookrunner.model.operations import Verb
from hookrunner.shapes import AnyValue, Flag, Integer, Many, Number, Shape, Table, Text, Texts

JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
WORDS = st.sampled_from(
    [
        "",
        "a",
        "b",
        "kubernetes",
        "v1",
        "apps/v1",
        "* * * * *",
        "@every 1s",
        "30s",
        "metadata.name",
        "a.b.c",
        "*",
        "*/*",
        "*/a",
    ]
)


def like(shape: Shape, junk: int = 20) -> st.SearchStrategy[Any]:
    """Values of a shape, one in `junk` of them replaced by something else."""
    return st.integers(1, junk).flatmap(lambda number: JUNK if number == 1 else _right(shape, junk))


def _right(shape: Shape, junk: int) -> st.SearchStrategy[Any]:
    match shape:
        case Text(choices):
            return st.sampled_from(choices) if choices else WORDS
        case Flag():
            return st.booleans()
        case Integer() | Number():
            return st.integers(0, 40)
        case Many(item, at_least):
            return st.lists(like(item, junk), min_size=at_least, max_size=3)
        case Texts():
            return st.dictionaries(WORDS, WORDS, max_size=2)
        case AnyValue():
            return JUNK
        case Table():
            return st.fixed_dictionaries(
                {key: like(shape.keys[key], junk) for key in shape.required},
                optional={key: like(item, junk) for key, item in shape.keys.items() if key not in shape.required},
            )


def outcome(read: Callable[[], Any], refusal: type[HookrunnerError]) -> Any:
    """What was read, or the text of the refusal. Any other error is a failure of the test."""
    try:
        return read()
    except refusal as error:
        return str(error)


@pytest.mark.slow
@given(like(V1, junk=200) | like(V0, junk=50))
def test_any_configuration_is_parsed_or_refused(raw: Any) -> None:
    found = outcome(lambda: parse("hook", orjson.dumps(raw)), BadHookConfig)
    assert isinstance(found, HookConfig) or found.startswith("hook 'hook': ")


@pytest.mark.slow
@given(like(V1, junk=1000))
def test_a_configuration_means_the_same_in_json_and_yaml(raw: Any) -> None:
    as_json = outcome(lambda: parse("hook", orjson.dumps(raw)), BadHookConfig)
    as_yaml = outcome(lambda: parse("hook", yaml.safe_dump(raw, sort_keys=False).encode()), BadHookConfig)
    assert as_json == as_yaml


@given(st.binary(max_size=50))
def test_any_bytes_are_parsed_or_refused(text: bytes) -> None:
    assert outcome(lambda: parse("hook", text), BadHookConfig) is not None
    assert outcome(lambda: patches.parse(text), BadOutput) is not None
    assert outcome(lambda: metric_operations.parse(text), BadOutput) is not None
    assert bool(outcome(lambda: verdicts.admission(text), BadOutput)) is bool(text)
    assert bool(outcome(lambda: verdicts.conversion(text), BadOutput)) is bool(text)


OPERATION = st.fixed_dictionaries(
    {"operation": st.sampled_from([*map(str, Verb), "other"]), "kind": WORDS, "name": WORDS},
    optional={
        key: JUNK for key in ("object", "mergePatch", "jsonPatch", "jqFilter", "namespace", "ignoreMissingObject")
    },
)
METRIC = st.dictionaries(
    st.sampled_from(["name", "action", "value", "buckets", "labels", "group", "add", "set"]),
    JUNK | st.sampled_from(["add", "set", "observe", "expire"]),
)


@pytest.mark.slow
@given(st.lists(OPERATION | JUNK))
def test_any_patch_file_is_parsed_or_refused_as_a_whole(documents: list[Any]) -> None:
    for text in (b"\n".join(map(orjson.dumps, documents)), yaml.safe_dump_all(documents).encode(errors="replace")):
        found = outcome(functools.partial(patches.parse, text), BadOutput)
        assert "nothing was applied" in found if isinstance(found, str) else len(found) == len(documents)


@given(st.lists(METRIC | JUNK))
def test_any_metrics_file_is_parsed_or_refused_as_a_whole(documents: list[Any]) -> None:
    found = outcome(lambda: metric_operations.parse(b" ".join(map(orjson.dumps, documents))), BadOutput)
    assert "got bad metrics" in found if isinstance(found, str) else len(found) <= len(documents)


STEP = st.fixed_dictionaries({"op": st.sampled_from(["add", "remove", "x"]), "path": WORDS, "value": JUNK})
PATCHED = st.fixed_dictionaries({"allowed": st.booleans(), "patch": st.lists(STEP)})


@given(like(Table(verdicts.ADMISSION), junk=50) | PATCHED | JUNK)
def test_any_verdict_is_parsed_or_refused(said: Any) -> None:
    found = outcome(lambda: verdicts.admission(orjson.dumps(said)), BadOutput)
    if isinstance(found, str):
        assert found.startswith("got bad validating response: ")
    else:
        assert (type(found.allowed), 400 <= found.code < 600, type(found.patch)) == (bool, True, tuple)


@given(like(Table(verdicts.CONVERSION), junk=50) | JUNK)
def test_any_conversion_is_parsed_or_refused(said: Any) -> None:
    found = outcome(lambda: verdicts.conversion(orjson.dumps(said)), BadOutput)
    if isinstance(found, str):
        assert found.startswith("got bad conversion response: ")
    else:
        assert all(isinstance(obj, dict) for obj in found.objects.values())


DELETIONS = b"".join(
    orjson.dumps({"operation": "Delete", "kind": "Pod", "name": f"pod-{number}"}) + gap
    for number, gap in enumerate([b"\n", b"", b" ", b"\n\n"])
)


@given(st.integers(0, len(DELETIONS)))
def test_a_truncated_patch_file_never_asks_for_another_operation(length: int) -> None:
    whole, found = patches.parse(DELETIONS), outcome(lambda: patches.parse(DELETIONS[:length]), BadOutput)
    assert "nothing was applied" in found if isinstance(found, str) else found == whole[: len(found)]

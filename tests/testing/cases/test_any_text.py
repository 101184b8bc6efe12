"""Any text at all as a test file: it is read or refused, and golden mode changes nothing but expectations.

Level: pure."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hookrunner.errors import BadInput
from hookrunner.manifests.yaml_positions import find_positions
from hookrunner.testing.cases.case_files import read
from hookrunner.testing.cases.golden import rewritten
from kubetypes import yaml_values
from tests.examples import several

KEYS = st.sampled_from(
    ["name", "given", "when", "expect", "event", "object", "objects", "patches", "contain", "kind", "run"]
)
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.sampled_from(["Added", "Startup"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)

NO_CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
quietly = settings(max_examples=several(150), deadline=None, suppress_health_check=NO_CHECKS)


def read_or_refused(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    said = str(path)
    try:
        read(path)
    except BadInput as error:
        said = str(error)
    assert said.startswith(str(path))


@quietly
@given(text=st.binary(max_size=60) | st.text("-[]{}:,&*!|>#'\"?\n \tab", max_size=40).map(str.encode))
@example(text=b"- &a [*a]")
@example(text=b"[" * 100_000)
@example(text=b"- ? {a: b}\n  : c")
@example(text=b"- name: a\n  when: {object: \xff}")
def test_bytes_are_read_or_refused(tmp_path: Path, text: bytes) -> None:
    read_or_refused(tmp_path / "a.sh.test.yaml", text)


@quietly
@given(value=st.lists(VALUES, max_size=3) | VALUES, flow=st.sampled_from([True, False, None]))
def test_values_of_any_shape_are_read_or_refused(tmp_path: Path, value: Any, flow: bool | None) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, sort_keys=False, allow_unicode=True)
    read_or_refused(tmp_path / "a.sh.test.yaml", text.encode(errors="replace"))


TEXTS = st.text("ab: #-'\"\n|é", max_size=12) | st.integers(-3, 3) | st.lists(st.text("x y", max_size=3), max_size=2)
CASES = st.lists(
    st.dictionaries(
        st.sampled_from(["name", "given", "when", "expect"]), TEXTS | st.dictionaries(KEYS, TEXTS), min_size=1
    ),
    min_size=1,
    max_size=3,
)
EXPECTED = {"exit": 1, "logs": ["a\nb", "c: d"], "patches": []}


@pytest.mark.slow
@quietly
@given(cases=CASES, flow=st.sampled_from([True, False, None]), width=st.sampled_from([10, 80]), data=st.data())
def test_golden_mode_changes_expectations_and_nothing_else(
    cases: list[Any], flow: bool | None, width: int, data: st.DataObject
) -> None:
    text = yaml.safe_dump(cases, default_flow_style=flow, sort_keys=False, allow_unicode=True, width=width)
    chosen = data.draw(st.sets(st.integers(0, len(cases) - 1)))
    changed = rewritten(text, find_positions(text), {f"[{place}]": EXPECTED for place in chosen})
    wanted = [case | {"expect": EXPECTED} if place in chosen else case for place, case in enumerate(cases)]
    assert list(yaml_values.documents(changed.encode(), yaml_values.YAML_1_2)) == [wanted]


@pytest.mark.parametrize("text", ["- name: a\n  when: &w\n    event: Startup\n- name: b\n  when: *w\n"])
def test_aliases_have_positions(text: str) -> None:
    assert find_positions(text)["[1].when"].start == (4, 8)

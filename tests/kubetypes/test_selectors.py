"""Requirements of selectors: what they say of objects, and how they are written. The sandbox's tests compare what is
selected with a real API server.

Level: pure."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetypes.selectors import (
    Requirement,
    Term,
    WrongSelector,
    failed_field,
    failed_label,
    field_terms,
    read_requirements,
    requirements,
)
from tests.tables import each

WORDS = st.from_regex(r"[a-z0-9]{1,3}", fullmatch=True)
ONE = st.tuples(WORDS)
REQUIREMENTS = st.one_of(
    st.builds(Requirement, WORDS, st.sampled_from(["exists", "!"])),
    st.builds(Requirement, WORDS, st.sampled_from(["=", "!="]), ONE),
    st.builds(Requirement, WORDS, st.sampled_from(["in", "notin"]), st.tuples(WORDS, WORDS)),
)
SELECTOR = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [
        {"key": "tier", "operator": "NotIn", "values": ["back", "test"]},
        {"key": "old", "operator": "DoesNotExist"},
    ],
}


@given(st.lists(REQUIREMENTS))
def test_requirements_are_read_as_they_were_written(wanted: list[Requirement]) -> None:
    assert read_requirements(",".join(map(str, wanted))) == tuple(wanted)


@each(
    ("labels", "failed"),
    [
        ({"app": "web", "tier": "front"}, None),
        ({"app": "web"}, None),
        ({}, "app=web"),
        ({"app": "web", "tier": "test", "old": ""}, "tier notin (back,test)"),
        ({"app": "web", "old": ""}, "!old"),
    ],
)
def test_the_first_requirement_that_fails_is_returned(labels: dict[str, str], failed: str | None) -> None:
    requirement = failed_label(requirements(SELECTOR), labels)
    assert (requirement and str(requirement)) == failed


def test_an_empty_selector_selects_everything() -> None:
    assert failed_label(requirements(None), {}) is failed_label(requirements({}), {}) is None


@each(
    ("text", "obj", "failed"),
    [
        ("status.phase=Running", {"status": {"phase": "Running"}}, None),
        ("a=b,status.phase!=Running", {"a": "b", "status": {"phase": "Running"}}, "status.phase!=Running"),
        ("a=", {}, None),
        (r"a=x\,y", {"a": "x,y"}, None),
        ("spec.on=true", {"spec": {"on": True}}, None),
        ("spec.unschedulable=false", {}, None),
    ],
)
def test_the_first_term_that_fails_is_returned(text: str, obj: Any, failed: str | None) -> None:
    term = failed_field(field_terms(text), obj)
    assert (term and str(term)) == failed


@given(st.builds(Term, WORDS, st.booleans(), st.text(alphabet="a,=\\")))
def test_terms_are_read_as_they_were_written(term: Term) -> None:
    assert field_terms(str(term)) == (term,)


@each("text", ["a", "a=b=c", r"a=\x"])
def test_what_is_no_field_selector_is_refused(text: str) -> None:
    with pytest.raises(WrongSelector):
        field_terms(text)

"""Recorded answers: found by their question, compared with new ones, written only when they differ. Level: pure."""

import gzip
from pathlib import Path

import pytest

from tests.kubesandbox import recording
from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.recording import NotRecorded, Recording

MAP = {"kind": "ConfigMap", "metadata": {"name": "a", "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"}}
LATER = {"kind": "ConfigMap", "metadata": {"name": "a", "uid": "u-2", "creationTimestamp": "2026-02-02T00:00:00Z"}}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a table with one answer."""
    monkeypatch.setattr(recording, "RECORDED", tmp_path)
    table = Recording("table")
    table.note("GET a", [200, MAP])
    table.finish("record")
    return tmp_path / "table.json.gz"


def test_an_answer_is_found_by_its_question() -> None:
    assert Recording("table").answer("GET a") == [200, MAP]
    with pytest.raises(NotRecorded, match=r"GET b is a new question, or a changed one: python -m tests\.kubesandbox"):
        Recording("table").answer("GET b")


def test_an_answer_that_a_test_changes_stays_as_it_was() -> None:
    table = Recording("table")
    table.answer("GET a")[1]["metadata"]["name"] = "b"
    assert table.answer("GET a") == [200, MAP]


def test_another_answer_than_the_recorded_one_is_shown() -> None:
    table = Recording("table")
    table.note("GET a", [404, {"kind": "Status"}])
    with pytest.raises(AssertionError, match=r"answers otherwise (.|\n)*GET a\n    kept: \[200, (.|\n)*now:  \[404, "):
        table.finish("always")


def test_what_is_never_the_same_twice_is_no_difference(kept: Path) -> None:
    before = kept.read_bytes()
    table = Recording("table")
    table.note("GET a", [404, "not yet"])
    table.note("GET a", [200, LATER])
    table.finish("always")
    table.finish("record")
    assert kept.read_bytes() == before


def test_a_question_that_is_asked_no_more_is_dropped_when_it_is_recorded(kept: Path) -> None:
    table = Recording("table")
    table.note("GET b", [200, MAP])
    table.finish("record")
    assert Recording("table").questions == {"GET b"}
    assert gzip.decompress(kept.read_bytes()).startswith(b'{\n"GET b": [200, {"kind"')


def test_a_question_is_known_by_its_body_or_by_what_it_is_known_as() -> None:
    oracle = Oracle(Recording("table"))
    asked = [({"a": 1}, None), ({"a": 2}, None), ({"a": 1}, "first"), ({"a": 1}, "second")]
    refused = []
    for body, known_as in asked:
        with pytest.raises(NotRecorded, match=r"^POST /api/v1/namespaces/oracle/pods") as raised:
            oracle.ask("POST", "/api/v1/{ns}/pods", body, known_as=known_as)
        refused.append(str(raised.value))
    assert len(set(refused)) == len(asked)
    assert oracle.unique("a") == oracle.unique("a") != oracle.unique("b")

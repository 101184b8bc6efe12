"""Files of a run as an answer. What is in patch and metrics files: test_patches.py, test_metric_operations.py."""

from pathlib import Path

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.outputs import read
from hookrunner.hooks.workspace import Workspace
from hookrunner.model.operations import Answer
from hookrunner.model.resources import JSON


def files(directory: Path, **texts: bytes) -> Workspace:
    names = ("context", "metrics", "conversion", "admission", "patch")
    for name in names:
        (directory / name).write_bytes(texts.get(name, b""))
    return Workspace(*(str(directory / name) for name in names))


def test_a_hook_that_wrote_nothing_answers_nothing(tmp_path: Path) -> None:
    assert read(files(tmp_path)) == Answer()


@pytest.mark.parametrize(
    ("text", "response"),
    [
        (b'{"allowed": true}', {"allowed": True}),
        (b'\n{"allowed": true}\n{"allowed": false} junk', {"allowed": True}),
        (b"{}", {}),
        (b"null", {}),
    ],
)
def test_a_response_is_the_first_json_value_and_null_says_as_little_as_an_empty_object(
    tmp_path: Path, text: bytes, response: JSON
) -> None:
    assert read(files(tmp_path, admission=text)).admission == response
    assert read(files(tmp_path, conversion=text)).conversion == response


@pytest.mark.parametrize("text", [b" \n", b'{"allowed": tru', b"allowed: true", b"[]", b'"yes"', b"\xff"])
def test_a_response_that_is_no_object_fails_the_run(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(BadOutput, match=r"^got bad validating response: "):
        read(files(tmp_path, admission=text))
    with pytest.raises(BadOutput, match=r"^got bad conversion response: "):
        read(files(tmp_path, conversion=text))


def test_files_are_judged_in_the_predecessors_order(tmp_path: Path) -> None:
    bad = {name: b"{" for name in ("metrics", "admission", "conversion", "patch")}
    order = []
    for _ in range(4):
        with pytest.raises(BadOutput) as error:
            read(files(tmp_path, **bad))
        order.append(str(error.value).split(":")[0])
        bad.pop(next(iter(bad)))
    assert order == [
        f"got bad {name}" for name in ("metrics", "validating response", "conversion response", "patch file")
    ]

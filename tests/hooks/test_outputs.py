"""Files of a run as an answer. What is in patch and metrics files: test_patches.py, test_metric_operations.py."""

from pathlib import Path

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.outputs import read
from hookrunner.hooks.workspace import Workspace
from hookrunner.model.operations import Answer
from hookrunner.model.reviews import Converted, Verdict


def files(directory: Path, **texts: bytes) -> Workspace:
    names = ("context", "metrics", "conversion", "admission", "patch")
    for name in names:
        (directory / name).write_bytes(texts.get(name, b""))
    return Workspace(*(str(directory / name) for name in names))


def test_a_hook_that_wrote_nothing_answers_nothing(tmp_path: Path) -> None:
    assert read(files(tmp_path)) == Answer()


def test_responses_are_read_from_their_files(tmp_path: Path) -> None:
    answer = read(files(tmp_path, admission=b'{"allowed": true}', conversion=b'{"failedMessage": "no"}'))
    assert (answer.admission, answer.conversion) == (Verdict(allowed=True), Converted([], "no"))


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

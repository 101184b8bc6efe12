"""Files of a run as an answer. What is in patch and metrics files: test_patches.py, test_metric_operations.py.

Level: pure."""

from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.file_carrier import output_size, read_answer
from hookrunner.hooks.workspace import ValuesPaths, Workspace
from hookrunner.model.operations import Answer, ValuesOperation
from hookrunner.model.reviews import Converted, Verdict


def files(directory: Path, **texts: bytes) -> Workspace:
    def path(name: str) -> str:
        (directory / name).write_bytes(texts.get(name, b""))
        return str(directory / name)

    values = ValuesPaths(path("config"), path("values"), path("config_patch"), path("values_patch"))
    own = Workspace(path("context"), path("metrics"), path("conversion"), path("admission"), path("patch"))
    return replace(own, values=values) if texts.keys() & {"config_patch", "values_patch"} else own


def test_a_hook_that_wrote_nothing_answers_nothing(tmp_path: Path) -> None:
    assert read_answer(files(tmp_path)) == Answer()


def test_responses_are_read_from_their_files(tmp_path: Path) -> None:
    answer = read_answer(files(tmp_path, admission=b'{"allowed": true}', conversion=b'{"failedMessage": "no"}'))
    assert (answer.admission, answer.conversion) == (Verdict(allowed=True), Converted(failure="no"))


def test_patches_of_both_kinds_of_values_are_read_apart(tmp_path: Path) -> None:
    answer = read_answer(
        files(
            tmp_path,
            config_patch=b'{"op": "add", "path": "/global/a", "value": 1}\n[{"op": "remove", "path": "/global/b"}]',
            values_patch=b'{"op": "remove", "path": "/global/c"}',
        )
    )
    assert answer.config == (ValuesOperation("add", "/global/a", 1), ValuesOperation("remove", "/global/b"))
    assert answer.values == (ValuesOperation("remove", "/global/c"),)


@pytest.mark.parametrize(
    ("name", "variable"),
    [("config_patch", "CONFIG_VALUES_JSON_PATCH_PATH"), ("values_patch", "VALUES_JSON_PATCH_PATH")],
)
def test_a_patch_of_values_that_cannot_be_read_names_its_file(tmp_path: Path, name: str, variable: str) -> None:
    with pytest.raises(BadOutput, match=f"^{variable}: unsupported patch operation 'replace'"):
        read_answer(files(tmp_path, **{name: b'{"op": "replace", "path": "/a/b", "value": 1}'}))


def test_only_what_the_hook_may_have_written_counts_as_large(tmp_path: Path) -> None:
    given = files(tmp_path, context=b"1" * 10, config=b"1" * 10, values=b"1" * 10, config_patch=b"12", metrics=b"345")
    assert output_size(given) == 5


@pytest.mark.parametrize("text", [b" \n", b'{"allowed": tru', b"allowed: true", b"[]", b'"yes"', b"\xff"])
def test_a_response_that_is_no_object_fails_the_run(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(BadOutput, match=r"^got bad validating response: "):
        read_answer(files(tmp_path, admission=text))
    with pytest.raises(BadOutput, match=r"^got bad conversion response: "):
        read_answer(files(tmp_path, conversion=text))


def test_files_are_judged_in_the_predecessors_order(tmp_path: Path) -> None:
    bad = {name: b"{" for name in ("metrics", "admission", "conversion", "patch")}
    order = []
    for _ in range(4):
        with pytest.raises(BadOutput) as error:
            read_answer(files(tmp_path, **bad))
        order.append(str(error.value).split(":")[0])
        bad.pop(next(iter(bad)))
    assert order == [
        f"got bad {name}" for name in ("metrics", "validating response", "conversion response", "patch file")
    ]

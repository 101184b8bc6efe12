"""Files of a run as an answer. What is in patch and metrics files: test_patches.py, test_metric_operations.py. Which is
which: tests/contract/carriers/runs.json.

Level: pure."""

from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.file_carrier import output_size, read_answer
from hookrunner.hooks.workspace import ValuesPaths, Workspace


def files(directory: Path, **texts: bytes) -> Workspace:
    def path(name: str) -> str:
        (directory / name).write_bytes(texts.get(name, b""))
        return str(directory / name)

    values = ValuesPaths(path("config"), path("values"), path("config_patch"), path("values_patch"))
    own = Workspace(path("context"), path("metrics"), path("conversion"), path("admission"), path("patch"))
    return replace(own, values=values) if texts.keys() & {"config_patch", "values_patch"} else own


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

"""The files and variables of one run. Level: pure."""

import os
import re
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hookrunner.errors import BadOutput, HookFailed
from hookrunner.hooks.workspace import (
    Workspace,
    keep,
    make_remover,
    read,
    remove,
    workspace,
    write_context,
    write_values,
)
from hookrunner.model.hook_runs import InstanceInput, Values
from tests.fakes.cluster import until

UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def test_the_hook_gets_seven_variables_beside_those_it_inherits(tmp_path: Path) -> None:
    with workspace(tmp_path, "a/b.sh") as files:
        environment = files.environment({"HOME": "/root", "METRICS_PATH": "stale"})
    patterns = {
        "HOME": "/root",
        "BINDING_CONTEXT_PATH": f"{tmp_path}/hook-a-b-sh-binding-context-{UUID}.json",
        "METRICS_PATH": f"{tmp_path}/hook-a-b-sh-metrics-{UUID}.json",
        "CONVERSION_RESPONSE_PATH": f"{tmp_path}/hook-a-b-sh-conversion-response-{UUID}.json",
        "VALIDATING_RESPONSE_PATH": f"{tmp_path}/hook-a-b-sh-admission-response-{UUID}.json",
        "ADMISSION_RESPONSE_PATH": f"{tmp_path}/hook-a-b-sh-admission-response-{UUID}.json",
        "KUBERNETES_PATCH_PATH": f"{tmp_path}/a-b-sh-object-patch-{UUID}",
        "RUN_AGAIN_PATH": f"{tmp_path}/hook-a-b-sh-run-again-{UUID}",
    }
    assert environment.keys() == patterns.keys()
    assert all(re.fullmatch(patterns[name], value) for name, value in environment.items())
    assert environment["VALIDATING_RESPONSE_PATH"] == environment["ADMISSION_RESPONSE_PATH"]


def test_a_hook_of_a_module_gets_four_more(tmp_path: Path) -> None:
    with workspace(tmp_path, "hooks/b.sh", module="cert-manager") as files:
        environment = files.environment({})
        made_by_the_hook = {Path(environment["RUN_AGAIN_PATH"]).name}
        made = {path.name for path in tmp_path.iterdir()}
        assert {Path(path).name for path in environment.values()} - made_by_the_hook == made
    patterns = {
        "BINDING_CONTEXT_PATH": f"{tmp_path}/cert-manager.module-hook-hooks-b-sh-binding-context-{UUID}.json",
        "CONFIG_VALUES_PATH": f"{tmp_path}/cert-manager.module-config-values-{UUID}.json",
        "VALUES_PATH": f"{tmp_path}/cert-manager.module-values-{UUID}.json",
        "CONFIG_VALUES_JSON_PATCH_PATH": f"{tmp_path}/hooks-b-sh.module-hook-config-values-{UUID}.json-patch",
        "VALUES_JSON_PATCH_PATH": f"{tmp_path}/hooks-b-sh.module-hook-values-{UUID}.json-patch",
        "METRICS_PATH": f"{tmp_path}/hooks-b-sh.module-hook-metrics-{UUID}.json",
        "KUBERNETES_PATCH_PATH": f"{tmp_path}/hooks-b-sh-object-patch-{UUID}",
    }
    assert all(re.fullmatch(pattern, environment[name]) for name, pattern in patterns.items())
    assert environment.keys() - patterns == {
        "CONVERSION_RESPONSE_PATH",
        "VALIDATING_RESPONSE_PATH",
        "ADMISSION_RESPONSE_PATH",
        "RUN_AGAIN_PATH",
    }
    assert list(tmp_path.iterdir()) == []


def test_a_hook_of_an_addon_gets_three_more(tmp_path: Path) -> None:
    with workspace(tmp_path, "hooks/b.sh", module="a.b.c", instance=InstanceInput(b"{}", "/package")) as files:
        write_values(files, Values(b"1", b"2", InstanceInput(b"{}")))
        environment = files.environment({})
        assert Path(environment["ADDON_OBJECT_PATH"]).read_bytes() == b"{}"
    assert environment["ADDON_PACKAGE_DIR"] == "/package"
    for variable, word in (("ADDON_OBJECT_PATH", "instance"), ("CONDITIONS_PATH", "conditions")):
        pattern = f"{tmp_path}/hooks-b-sh.addon-hook-{word}-{UUID}.json"
        assert re.fullmatch(pattern, environment[variable])
    assert list(tmp_path.iterdir()) == []


def test_values_are_written_where_there_are_files_for_them(tmp_path: Path) -> None:
    values = Values(b'{"global":null}', b'{"global":{}}')
    with workspace(tmp_path, "b.sh", module="global") as files:
        write_values(files, values)
        environment = files.environment({})
        texts = [Path(environment[name]).read_bytes() for name in ("CONFIG_VALUES_PATH", "VALUES_PATH")]
        patches = [Path(environment[name]).stat().st_size for name in environment if name.endswith("PATCH_PATH")]
    assert (texts, patches) == ([b'{"global":null}', b'{"global":{}}'], [0, 0, 0])
    with pytest.raises(HookFailed, match="No such file"):
        write_values(files, values)
    with workspace(tmp_path, "b.sh") as plain:
        write_values(plain, values)
        assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize("module", ["", "m" * 300])
def test_no_name_is_too_long_for_a_file(tmp_path: Path, module: str) -> None:
    with workspace(tmp_path, "hooks/" + "h" * 300, module=module):
        assert max(len(path.name) for path in tmp_path.iterdir()) <= 255


def test_the_context_is_written_and_the_other_files_are_empty(tmp_path: Path) -> None:
    with workspace(tmp_path, "a.sh") as files:
        write_context(files, [b"[", b"", b"1]\n"])
        assert Path(files.context).read_bytes() == b"[1]\n"
        others = [files.metrics, files.conversion, files.admission, files.patch]
        assert [Path(path).read_bytes() for path in others] == [b""] * 4
        assert {stat.S_IMODE(os.stat(path).st_mode) & ~0o644 for path in others} == {0}
        assert len(list(tmp_path.iterdir())) == 5


def test_two_runs_share_no_file(tmp_path: Path) -> None:
    with workspace(tmp_path, "a.sh"), workspace(tmp_path, "a.sh"):
        assert len(list(tmp_path.iterdir())) == 10


@pytest.mark.parametrize(("end", "left"), [(remove, 0), (keep, 5)])
def test_the_files_go_when_the_run_ends_unless_they_are_to_be_kept(
    tmp_path: Path, end: Callable[[Workspace], object], left: int
) -> None:
    def fail() -> None:
        with workspace(tmp_path, "a.sh", end):
            raise HookFailed("exit status 1")

    with pytest.raises(HookFailed, match="exit status 1"):
        fail()
    assert len(list(tmp_path.iterdir())) == left


async def test_the_thread_that_removes_files_lets_the_next_run_start_first(tmp_path: Path) -> None:
    with workspace(tmp_path, "a.sh", make_remover()):
        pass
    assert len(list(tmp_path.iterdir())) == 5
    await until(lambda: not any(tmp_path.iterdir()))


def test_a_hook_may_have_removed_its_files_or_made_directories_of_them(tmp_path: Path) -> None:
    with workspace(tmp_path, "a.sh") as files:
        os.unlink(files.context)
        os.unlink(files.patch)
        os.mkdir(files.patch)
    assert [path.name for path in tmp_path.iterdir()] == [Path(files.patch).name]


def test_a_file_that_the_hook_removed_cannot_be_read(tmp_path: Path) -> None:
    with workspace(tmp_path, "a.sh") as files:
        assert read(files.metrics) == b""
        Path(files.metrics).write_bytes(b"{}")
        assert read(files.metrics) == b"{}"
        os.unlink(files.metrics)
        with pytest.raises(BadOutput, match="No such file or directory; a hook must leave its files where they are"):
            read(files.metrics)


def test_a_temp_directory_that_was_cleaned_away_is_made_again(tmp_path: Path) -> None:
    directory = tmp_path / "gone"
    with workspace(directory, "a.sh") as files:
        assert Path(files.context).read_bytes() == b""
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_directory_that_cannot_be_written_fails_the_run_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(HookFailed, match=r"^cannot write .*Not a directory; free space there.*--tmp-dir"),
        workspace(tmp_path / "file", "a.sh"),
    ):
        raise AssertionError("there is no workspace")


def test_a_disk_that_takes_no_more_fails_the_run_and_leaves_nothing_behind(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with (
            pytest.raises(HookFailed, match=rf"in {tmp_path}: File too large; free space there, or set --tmp-dir"),
            workspace(tmp_path, "a.sh") as files,
        ):
            write_context(files, [b"x" * 100])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_a_context_that_is_written_too_late_leaves_no_file(tmp_path: Path) -> None:
    with workspace(tmp_path, "a.sh") as files:
        pass
    with pytest.raises(HookFailed, match="No such file"):
        write_context(files, [b"[]"])
    assert list(tmp_path.iterdir()) == []


def test_a_message_names_the_variable_of_a_file_not_its_path(tmp_path: Path) -> None:
    """The path is another one in each attempt, and equal messages are counted in one Event."""
    with workspace(tmp_path, "a.sh", module="m") as files:
        assert files.values
        text = f"jq: error: {files.context}: no such key; {files.values.config_patch} {tmp_path}"
        assert files.with_variables(text) == (
            f"jq: error: $BINDING_CONTEXT_PATH: no such key; $CONFIG_VALUES_JSON_PATCH_PATH {tmp_path}"
        )

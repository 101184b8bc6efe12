"""Directories of one process: which of them the next process removes. What others may do to files:
`tests/security/test_files.py`.

Level: pure."""

import fcntl
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hookrunner.claimed_directories import claimed_directory, private_directory, reuse
from hookrunner.errors import HookFailed, StartRefused
from hookrunner.hooks.workspace import workspace

KILLED = """
import os, signal, sys
from pathlib import Path
from hookrunner.hooks.workspace import workspace, write_values
from hookrunner.model.hook_runs import Values
from hookrunner.claimed_directories import claimed_directory, private_directory
with claimed_directory(Path(sys.argv[1]), "run") as runs, private_directory(Path(sys.argv[1]), "packages") as packages:
    (packages / "chart").mkdir()
    with workspace(runs, "a.sh", module="m") as files:
        write_values(files, Values(b"{}", b"secret"))
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_directories_of_killed_processes_are_removed_and_of_running_ones_kept(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [file.read_bytes() for file in tmp_path.glob("hookrunner-run-*/*.module-values-*")] == [b"secret"]
    assert len([*tmp_path.glob("hookrunner-packages-*/chart")]) == 1
    with private_directory(tmp_path, "run") as first, private_directory(tmp_path, "packages") as second:
        assert {*tmp_path.iterdir()} == {first, second}
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_in_the_directory_is_removed(tmp_path: Path) -> None:
    names = ("packages-abcdefgh", "kubeconfig-minikube", "hookrunner-run-", "hookrunner-run-0123", "hook-a-metrics-1")
    for name in (*names, "packages"):
        (tmp_path / name).mkdir()
    (tmp_path / "hookrunner-run-0123456789abcdef").touch()
    before = {*tmp_path.iterdir()}
    with private_directory(tmp_path, "run") as directory:
        assert {*tmp_path.iterdir()} == before | {directory}
    assert {*tmp_path.iterdir()} == before


def test_a_directory_that_a_cleaner_took_is_locked_again(tmp_path: Path) -> None:
    """Otherwise the next start would remove files of runs that are under way."""
    with claimed_directory(tmp_path, "run") as directory:
        for _ in range(2):
            reuse(directory)
            with claimed_directory(tmp_path, "run"):
                assert directory.exists()
            directory.rmdir()


def test_a_directory_that_cannot_be_made_refuses_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartRefused, match="set --tmp-dir"), private_directory(tmp_path / "file", "run"):
        pass


def test_a_directory_that_others_take_for_left_over_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and its lock."""
    lock = fcntl.flock
    taken: list[Path] = []

    def flock(descriptor: int, how: int) -> None:
        if not taken:
            [made] = tmp_path.iterdir()
            taken.append(made)
            made.rmdir()
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with private_directory(tmp_path, "run") as directory:
        assert taken == [directory]
        assert directory.is_dir()
        reuse(directory)


def test_the_same_failure_after_another_start_has_the_same_words(tmp_path: Path) -> None:
    """Equal messages are counted in one Event."""
    texts = set[str]()
    (tmp_path / "file").touch()
    for _ in range(2):
        with (
            claimed_directory(tmp_path / "file", "run") as directory,
            pytest.raises(HookFailed) as failed,
            workspace(directory, "a.sh"),
        ):
            pass
        texts.add(str(failed.value))
    assert texts == {
        f"cannot write files of a run in {tmp_path}/file: Not a directory; free space there, or set --tmp-dir"
    }

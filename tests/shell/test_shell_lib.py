"""What sourcing the framework does to a script: it stops at the first error and says where."""

import subprocess
from pathlib import Path

import pytest

from tests.shell.conftest import LIBRARY, Hook


@pytest.mark.parametrize(
    "mistake",
    [
        "false",
        "false | true",
        'echo "$undefined"',
        "echo /nowhere/*.txt",
        'local x; x="$(false; echo no)"',
        "inner() { return 3; }; inner",
    ],
)
def test_a_mistake_ends_the_hook(mistake: str, hook: Hook) -> None:
    done = hook(f"__main__() {{ {mistake}\necho survived; }}")
    assert done.returncode != 0
    assert "survived" not in done.stdout


def test_a_failure_is_told_like_a_python_traceback(hook: Hook) -> None:
    done = hook("fetch() {\n  ls /nowhere\n}\n__main__() {\n  fetch\n}")
    head, *frames, end = done.stderr.splitlines()[1:]
    assert (done.returncode, head, end) == (2, "Traceback (most recent call last):", "Exiting with status 2")
    assert frames[-4].endswith("line 6, in __main__")
    assert frames[-3:] == ["    fetch", frames[-2], "    ls /nowhere"]
    assert frames[-2].endswith('hook.sh", line 3, in fetch')


def test_one_failure_is_told_once(hook: Hook) -> None:
    assert hook("__main__() { false; }").stderr.count("Traceback") == 1


def test_a_failure_that_the_hook_looks_at_is_none(hook: Hook) -> None:
    done = hook("__main__() { if false; then :; fi; false || echo handled; }")
    assert (done.returncode, done.stdout, done.stderr) == (0, "handled\n", "")


def test_a_symlink_finds_the_files_beside_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "shell_lib.sh").symlink_to(LIBRARY)
    script = f"source {tmp_path}/shell_lib.sh && declare -F hook::run context::get"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout == "hook::run\ncontext::get\n"

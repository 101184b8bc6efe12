"""What sourcing the framework does to a script: it stops at the first error and says where. Level: pure."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.shell.conftest import LIBRARY, Hook


def write(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{text}\n")


def bash(script: str) -> subprocess.CompletedProcess[str]:
    """Run it with little memory: what sources itself without end would take all of it."""
    limited = f"ulimit -v 1000000\n{script}"
    return subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60)


@pytest.mark.slow
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
def test_a_failing_command_ends_the_hook(mistake: str, hook: Hook) -> None:
    done = hook(f"__main__() {{ {mistake}\necho survived; }}")
    assert done.returncode != 0
    assert "survived" not in done.stdout


@pytest.mark.slow
def test_a_failure_is_printed_like_a_python_traceback(hook: Hook) -> None:
    done = hook("fetch() {\n  ls /nowhere\n}\n__main__() {\n  fetch\n}")
    head, *frames, end = done.stderr.splitlines()[1:]
    assert (done.returncode, head, end) == (2, "Traceback (most recent call last):", "Exiting with status 2")
    assert frames[-4].endswith("line 6, in __main__")
    assert frames[-3:] == ["    fetch", frames[-2], "    ls /nowhere"]
    assert frames[-2].endswith('hook.sh", line 3, in fetch')
    assert done.stderr.count("Traceback") == 1


@pytest.mark.slow
def test_a_failure_that_the_hook_handles_is_ignored(hook: Hook) -> None:
    done = hook("__main__() { if false; then :; fi; false || echo handled; }")
    assert (done.returncode, done.stdout, done.stderr) == (0, "handled\n", "")


def test_a_symlink_finds_the_files_beside_the_real_one(tmp_path: Path) -> None:
    (tmp_path / "shell_lib.sh").symlink_to(LIBRARY)
    script = f"source {tmp_path}/shell_lib.sh && declare -F hook::run context::get"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout == "hook::run\ncontext::get\n"


def test_beside_hooks_only_the_files_of_the_framework_are_sourced(tmp_path: Path) -> None:
    """Also under another name, and below it hooks that source it themselves."""
    for file in LIBRARY.parent.glob("*.sh"):
        shutil.copy(file, tmp_path / file.name)
    shutil.copy(LIBRARY, tmp_path / "lib.sh")
    for name in ("other.sh", "hooks/copy.sh"):
        write(tmp_path / name, f"source {tmp_path}/lib.sh\necho never")
    done = bash(f"source {tmp_path}/lib.sh\necho begun\ndeclare -F hook::run context::get values::get")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["begun", "hook::run", "context::get", "values::get"]


def test_copied_alone_it_says_what_it_needs_and_sources_no_hook(tmp_path: Path) -> None:
    shutil.copy(LIBRARY, tmp_path / "lib.sh")
    write(tmp_path / "hooks/copy.sh", f"source {tmp_path}/lib.sh\necho never")
    done = bash(f"source {tmp_path}/lib.sh\necho never")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Error: {tmp_path}/lib.sh needs context.sh, hook.sh and values.sh beside it: copy these, too, "
        'or source "$(hookrunner shell-lib)"\n'
    )


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The library as an image has it, in the test's directory `frameworks` instead of /frameworks/shell."""
    (tmp_path / "frameworks").mkdir()
    for file in LIBRARY.parent.glob("*.sh"):
        shutil.copy(file, tmp_path / "frameworks" / file.name)
    write(tmp_path / "shell_lib.sh", LIBRARY.read_text().replace("=/frameworks/shell ", f"={tmp_path}/frameworks "))
    return tmp_path


def test_files_that_an_image_adds_are_sourced_in_order_and_once(image: Path) -> None:
    """Below the directory, too, with blanks in names, and though it sources the library itself."""
    write(image / "frameworks/a dir/a.sh", f"source {image}/shell_lib.sh\nused+=a")
    write(image / "frameworks/shell_lib_2.sh", f"source {image}/frameworks/shell_lib.sh\nused+=2")
    write(image / "frameworks/values.sh", "values::get() { echo mine; }")
    done = bash(f'used=""\nsource {image}/shell_lib.sh\necho "$used"\nvalues::get\ndeclare -F hook::run')
    assert (done.stdout.split(), done.stderr) == (["a2", "mine", "hook::run"], "")


def test_a_directory_with_files_of_the_image_alone_does_not_hide_the_framework(image: Path) -> None:
    """Of an image that installs hookrunner and brings its own /frameworks/shell."""
    for name in ("context.sh", "hook.sh", "values.sh"):
        (image / "frameworks" / name).rename(image / name)
    write(image / "frameworks/mine.sh", "mine() { :; }")
    assert bash(f"source {image}/shell_lib.sh\ndeclare -F hook::run mine").stdout.split() == ["hook::run", "mine"]


def test_a_hook_that_is_started_by_a_hook_has_the_framework_though_all_is_exported() -> None:
    done = bash(f"set -o allexport\nsource {LIBRARY}\nbash -c 'source {LIBRARY}; echo \"$-\"; declare -F hook::run'")
    flags, name = done.stdout.split()
    assert {"e", "u", "E"} <= set(flags)
    assert name == "hook::run"

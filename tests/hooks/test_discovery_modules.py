"""Which files of a module are its hooks, and which are global hooks. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.errors import BadHookConfig, StartRefused
from hookrunner.hooks.discovery import HookFile, find_global, find_in_module
from tests.hooks.test_discovery import tree

SHELL = Path("/bin/sh")


def names(files: list[HookFile]) -> list[str]:
    return [file.name for file in files]


def test_hooks_of_a_module_are_in_its_directory_hooks(tmp_path: Path) -> None:
    tree(tmp_path, "hooks/b/x.sh*", "hooks/a*", "enabled*", "hooks/lib/l.sh*", "hooks/values.yaml*", "hooks/.h/x*")
    tree(tmp_path, "hooks/venv/bin/activate*", "hooks/b/venv/x.sh*", "templates/x.sh*")
    files = find_in_module("cert-manager", tmp_path)
    assert names(files) == ["cert-manager/hooks/a", "cert-manager/hooks/b/x.sh"]
    assert {(file.module, file.prefix) for file in files} == {("cert-manager", ())}
    assert files[0].path == tmp_path / "hooks/a"


def test_a_module_needs_no_hooks(tmp_path: Path) -> None:
    assert find_in_module("m", tmp_path) == []


def test_hooks_of_a_module_that_cannot_be_read_are_its_problem(tmp_path: Path) -> None:
    (tmp_path / "hooks").touch()
    with pytest.raises(BadHookConfig, match=r"hook 'm/hooks': '.*/hooks/' cannot be read: Not a directory"):
        find_in_module("m", tmp_path)


@pytest.mark.parametrize("file", ["hooks/a.py*", "hooks/sub/a.py*"])
@pytest.mark.parametrize(("library", "environ"), [((), []), (("hooks/venv/lib/python3.13/os.py",), ["PYTHONHOME"])])
def test_a_hook_in_python_is_run_in_the_virtual_environment_beside_it(
    tmp_path: Path, file: str, library: tuple[str, ...], environ: list[str]
) -> None:
    """A usual one finds its library by itself, and with PYTHONHOME not at all."""
    tree(tmp_path, file, "hooks/b.sh*", *library)
    venv = tmp_path / "hooks/venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python3").symlink_to(SHELL)
    python, other = sorted(find_in_module("m", tmp_path), key=lambda file: file.path.suffix)
    assert (python.prefix, python.environ) == ((str(venv / "bin/python3"),), dict.fromkeys(environ, str(venv)))
    assert (other.prefix, other.environ) == ((), {})


@pytest.mark.parametrize("interpreter", [(), ("hooks/venv/bin/python3",), ("hooks/venv/bin/python3/x*",)])
def test_without_an_interpreter_it_is_run_as_it_is(tmp_path: Path, interpreter: tuple[str, ...]) -> None:
    (hook,) = find_in_module("m", tree(tmp_path, "hooks/a.py*", *interpreter))
    assert (hook.prefix, hook.environ) == ((), {})


def test_global_hooks_are_in_the_directory_or_in_hooks_below_it(tmp_path: Path) -> None:
    tree(tmp_path, "a.sh*", "openapi/values.yaml", "sub/b.py*", "lib/l.sh*")
    files = find_global(tmp_path)
    assert names(files) == ["global/a.sh", "global/sub/b.py"]
    assert {file.module for file in files} == {"global"}
    assert names(find_global(tree(tmp_path, "hooks/c.sh*"))) == ["global/hooks/c.sh"]


def test_the_directory_of_global_hooks_has_to_be_there(tmp_path: Path) -> None:
    assert find_global(tmp_path) == []
    with pytest.raises(StartRefused, match=r"gone.*No such file.*--global-hooks-dir"):
        find_global(tmp_path / "gone")

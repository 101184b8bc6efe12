"""Which files are hooks. What they answer is tested in test_catalog.py. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.errors import StartRefused
from hookrunner.hooks.discovery import find
from hookrunner.hooks.workspace import safe_name
from tests.tables import each


def tree(root: Path, *paths: str) -> Path:
    """Make files; those named with a trailing `*` are executable."""
    for path in paths:
        file = root / path.removesuffix("*")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o755 if path.endswith("*") else 0o644)
    return root


def names(root: Path) -> list[str]:
    return [file.name for file in find(root)]


@pytest.mark.parametrize(
    ("files", "hooks"),
    [
        ((), []),
        (("a.sh*", "b*", "c.py*"), ["a.sh", "b", "c.py"]),
        ((".git/a.sh*", "lib/x.py*", "aa/exec.py*", "aa/noexec.py", "check.py*"), ["aa/exec.py", "check.py"]),
        (("aa/lib/x.py*", "aa/.h/x*", "aa/.x*", "library/x*"), ["library/x"]),
        (("a.yaml*", "a.json*", "a.md*", "a.txt*", "a.test.yaml*", "a.YAML*", "a.tar*"), ["a.YAML", "a.tar"]),
        (("a/z.sh*", "a.sh*", "B*", "a-b/c*"), ["B", "a-b/c", "a.sh", "a/z.sh"]),
        (("with space/a b.sh*", "ä.sh*"), ["with space/a b.sh", "ä.sh"]),
    ],
)
def test_executable_files_are_hooks_in_the_order_of_their_paths(
    tmp_path: Path, files: tuple[str, ...], hooks: list[str]
) -> None:
    assert names(tree(tmp_path, *files)) == hooks


@pytest.mark.parametrize("bit", [0o100, 0o010, 0o001])
def test_any_execute_bit_is_enough(tmp_path: Path, bit: int) -> None:
    (tmp_path / "hook").touch(mode=0o600 | bit)
    assert names(tmp_path) == ["hook"]


def test_a_hook_mounted_from_a_config_map_is_found_once(tmp_path: Path) -> None:
    tree(tmp_path, "..2024_01_01/hook.sh")
    (tmp_path / "..data").symlink_to("..2024_01_01")
    (tmp_path / "hook.sh").symlink_to("..data/hook.sh")
    assert names(tmp_path) == ["hook.sh"]


def test_the_hooks_directory_may_be_a_symlink_or_have_an_unusual_name(tmp_path: Path) -> None:
    tree(tmp_path / "lib", "a.sh*")
    (tmp_path / "link").symlink_to("lib")
    assert names(tmp_path / "link") == names(tmp_path / "lib") == ["a.sh"]
    assert find(tmp_path / "link")[0].path == tmp_path / "link/a.sh"


def test_a_symlink_to_a_directory_is_skipped_with_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tree(tmp_path, "real/a.sh*")
    (tmp_path / "link").symlink_to("real")
    assert names(tmp_path) == ["real/a.sh"]
    assert f"path={tmp_path}/link" in capfd.readouterr().err


def test_a_file_that_is_not_executable_is_a_warning_with_the_mend(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tree(tmp_path, "a.sh", "notes.txt")
    find(tmp_path)
    warning = capfd.readouterr().err
    assert f"chmod +x {tmp_path}/a.sh" in warning
    assert "notes" not in warning


def test_tests_beside_a_hook_are_no_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert names(tree(tmp_path, "a.py*", "test_a.py", "a_test.py", "conftest.py", "test_b.py*")) == [
        "a.py",
        "test_b.py",
    ]
    assert capfd.readouterr().err == ""


def test_an_executable_file_in_lib_is_a_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    find(tree(tmp_path, "lib/sub/x.py*", "lib/y.py", "lib/.hidden/z*"))
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "located in the ignored 'lib' directory" in lines[0]
    assert "file=/sub/x.py" in lines[0]


def test_a_missing_directory_refuses_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match=f"path '{tmp_path}/none/?' not exist; create it or set --hooks-dir"):
        find(tmp_path / "none")


def test_a_file_for_a_directory_refuses_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="cannot read"):
        find(tree(tmp_path, "file") / "file")


@each(
    ("name", "safe"),
    [
        ("002-cool-hooks/monitor-namespaces.py", "002-cool-hooks-monitor-namespaces-py"),
        ("a b&c_d=e+f:g", "a-b-c-d-e-f-g"),
        ("Größe/café.sh", "Grosse-cafe-sh"),
        ("a--/..b", "a-b"),
        ("§$%x", "x"),
        ("x" * 300, "x" * 160),
    ],
)
def test_a_safe_name_fits_into_any_file_name(name: str, safe: str) -> None:
    assert safe_name(name) == safe

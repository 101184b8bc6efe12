"""The modules and addons that `hookrunner new` writes: without findings, whole or not at all, with valid names."""

from pathlib import Path

import pytest

from hookrunner.errors import BadInput
from hookrunner.testing.starters.directory_starters import addon_starter, module_starter
from tests.fakes.command_line import Command, command

__all__ = ["command"]


@pytest.mark.slow
def test_a_new_module_tests_clean_and_renders(tmp_path: Path, command: Command) -> None:
    modules = tmp_path / "modules"
    made = command("new", "module", "hello-world", "--dir", str(modules))
    assert made.code == 0
    assert f"{modules}/010-hello-world/tests/hello-world.test.yaml" in made.out
    tested = command("module", "test", str(modules))
    assert (tested.code, tested.err) == (0, ""), tested.out
    assert "6 passed" in tested.out
    assert command("module", "list", "--modules-dir", str(modules)).out.splitlines()[1].split()[:4] == [
        "hello-world",
        "10",
        "0.1.0",
        "on",
    ]


@pytest.mark.parametrize(
    ("there", "name", "weight", "directory"),
    [
        ([], "dns", None, "010-dns"),
        (["030-a", "041-b", "c"], "dns", None, "050-dns"),
        (["030-a"], "dns", 7, "007-dns"),
        (["030-a"], "5-dns", None, "5-dns"),
    ],
)
def test_new_module_comes_last_by_default(
    there: list[str], name: str, weight: int | None, directory: str, tmp_path: Path
) -> None:
    for one in there:
        (tmp_path / one).mkdir()
    made = module_starter(name, weight, tmp_path)
    assert (made.name, made.directory.name) == ("dns", directory)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("HelloWorld", "take 'hello-world'"),
        ("a_b", "take 'a-b'"),
        ("global", "can be no module's name, for it is the section"),
        ("../x", "can be no module's name"),
        ("", "can be no module's name"),
        ("a" * 54, "too long"),
    ],
)
def test_invalid_module_name_is_refused(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        module_starter(name, None, tmp_path)
    assert message in str(refused.value)


def test_failed_module_starter_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "010-dns").mkdir()
    with pytest.raises(BadInput, match="is there already"):
        module_starter("010-dns", None, tmp_path).write()
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot write"):
        module_starter("dns", None, tmp_path / "file" / "modules").write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["010-dns", "file"]


@pytest.mark.parametrize("there", ["010-dns", "dns"])
@pytest.mark.parametrize(("name", "weight"), [("dns", None), ("dns", 30), ("040-dns", None)])
def test_duplicate_module_name_is_refused(there: str, name: str, weight: int | None, tmp_path: Path) -> None:
    (tmp_path / there).mkdir()
    with pytest.raises(BadInput, match=f"a module 'dns' is there already, in {tmp_path / there};"):
        module_starter(name, weight, tmp_path)


@pytest.mark.slow
def test_cases_of_a_new_addon_pass(tmp_path: Path, command: Command) -> None:
    made = command("new", "addon", "hello-world", "--dir", str(tmp_path / "addons"))
    assert (made.code, made.err) == (0, "")
    assert f"{tmp_path}/addons/hello-world/channels/packages/hello-world/0.1.0/deployment.yaml" in made.out
    tested = command("addon", "test", str(tmp_path / "addons"))
    assert (tested.code, tested.err) == (0, ""), tested.out
    assert "2 passed" in tested.out
    assert command("addon", "lint", "--strict", str(tmp_path / "addons")).code == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [("HelloWorld", "take 'hello-world'"), ("global", "can be no addon's name"), ("../x", "can be no addon's name")],
)
def test_invalid_addon_name_is_refused(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        addon_starter(name, tmp_path)
    assert message in str(refused.value)


def test_failed_addon_starter_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "dns").mkdir()
    with pytest.raises(BadInput, match="is there already"):
        addon_starter("dns", tmp_path).write()
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot write"):
        addon_starter("dns", tmp_path / "file" / "addons").write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dns", "file"]

"""The modules and addons that `hookrunner new` writes: without findings, whole or not at all, with valid names.

Level: pure."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hookrunner.errors import BadInput
from hookrunner.testing.starters.directory_starters import addon_starter, module_starter
from tests.fakes.command_line import Command, command
from tests.tables import each

__all__ = ["command"]


@pytest.mark.slow
def test_a_new_module_tests_clean_and_renders(tmp_path: Path, command: Command) -> None:
    modules = tmp_path / "modules"
    made = command("new", "module", "hello-world", "--dir", str(modules))
    assert made.code == 0
    assert f"{modules}/010-hello-world/tests/hello-world.test.yaml" in made.out
    assert command("module", "lint", "--strict", str(modules)).code == 0
    tested = command("module", "test", str(modules))
    assert (tested.code, tested.err) == (0, ""), tested.out
    assert "20 passed" in tested.out
    turned_on = ("--config", f"{modules}/010-hello-world/example.yaml")
    assert command("module", "list", "--modules-dir", str(modules), *turned_on).out.splitlines()[1].split()[:4] == [
        "hello-world",
        "10",
        "0.1.0",
        "on",
    ]


def test_sample_that_ships_is_what_new_module_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """File by file, with the bits by which hooks are found."""
    shipped = read_files(Path(__file__).parents[2] / "modules" / "100-hello-world")
    monkeypatch.chdir(tmp_path)
    assert command("new", "module", "100-hello-world").code == 0
    assert read_files(tmp_path / "modules" / "100-hello-world") == shipped


def test_new_module_has_its_own_name_and_directory_everywhere(tmp_path: Path, command: Command) -> None:
    assert command("new", "module", "web", "--dir", str(tmp_path / "own modules")).code == 0
    made = read_files(tmp_path / "own modules" / "010-web")
    texts = "\n".join([*made, *(text for text, _ in made.values())])
    assert [word for word in ("hello-world", "helloWorld", "--modules-dir modules", "/100-") if word in texts] == []
    assert f"hookrunner module test '{tmp_path}/own modules/010-web'" in texts


def read_files(directory: Path) -> dict[str, tuple[str, bool]]:
    """The text of each file, and whether it can be executed."""
    return {
        str(path.relative_to(directory.resolve())): (path.read_text(), bool(path.stat().st_mode & 0o100))
        for path in directory.resolve().rglob("*")
        if path.is_file()
    }


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


MODULE = partial(module_starter, weight=None)


@each(
    ("starter", "name", "message"),
    [
        (MODULE, "HelloWorld", "take 'hello-world'"),
        (MODULE, "a_b", "take 'a-b'"),
        (MODULE, "global", "can be no module's name, for it is the section"),
        (MODULE, "../x", "can be no module's name"),
        (MODULE, "", "can be no module's name"),
        (MODULE, "a" * 54, "too long"),
        (addon_starter, "HelloWorld", "take 'hello-world'"),
        (addon_starter, "global", "can be no addon's name"),
        (addon_starter, "../x", "can be no addon's name"),
    ],
)
def test_invalid_name_is_refused(starter: Callable[..., Any], name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        starter(name, directory=tmp_path)
    assert message in str(refused.value)


@pytest.mark.parametrize(("starter", "name"), [(MODULE, "010-dns"), (addon_starter, "dns")])
def test_failed_starter_leaves_nothing_behind(starter: Callable[..., Any], name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(BadInput, match="is there already"):
        starter(name, directory=tmp_path).write()
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot write"):
        starter(name, directory=tmp_path / "file" / "below").write()
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, "file"]


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

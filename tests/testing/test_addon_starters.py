"""The addon that `hookrunner new addon` writes: whole or not at all, with a valid name, and its cases pass."""

from pathlib import Path

import pytest

from hookrunner.errors import BadInput
from hookrunner.testing.starters.directory_starters import addon_starter
from tests.fakes.command_line import Command, command

__all__ = ["command"]


def test_cases_of_a_new_addon_pass(tmp_path: Path, command: Command) -> None:
    made = command("new", "addon", "hello-world", "--dir", str(tmp_path / "addons"))
    assert (made.code, made.err) == (0, "")
    assert f"{tmp_path}/addons/hello-world/channels/packages/hello-world/0.1.0/deployment.yaml" in made.out
    tested = command("addon", "test", str(tmp_path / "addons"))
    assert (tested.code, tested.err) == (0, ""), tested.out
    assert "2 passed" in tested.out


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

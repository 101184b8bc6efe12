"""The sandbox as the settings want it. What commands make of it is tested in tests/cli/test_sandbox.py."""

from pathlib import Path

import pytest

from hookrunner.embedded import embedded
from hookrunner.errors import StartRefused
from hookrunner.settings import SandboxSettings


async def test_the_line_for_the_shell_is_one_that_a_shell_can_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = tmp_path / "it's mine"
    async with embedded(SandboxSettings(kubeconfig=kubeconfig), tmp_path):
        assert kubeconfig.is_file()
    assert capsys.readouterr().out == f"export KUBECONFIG='{tmp_path}/it'\"'\"'s mine'\n"


async def test_a_kubeconfig_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(StartRefused, match="choose another place with --sandbox-kubeconfig"):
        async with embedded(SandboxSettings(kubeconfig=tmp_path / "directory"), tmp_path):
            pass
    assert list(tmp_path.iterdir()) == [tmp_path / "directory"]

"""The sandbox that `start --sandbox` runs in the same process. The command `sandbox`: tests/cli/test_sandbox.py.

Level: pure."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hookrunner.embedded import serve_sandbox
from hookrunner.errors import BadConfig, StartRefused
from hookrunner.settings import SandboxSettings
from tests.sandboxes import read_access


async def test_the_line_for_the_shell_is_one_that_a_shell_can_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = tmp_path / "it's mine"
    async with serve_sandbox(SandboxSettings(kubeconfig=kubeconfig), tmp_path):
        assert kubeconfig.is_file()
    assert capsys.readouterr().out == f"export KUBECONFIG='{tmp_path}/it'\"'\"'s mine'\n"


async def test_a_second_sandbox_leaves_the_kubeconfig_of_one_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual, tmp_path = tmp_path / "t" / "sandbox.kubeconfig", tmp_path / "t"
    async with serve_sandbox(SandboxSettings(), tmp_path) as first:
        async with serve_sandbox(SandboxSettings(), tmp_path) as second:
            own = tmp_path / f"sandbox-{urlsplit(second.url).port}.kubeconfig"
            assert (read_access(usual).url, read_access(own).url) == (first.url, second.url)
            assert own.stat().st_mode & 0o777 == 0o600
        assert (read_access(usual).url, own.exists()) == (first.url, False)
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [f"export KUBECONFIG={usual}", f"export KUBECONFIG={own}"]
    assert f"{usual} leads to another sandbox that runs; the kubeconfig of this one is {own}\n" in printed.err


@pytest.mark.parametrize("text", ["", "- 1", "a: }", "clusters: [{cluster: {server: 'http://[::1'}}]", None])
async def test_a_kubeconfig_that_leads_nowhere_is_replaced(tmp_path: Path, text: str | None) -> None:
    usual, tmp_path = tmp_path / "t" / "sandbox.kubeconfig", tmp_path / "t"
    async with serve_sandbox(SandboxSettings(), tmp_path):
        pass
    if text is not None:
        usual.write_text(text)
    async with serve_sandbox(SandboxSettings(), tmp_path) as second:
        assert read_access(usual).url == second.url


async def test_a_kubeconfig_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(StartRefused, match="choose another place with --sandbox-kubeconfig"):
        async with serve_sandbox(SandboxSettings(kubeconfig=tmp_path / "directory"), tmp_path):
            pass
    assert list(tmp_path.iterdir()) == [tmp_path / "directory"]


async def test_a_kubeconfig_is_not_written_where_a_link_leads(tmp_path: Path) -> None:
    """Others may have put one into a directory that is theirs, too."""
    other, config = tmp_path / "other", tmp_path / "config"
    other.write_text("precious")
    config.symlink_to(other)
    async with serve_sandbox(SandboxSettings(kubeconfig=config), tmp_path):
        assert (other.read_text(), config.is_symlink(), config.stat().st_mode & 0o777) == ("precious", False, 0o600)
    assert sorted(tmp_path.iterdir()) == [config, other]


async def test_a_bad_seed_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "seed.yaml").write_text("a: 1")
    with pytest.raises(BadConfig, match=r"seed\.yaml: a document is no Kubernetes object"):
        async with serve_sandbox(SandboxSettings(seed=(tmp_path / "seed.yaml",)), tmp_path):
            pass

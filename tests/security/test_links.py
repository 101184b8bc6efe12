"""Links to devices, pipes, themselves and secrets, in every directory that is read: nothing hangs, nothing is shown.

Level: sandbox."""

import asyncio
import os
from pathlib import Path

import pytest

from hookrunner import safe_files
from hookrunner.certificates.provided import LatestMaterial, from_files
from kubetypes.bounds import DOCUMENT
from tests import launcher
from tests.examples import is_night
from tests.fakes.command_line import Command
from tests.security.attacked import attacked
from tests.security.stalls import watched
from tests.tables import each

FILES = (
    "values.yaml", "module.yaml", "Chart.yaml", "openapi/values.yaml", "openapi/config-values.yaml", "crds/a.yaml",
    "templates/a.yaml", "charts/a.tgz", ".helmignore", "files/a", "enabled", "hooks/a.sh", "hooks/a.go", "a_test.yaml",
    "tests/a_test.yaml", "../values.yaml",
)  # fmt: skip
CERTIFICATES = ("tls.crt", "tls.key", "ca.crt")
TOOLS = ("hook lint h", "hook test h", "hook lint h/a.sh", "hook run h/a.sh", "hook config h/a.sh")
TARGETS = ("/dev/zero", "pipe", "itself", "nowhere", "/proc/self/environ", "/proc/self/mem", "/", "..")
SECRET = "PATH="
"""Stands in every environment."""


def link(path: Path, target: str) -> None:
    """Put one there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if target == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path.name if target == "itself" else target)


def make_module(directory: Path) -> Path:
    """One that is right, with a test case; in a directory of modules of its own."""
    (directory / "templates").mkdir(parents=True)
    (directory / "tests").mkdir()
    (directory / "Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 1.0.0\n")
    (directory / "values.yaml").write_text("a: {}\naEnabled: true\n")
    (directory / "templates/b.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    (directory / "tests/b.test.yaml").write_text("[{name: a case, expect: {objects: [{kind: ConfigMap}]}}]\n")
    return directory


def rendered(file: str, modules: list[Path]) -> list[Path]:
    """All at night. By day one of the eight in turns: each starts a process for the templates."""
    return modules if is_night() else modules[FILES.index(file) % 8 :: 8]


@pytest.mark.slow
@pytest.mark.usefixtures("forking")
@pytest.mark.parametrize("file", FILES)
def test_no_link_in_a_module_stops_a_command_or_shows_what_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command, file: str
) -> None:
    monkeypatch.chdir(tmp_path)

    def ask(*words: str | Path) -> str:
        with watched():
            ended = command("module", *map(str, words))
        assert ended.code in (0, 1, 2), ended
        assert [text for text in (SECRET, "worker died") if text in ended.out + ended.err] == []
        assert "Traceback" not in ended.err
        return ended.out

    modules = [make_module(Path(f"m{number}", "001-a")) for number in range(len(TARGETS))]
    for module, target in zip(modules, TARGETS, strict=True):
        link(module / file, target)
    for module in modules:
        ask("list", "--modules-dir", module.parent)
    ask("lint", *modules)
    cases = ask("test", *modules)
    assert [module for module in modules if f"{module}/tests/b.test.yaml" not in cases] == []
    for module in rendered(file, modules):
        ask("render", "a", "--modules-dir", module.parent)


@each("target", TARGETS)
@pytest.mark.parametrize("words", TOOLS)
def test_no_link_among_hooks_stops_a_tool_or_shows_what_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command, words: str, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.sh", "a.go", "a.py", "a_test.yaml", "lib/a.sh", "lib/a.go"):
        link(tmp_path / "h" / name, target)
    with watched():
        ended = command(*words.split())
    assert ended.code in (0, 1, 2), ended
    assert SECRET not in ended.out + ended.err
    assert "Traceback" not in ended.err


@pytest.mark.usefixtures("launcher")
async def test_the_program_runs_beside_links_of_all_kinds_among_its_hooks(tmp_path: Path) -> None:
    for number, target in enumerate(set(TARGETS) - {"itself"}):
        for name in (f"{number}.txt", f".{number}/a", f"lib/{number}", f"{number}.go"):
            link(tmp_path / "hooks" / name, target)
    async with attacked(tmp_path) as target_:
        assert target_.program.get("/readyz")[0] == 200
        assert SECRET not in str(target_.program.logs())


@pytest.mark.usefixtures("launcher")
def test_a_link_to_itself_among_hooks_refuses_the_start(tmp_path: Path) -> None:
    link(tmp_path / "h" / "a.txt", "itself")
    words = ["start", "--sandbox", "--listen-port=0", f"--hooks-dir={tmp_path}/h", f"--tmp-dir={tmp_path}/tmp"]
    words.append(f"--debug-unix-socket={tmp_path}/socket")  # another program may be at the default place
    ended = launcher.run(words, cwd=tmp_path, env=os.environ)
    assert ended.returncode == 1
    assert f"cannot read '{tmp_path}/h/a.txt': Too many levels of symbolic links" in ended.stderr


@pytest.mark.parametrize("target", TARGETS)
async def test_reading_links_among_certificates_ends(tmp_path: Path, target: str) -> None:
    for name in CERTIFICATES:
        link(tmp_path / name, target)
    latest = LatestMaterial("certificates")
    with watched():
        following = asyncio.create_task(anext(from_files(latest, *(tmp_path / name for name in CERTIFICATES))))
        while not latest.problem:  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0.02)
    following.cancel()
    assert SECRET not in latest.problem


@pytest.mark.slow
def test_files_larger_than_any_document_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    os.truncate(tmp_path / "a", 1 << 40)
    with pytest.raises(OSError, match="File too large"):
        safe_files.read(tmp_path / "a")
    os.truncate(tmp_path / "a", DOCUMENT.size)
    assert len(safe_files.read(tmp_path / "a")) == DOCUMENT.size

"""`python -m tests.controlplane` and the session that shares it: one line, one cluster, and nothing left behind.

Level: control plane."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.cache import BedUnavailable
from tests.controlplane.session import CHECKOUT, READY, Session

pytestmark = pytest.mark.cluster


@pytest.fixture
def command(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`python -m tests.controlplane`, running but perhaps not yet ready."""
    arguments = ["--no-controllers", "--keep", str(tmp_path / "kept")]
    line = [sys.executable, "-m", "tests.controlplane", *arguments]
    with subprocess.Popen(line, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def output(process: subprocess.Popen[str]) -> Iterator[str]:
    """Return the lines of its standard output as they come."""
    assert process.stdout is not None
    return iter(process.stdout)


def programs(process: subprocess.Popen[str]) -> list[int]:
    """Return a pidfd for each program that the process has started, from whichever of its threads."""
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    pids = [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]
    return [os.pidfd_open(pid) for pid in pids]


def have_ended(pidfds: list[int]) -> bool:
    """Wait for each, up to a minute; close them."""
    ended = [bool(select.select([pidfd], [], [], 60)[0]) for pidfd in pidfds]
    for pidfd in pidfds:
        os.close(pidfd)
    return all(ended)


@pytest.mark.nightly
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_one_line_and_stops_as_asked(command: subprocess.Popen[str], signum: int) -> None:
    lines = output(command)
    kubeconfig = next(lines).removeprefix(READY).strip()
    assert Path(kubeconfig).stat().st_mode & 0o777 == 0o600
    started = programs(command)
    command.send_signal(signum)
    assert (list(lines), command.wait(60)) == ([], 0)
    assert len(started) == 2
    assert have_ended(started)


def test_killing_it_kills_its_programs(command: subprocess.Popen[str]) -> None:
    next(output(command))
    started = programs(command)
    command.kill()
    assert len(started) == 2
    assert have_ended(started)


@pytest.mark.nightly
def test_the_death_of_a_program_ends_it_with_the_reason(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "tests.controlplane", "--no-controllers", "--keep", str(tmp_path)]
    with subprocess.Popen(line, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        next(output(process))
        etcd = programs(process)[0]
        signal.pidfd_send_signal(etcd, signal.SIGKILL)
        os.close(etcd)
        assert "error: etcd ended by itself" in process.communicate()[1]
        assert process.returncode == 1


def pidfd_of_cluster(session: Session) -> int:
    return os.pidfd_open(int(Path(session.directory, "pid").read_text()))


def test_a_session_starts_one_cluster_and_ends_it(tmp_path: Path) -> None:
    session = Session(str(tmp_path / "met"), os.getpid(), os.devnull)
    kubeconfig = session.kubeconfig()
    assert session.kubeconfig() == kubeconfig
    session.end()
    assert not kubeconfig.exists()
    assert not Path(session.directory).exists()


def test_the_death_of_a_sessions_owner_ends_its_cluster(tmp_path: Path) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as owner:
        session = Session(str(tmp_path), owner.pid, os.devnull)
        session.kubeconfig()
        running = pidfd_of_cluster(session)
        owner.kill()
    assert have_ended([running])


def test_without_a_cluster_every_waiting_test_gets_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", "/nowhere")
    terminal = tmp_path / "terminal"
    session = Session(str(tmp_path), os.getpid(), str(terminal))
    for _ in range(2):
        with pytest.raises(BedUnavailable, match="KUBEBUILDER_ASSETS=/nowhere has no etcd"):
            session.kubeconfig()
    assert terminal.read_text().count("KUBEBUILDER_ASSETS=/nowhere") == 1


RUN = """
import os
from pathlib import Path

def test_cluster(cluster, worker_id):
    Path(os.environ["SEEN"], worker_id).write_text(str(cluster.kubeconfig))
"""


@pytest.mark.nightly
@pytest.mark.slow
def test_the_workers_of_a_run_share_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "test_run.py").write_text(RUN)
    seen = tmp_path / "seen"
    seen.mkdir()
    plugins = ["-p", "tests.controlplane.fixtures", "-p", "no:cacheprovider"]
    run = [sys.executable, "-m", "pytest", "-n2", "--dist=each", "-c", os.devnull, *plugins, str(tmp_path)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "HOOKRUNNER"))}
    done = subprocess.run(run, cwd=CHECKOUT, env=inherited | {"SEEN": str(seen)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    kubeconfigs = {worker.name: worker.read_text() for worker in seen.iterdir()}
    assert sorted(kubeconfigs) == ["gw0", "gw1"]
    assert len(set(kubeconfigs.values())) == 1
    assert not Path(kubeconfigs["gw0"]).exists()

"""Differences from the predecessor that no room's own tests are about; docs/differences.md names each."""

import datetime
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from hookrunner import cron
from hookrunner.engine import dispatch
from hookrunner.errors import BadHookConfig
from hookrunner.hooks.config import versions
from hookrunner.model.bindings import Hook, HookConfig, Kubernetes
from hookrunner.settings import load
from hookrunner.web.parameters import log_level

Start = Callable[..., subprocess.Popen[bytes]]
HANGS = "trap '' TERM; echo begun >> ../begun; sleep 100"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts hookrunner with one onStartup hook of this script, and with a cluster that is not there."""
    running = []

    def started(script: str, *flags: str) -> subprocess.Popen[bytes]:
        hook = tmp_path / "hooks" / "h.sh"
        hook.parent.mkdir()
        hook.write_text(
            f"#!/bin/bash\n[ \"$1\" = --config ] && exec echo '{{configVersion: v1, onStartup: 1}}'\n{script}\n"
        )
        hook.chmod(0o755)
        cluster = {"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "current-context": "c"}
        context = {
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
        }
        (tmp_path / "kubeconfig").write_bytes(orjson.dumps(cluster | context))
        places = [f"--hooks-dir={hook.parent}", f"--tmp-dir={tmp_path}/tmp", f"--debug-unix-socket={tmp_path}/s"]
        more = [f"--kube-config={tmp_path}/kubeconfig", "--listen-address=127.0.0.1", "--listen-port=0", *flags]
        with (tmp_path / "log").open("wb") as log:
            command = [sys.executable, "-m", "hookrunner", "start", *places, *more]
            running.append(subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ)))
        _wait_for(tmp_path / "begun", "begun")
        return running[-1]

    yield started
    for process in running:
        process.kill()
        process.wait()


def _wait_for(file: Path, text: str) -> None:
    deadline = time.monotonic() + 30
    while not (file.exists() and text in file.read_text()):
        assert time.monotonic() < deadline, f"'{text}' does not come in {file}: {(file.parent / 'log').read_text()}"
        time.sleep(0.01)


def test_a_stop_in_which_every_hook_ends_by_itself_is_0(start: Start) -> None:
    process = start("echo begun >> ../begun; sleep 0.3", "--shutdown-grace=30s")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


def test_a_stop_in_which_a_hook_had_to_be_ended_is_1(start: Start, tmp_path: Path) -> None:
    """SIGTERM is enough for this one; its child is ended with it."""
    process = start("sleep 100 & echo $! > ../child; echo begun >> ../begun; wait", "--shutdown-grace=0s")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 1
    assert not Path("/proc", (tmp_path / "child").read_text().strip(), "cwd").exists()


def test_a_second_signal_skips_the_grace(start: Start, tmp_path: Path) -> None:
    process = start(HANGS, "--shutdown-grace=100s")
    process.send_signal(signal.SIGINT)
    _wait_for(tmp_path / "log", "stopping")
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 1


def test_a_startup_run_is_labelled_by_what_it_is() -> None:
    (run,) = dispatch.startup([Hook("h", Path("/h"), HookConfig("v1", on_startup=1.0))])
    assert dispatch.STARTUP == getattr(run, "binding", None) == "onStartup"


def test_a_binding_that_skips_its_synchronization_is_not_told_of_it_in_a_group() -> None:
    """§17.7: there the head alone decided."""
    silent = Kubernetes("two", "Secret", group="g", run_on_synchronization=False)
    config = HookConfig("v1", kubernetes=(Kubernetes("one", "Pod", group="g"), silent))
    one, two = dispatch.synchronizations(Hook("h", Path("/h"), config), 0.0)
    assert one.absorbs(two)
    merged = one.merged([two])
    assert ([context.binding for context in merged.contexts], merged.unlocks) == (["one"], (0, 1))


def test_requests_are_not_limited_by_default() -> None:
    kube = load({}, "hookrunner").kube
    assert (kube.qps, kube.patch_qps) == (0, 0)


def test_a_negative_burst_is_refused() -> None:
    with pytest.raises(BadHookConfig, match="executionBurst must be at least 0"):
        versions.parse("h", b"{configVersion: v1, settings: {executionBurst: -1}, onStartup: 1}")


def test_trace_is_limited_as_debug_is() -> None:
    assert dict(log_level("info").brief) == {"debug": 1800.0, "trace": 1800.0}


def test_a_day_that_is_more_than_five_years_away_comes() -> None:
    """A 29 February that is a Sunday."""
    utc = datetime.UTC
    due = cron.parse("TZ=UTC 0 0 29 2 */7").next_after(datetime.datetime(2026, 1, 1, tzinfo=utc).timestamp())
    assert due == datetime.datetime(2032, 2, 29, tzinfo=utc).timestamp()

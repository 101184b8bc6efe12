"""What three or more rooms use: the real control plane and the fault proxy. See `tests/controlplane/README.md`."""

import asyncio
import gc
import os
import signal
import subprocess
from collections.abc import Generator, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from tests.controlplane.processes import GARBAGE
from tests.examples import ALL
from tests.fakes.transports import hang_up_at_the_end

ROOT = Path(__file__).parents[1]

# How long an example takes says how busy the machine is, and nothing of what is tested. `tests/examples.py` takes the
# numbers of examples too. With CI=true they are the same ones in every run, at night always new ones.
settings.register_profile("hookrunner", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=30)
settings.register_profile("quick", settings.get_profile("hookrunner"), max_examples=10)
settings.register_profile(
    "nightly", settings.get_profile("hookrunner"), max_examples=ALL, derandomize=False, print_blob=True
)
settings.load_profile("hookrunner")

# looptime asks for the event loop in synchronous tests too; without this line Python would make one and never close it.
asyncio.set_event_loop(None)
hang_up_at_the_end()

pytest_plugins = (
    "tests.compiled_once",
    "tests.controlplane.fixtures",
    "tests.faults.fixtures",
    "tests.selection",
    "tests.time_bounds",
)


def pytest_configure() -> None:
    """Let programs in Go collect garbage as rarely as the control plane's do: to start kubectl and to apply an object
    takes 0.12 instead of 0.15 s of CPU, and the suite does so some hundred times.

    Take the terminal's signals as in the foreground. A shell starts background jobs (`.ci/run &`) with SIGINT and
    SIGQUIT ignored, children inherit that, and tests that interrupt a program would never see its end."""
    os.environ.setdefault("GOGC", GARBAGE["GOGC"])
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN:
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without collecting garbage, and keep it from looking at them: nine thousand cases and our modules
    are no garbage, and to go through them again and again took a quarter of a worker's time. The tests' own garbage is
    looked for more rarely than usual, which saves another twentieth."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000)
        gc.enable()


@pytest.hookimpl
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test as pytest does, but send the main process no report of a setup or a teardown that passed: they are two
    thirds of all reports, and only `--durations` shows them."""
    if not hasattr(item.config, "workerinput") or item.config.getoption("durations"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork lookups of the cluster and render workers that this test starts, instead of executing them."""
    from tests.forked_children import ForkingPopen  # imports the `kubernetes` package

    monkeypatch.setattr(subprocess, "Popen", ForkingPopen)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two more than there are processors, because stories wait for the program; four with a real API server, for which
    they wait longer. A worker costs seven seconds of CPU: it collects all tests, and imports the program twice."""
    return (os.cpu_count() or 1) + (4 if config.getoption("cluster") else 2)


LONG = (
    "tests/flows/addons/test_addon_lives.py",
    "tests/test_shipped_addons.py",
    "tests/flows/addons/test_addon_story.py",
    "tests/flows/test_conversion.py",
    "tests/contract/test_resident_references.py",
    "tests/flows/addons/test_addon_causes.py",
    "tests/contract/test_carriers.py",
    "tests/test_addon_rights.py",
    "tests/instances/lives/test_killed_instances.py",
    "tests/flows/modules/test_webhooks.py",
    "tests/flows/taken/test_taken_addons.py",
    "tests/test_chart_releases.py",
    "tests/flows/test_webhook_examples.py",
    "tests/releases/test_releases_killed.py",
    "tests/flows/modules/test_module_lives.py",
    "tests/flows/test_answers.py",
    "tests/flows/addons/test_protection.py",
    "tests/flows/test_admission.py",
    "tests/kubesandbox/contract/test_kubectl.py",
    "tests/flows/test_certificates.py",
    "tests/instances/lives/test_killed_replacements.py",
    "tests/instances/lives/test_awkward_deletions.py",
    "tests/flows/test_cluster_away.py",
    "tests/flows/addons/test_air_gap.py",
    "tests/kube/test_credentials.py",
    "tests/process/test_fork_traps.py",
    "tests/flows/test_cloud_replicas.py",
    "tests/flows/modules/test_metrics_of_hooks.py",
    "tests/kube/test_real_outages.py",
)
"""Files that take longest in `.ci/run`, from 261 s to 30 s: late ones would keep a worker busy after the others."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the files of stories evenly among the others: while a story waits, other tests compute. Alone at the
    end of a run, stories would leave the processors idle for minutes, so there are none among the last tests of a
    worker, of which others can take some. The longest files are in the first part of what each worker gets."""
    files = [list(group) for _, group in groupby(items, key=lambda item: item.path)]
    longest = sorted((file for file in files if _name(file) in LONG), key=lambda file: LONG.index(_name(file)))
    others = [file for file in files if _name(file) not in LONG]
    placed = [*_dealt(longest), *_spread(others, are_stories=True), *_spread(others, are_stories=False)]
    ordered = [item for _, file in sorted(placed, key=lambda entry: entry[0]) for item in file]
    assert len(ordered) == len(items), "a test would be left out"
    items[:] = ordered


def _name(file: list[pytest.Item]) -> str:
    return file[0].path.relative_to(ROOT).as_posix()


def _spread(files: Sequence[list[pytest.Item]], are_stories: bool) -> Iterator[tuple[float, list[pytest.Item]]]:
    """The files of one kind, each with its place between 0 and 1: all over it."""
    kind = [file for file in files if bool(file[0].get_closest_marker("story")) is are_stories]
    total, before = sum(map(len, kind)), 0
    for file in kind:
        place = (before + len(file) / 2) / total
        yield _early(place) if are_stories else place, file
        before += len(file)


def _early(place: float) -> float:
    """The same place in the first nine tenths of the tests that a worker gets."""
    worker, inside = divmod(place * (workers := _workers()), 1.0)
    return (worker + 0.9 * inside) / workers


def _workers() -> int:
    return int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


def _dealt(files: Sequence[list[pytest.Item]]) -> Iterator[tuple[float, list[pytest.Item]]]:
    """Files with their places: to and fro between the workers, so that each gets about as much. Most of them wait, so
    other tests come between them, and the processors are not idle; but all are in the first half of the tests that a
    worker gets, as others take from a worker what is at its end."""
    workers = _workers()
    rounds = -(-len(files) // workers)
    for index, file in enumerate(files):
        turn, position = divmod(index, workers)
        share = workers - 1 - position if turn % 2 else position
        yield (share + turn / rounds / 2) / workers, file

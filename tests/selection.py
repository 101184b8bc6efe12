"""Which tests need what, as their fixtures say, and which of them this run needs.

| marker | a test that | comes from |
|---|---|---|
| `cluster` | asks a Kubernetes control plane | the fixtures of `tests/controlplane` |
| `image` | runs the image that is built from the Dockerfile | the fixture `built_image` |
| `story` | starts hookrunner as a process | the fixture `launcher` |
| `live` | compares the sandbox with Kubernetes itself | `cluster`, in the sandbox's own tests |

`make quick` runs what has none of them. Without `--cluster`, pytest leaves out what needs a control plane, without
`--image` what needs the image, and its last lines report how many tests that were. With `--cluster`, a `live` test runs
if its inputs (`tests/live.py`) are not those of its last success, with `--live=always` (`make nightly`), or never
(`--live=never`).
"""

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import pytest

from tests import live
from tests.launcher import share
from tests.levels import exceeds_level

CLUSTERS = {"cluster", "own_cluster", "audited_cluster", "whole_cluster"}
LAUNCHER = "launcher"
IMAGE = "built_image"
ON_REQUEST = {"cluster": "a Kubernetes control plane", "image": "the image"}
"""Markers of tests that are run by an option of the same name, and what they need."""
PROGRAMS = {"hookrunner", "kubesandbox", "tests.security.hanging", "benchmarks"}

LEFT_OUT = pytest.StashKey[dict[str, int]]()

_running: list[pytest.Item] = []


@pytest.fixture(scope="session")
def launcher() -> tuple[str, ...]:
    """The words that start hookrunner. A test that starts it, by whatever helper, asks for this fixture."""
    return (sys.executable, "-m", "hookrunner")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cluster",
        action="store_true",
        help="also tests that need a Kubernetes control plane, which their first run builds (5 to 10 minutes)",
    )
    parser.addoption(
        "--image",
        action="store_true",
        help="also tests that run the image, which their first run builds (a minute; as root, with Debian's buildah)",
    )
    parser.addoption(
        "--live",
        choices=("changed", "always", "never", "record"),
        default="changed",
        help="tests that compare the sandbox with Kubernetes: where inputs have changed (default), always, never;"
        " record: always, and keep the answers",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = {}


def pytest_collection_finish() -> None:
    """Not before: the hook hears of each import, too, which cost a worker 0.4 s of CPU while it collected."""
    sys.addaudithook(_refuse_unmarked)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Before workers start: one server of forked programs for all of them. Each of its own cost 1.5 s of CPU."""
    share()


def pytest_report_header(config: pytest.Config) -> str:
    if not config.getoption("cluster"):
        return "tests that need a control plane: left out (--cluster runs them)"
    changed = ", ".join(live.changed()) or "none"
    return f"live tests: {config.getoption('live')}; rooms with changed inputs: {changed}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test; deselect those that need a control plane unless one is asked for, and live ones whose answers are
    known. First of all: `-m` looks at the markers."""
    marked = {item: _markers(item) for item in items}
    for item, markers in marked.items():
        for marker in sorted(markers):
            item.add_marker(marker)
        if exceeds_level(getattr(getattr(item, "module", None), "__doc__", ""), markers):
            more = " and ".join(sorted(markers))
            raise pytest.UsageError(f"{item.nodeid} needs more ({more}) than the level at the top of its file")
    needed = _needed(config.getoption("live"))
    known = [item for item in items if "live" in marked[item] and live.room_of(item.path) not in needed]
    _deselect(config, items, known)
    for marker in ON_REQUEST:
        if not config.getoption(marker):
            left_out = [item for item in items if marker in marked[item]]
            config.stash[LEFT_OUT][marker] = _deselect(config, items, left_out)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Give the numbers of tests left out to the process that prints: each worker has collected the same ones."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", {})


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last lines: what was left out, unless `-m` speaks of it."""
    if hasattr(config, "workerinput"):
        return
    for marker, count in config.stash[LEFT_OUT].items():
        if count and marker not in config.getoption("markexpr"):
            print(f"{count:,} tests that need {ON_REQUEST[marker]} were left out; with them: pytest --{marker}")


def _deselect(config: pytest.Config, items: list[pytest.Item], unneeded: Sequence[pytest.Item]) -> int:
    """How many were deselected."""
    if unneeded:
        config.hook.pytest_deselected(items=unneeded)
        without = {*unneeded}
        items[:] = [item for item in items if item not in without]
    return len(unneeded)


def _markers(item: pytest.Item) -> set[str]:
    fixtures = set(getattr(item, "fixturenames", ()))
    markers = {marker.name for marker in item.iter_markers()} & {"cluster", "image", "story"}
    if fixtures & CLUSTERS:
        markers.add("cluster")
    if IMAGE in fixtures:
        markers.add("image")
    if LAUNCHER in fixtures:
        markers.add("story")
    if "cluster" in markers and live.room_of(item.path):
        markers.add("live")
    return markers


def _needed(mode: str) -> Sequence[str]:
    if mode == "changed":
        return live.changed()
    return () if mode == "never" else tuple(live.ROOMS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _running.append(item)
    try:
        return (yield)
    finally:
        _running.pop()


def _refuse_unmarked(event: str, arguments: tuple[Any, ...]) -> None:
    """Fail a test that starts what its markers do not say, so that `make quick` never does."""
    if event not in ("subprocess.Popen", "os.posix_spawn") or not _running:
        return
    words = [os.fsdecode(word) for word in arguments[1]]
    modules = {after for before, after in pairwise(words) if before == "-m"}
    is_program = modules & PROGRAMS or PurePath(words[0]).name == "hookrunner" or "cli.main import" in "".join(words)
    item = _running[-1]
    if is_program and not item.get_closest_marker("story"):
        raise AssertionError(f"{item.nodeid} starts hookrunner: add the fixture `{LAUNCHER}` to it")
    if "tests.controlplane" in modules and not item.get_closest_marker("cluster"):
        raise AssertionError(f"{item.nodeid} starts a control plane: mark it `cluster`")

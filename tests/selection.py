"""Which tests need what, as their fixtures say, and which of them this run needs.

| marker | a test that | comes from |
|---|---|---|
| `cluster` | asks a Kubernetes control plane | the fixtures of `tests/controlplane` |
| `story` | starts hookrunner as a process | the fixture `launcher` |
| `live` | compares the sandbox with Kubernetes itself | `cluster`, in the sandbox's own tests |

`make quick` runs what has none of them. A `live` test runs if its inputs (`tests/live.py`) are not those of its last
success, with `--live=always` (`make nightly`), or never (`--live=never`).
"""

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import pytest

from tests import live

CLUSTERS = {"cluster", "own_cluster", "whole_cluster"}
LAUNCHER = "launcher"
PROGRAMS = {"hookrunner", "kubesandbox", "tests.security.hanging", "benchmarks"}

_running: list[pytest.Item] = []


@pytest.fixture(scope="session")
def launcher() -> tuple[str, ...]:
    """The words that start hookrunner. A test that starts it, by whatever helper, asks for this fixture."""
    return (sys.executable, "-m", "hookrunner")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--live",
        choices=("changed", "always", "never"),
        default="changed",
        help="tests that compare the sandbox with Kubernetes: where inputs have changed (default), always, never",
    )


def pytest_configure(config: pytest.Config) -> None:
    sys.addaudithook(_refuse_unmarked)


def pytest_report_header(config: pytest.Config) -> str:
    changed = ", ".join(live.changed()) or "none"
    return f"live tests: {config.getoption('live')}; rooms with changed inputs: {changed}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test, and deselect live ones whose answers are known. First of all: `-m` looks at the markers."""
    for item in items:
        for marker in sorted(_markers(item)):
            item.add_marker(marker)
    needed = _needed(config.getoption("live"))
    unneeded = [item for item in items if item.get_closest_marker("live") and live.room_of(item.path) not in needed]
    if unneeded:
        config.hook.pytest_deselected(items=unneeded)
        gone = set(map(id, unneeded))
        items[:] = [item for item in items if id(item) not in gone]


def _markers(item: pytest.Item) -> set[str]:
    fixtures = set(getattr(item, "fixturenames", ()))
    markers = {marker.name for marker in item.iter_markers()} & {"cluster", "story"}
    if fixtures & CLUSTERS:
        markers.add("cluster")
    if LAUNCHER in fixtures:
        markers.add("story")
    if "cluster" in markers and live.room_of(item.path):
        markers.add("live")
    return markers


def _needed(mode: str) -> Sequence[str]:
    if mode == "changed":
        return live.changed()
    return tuple(live.ROOMS) if mode == "always" else ()


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

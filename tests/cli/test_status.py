"""`hookrunner status`: one screen of a program's state, and its exit codes. Level: pure."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from hookrunner.cli.status import Screen
from hookrunner.model.needs import ProgramFacts, ProgramStatus, Urgency, UserNeed
from tests.fakes.command_line import Command, Endpoint

CLUSTER = ProgramFacts("1.2.3", 1000.0, 200, 1, 3, 51, 1, 4, 4, "other", leads=False)
HOOK = UserNeed(
    Urgency.FAILING, "hooks", "a.sh", "has failed 12 times for tick: exit status 1", "hookrunner queue list"
)
HOOK = replace(HOOK, failures=12, again=4605.0, queue="main", behind=3)
MODULES = [
    UserNeed(Urgency.FAILING, "modules", f"m{number}", "templates/a.yaml:1: no way", "hookrunner module list")
    for number in range(50)
]
REPLICAS = UserNeed(Urgency.ADVICE, "replicas", "", "the Deployment has 3 replicas", "run one replica")
WRONG = ProgramStatus("not ready", False, "startup: 1 tasks of the start are not done", CLUSTER, [HOOK, *MODULES])


def shown(status: ProgramStatus, width: int = 80, height: int | None = 24) -> list[str]:
    return Screen(width, height).lines(json(status), 4600.0)


def json(status: ProgramStatus) -> Any:
    return orjson.loads(orjson.dumps(asdict(status)))


@pytest.fixture(autouse=True)
def _no_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookrunner.cli.status.style", lambda text, *_, **__: text)


def test_nothing_wrong_takes_a_few_lines() -> None:
    assert shown(ProgramStatus("ready", True, "", ProgramFacts("1.2.3", 1000.0, 1))) == [
        "ready, nothing needs you",
        "",
        "hookrunner 1.2.3, up 1h; 1 hook; queues are empty",
    ]


def test_what_needs_the_user_is_shown_with_what_to_do_and_the_rest_counted() -> None:
    assert shown(WRONG) == [
        "not ready: startup: 1 tasks of the start are not done",
        "",
        "failing   hook a.sh (queue main, 3 wait behind it, next try in 5s): has failed",
        "          12 times for tick: exit status 1",
        "          next: hookrunner queue list",
        "failing   module m0: templates/a.yaml:1: no way",
        "          module m1: templates/a.yaml:1: no way",
        "          module m2: templates/a.yaml:1: no way",
        "          module m3: templates/a.yaml:1: no way",
        "          and 46 more: hookrunner module list",
        "",
        "hookrunner 1.2.3, up 1h; 200 hooks; 3 tasks in 1 queue; 51 modules on, 1 ready;",
        "4 instances, 4 healthy; leader of the cloud: other",
    ]


def every_kind() -> ProgramStatus:
    """Each of sixteen groups has 50 needs with texts that fill a screen."""
    kinds = [
        replace(need, kind=kind, message="no " * 900) for kind in ("hooks", "modules", "nodes") for need in MODULES
    ]
    needs = [replace(need, urgency=urgency) for urgency in Urgency for need in kinds]
    return replace(WRONG, reason="no " * 900, needs=[*needs, *([REPLICAS] * 9)])


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 16), (60, 14), (200, 60)])
def test_a_screen_is_enough_for_everything(width: int, height: int) -> None:
    lines = shown(every_kind(), width, height)
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("not ready: no no")


def test_groups_without_room_are_counted() -> None:
    lines = shown(every_kind(), 80, 20)
    assert lines[-4] == "and 359 more: hookrunner status --all"


def test_the_most_urgent_texts_get_the_lines_that_are_left() -> None:
    long = replace(HOOK, message="word " * 60)
    lines = shown(
        ProgramStatus("ready", True, "", ProgramFacts(), [long, replace(REPLICAS, message="word " * 60)]), height=13
    )
    assert [line for line in lines if line.endswith("…")] == [lines[5], lines[7]]


def test_all_shows_everything_in_full() -> None:
    lines = shown(replace(WRONG, needs=[*MODULES, replace(REPLICAS, message="word " * 200)]), height=None)
    assert sum("module m" in line for line in lines) == 50
    assert not any("…" in line or " more" in line for line in lines)


def test_texts_of_hooks_cannot_change_the_terminal() -> None:
    [line] = [line for line in shown(replace(WRONG, needs=[replace(HOOK, message="\x1b[2J!")])) if "[2J" in line]
    assert "\\x1b[2J!" in line


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (ProgramStatus("ready", True), 0),
        (ProgramStatus("ready", True, needs=[REPLICAS]), 3),
        (ProgramStatus("not ready", False, "startup"), 3),
        (ProgramStatus("stopping", True), 3),
    ],
)
def test_the_exit_code_says_whether_something_needs_the_user(
    status: ProgramStatus, code: int, endpoint: Endpoint, command: Command
) -> None:
    endpoint.answers["/status.json"] = orjson.dumps(json(status)).decode()
    at = f"--debug-unix-socket={endpoint.socket}"
    text, document = command("status", at), command("status", "-o", "json", at)
    assert (text.code, document.code) == (code, code)
    assert text.out.startswith(status.state)
    assert orjson.loads(document.out) == json(status)


def test_it_ends_with_1_where_nothing_runs(tmp_path: Path, command: Command) -> None:
    ended = command("status", f"--debug-unix-socket={tmp_path / 'none'}")
    assert (ended.code, ended.out) == (1, "")
    assert "no running hookrunner answers" in ended.err

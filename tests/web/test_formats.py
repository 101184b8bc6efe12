"""Queues and snapshots for the debug endpoint: exact JSON and exact text. Level: pure."""

from typing import Any

import orjson

from hookrunner.model.contexts import Entry
from hookrunner.model.resources import ObjectKey
from hookrunner.model.status import QueueDump, SnapshotDump
from hookrunner.web.formats import main_queue, queue_json, queue_text, queues_json, queues_text, snapshots_json
from tests.tables import each

BUSY = QueueDump(
    "main", "run first task", ((1, "HookRun:main:kubernetes:a.sh:pods"), (2, "HookRun:main:schedule:b.sh"))
)
IDLE = QueueDump("main")
SLOW = QueueDump("slow", "sleep after fail for 5s", ((1, "HookRun:slow:schedule:h.sh:every-min"),))
EMPTY, OTHER = QueueDump("a"), QueueDump("b")


def test_queue_json_has_name_status_and_tasks() -> None:
    assert queue_json(SLOW) == {
        "name": "slow",
        "tasksCount": 1,
        "status": "sleep after fail for 5s",
        "tasks": [{"index": 1, "description": "HookRun:slow:schedule:h.sh:every-min"}],
    }


def test_idle_queue_omits_empty_keys() -> None:
    assert queue_json(IDLE) == {"name": "main", "tasksCount": 0}


def test_missing_main_queue_is_reported_in_its_status() -> None:
    assert queue_json(main_queue([SLOW])) == {"name": "main", "tasksCount": 0, "status": "Queue is not created"}


def test_positions_are_right_aligned_in_two_columns() -> None:
    assert queue_text(QueueDump("main", "stop", ((9, "x"), (10, "y")))) == (
        "Queue 'main': length 2, status: 'stop'\n\n 9. x\n10. y\n"
    )


def test_queues_json_sums_up_all_queues() -> None:
    shown = queues_json([SLOW, EMPTY, BUSY], show_empty=True)
    assert [queue["name"] for queue in shown["active"]] == ["main", "slow"]
    assert shown["empty"] == [{"name": "a", "tasksCount": 0}]
    assert shown["summary"] == {
        "mainQueueTasks": 2,
        "otherQueues": {"active": 1, "empty": 1, "tasks": 1},
        "totalTasks": 3,
    }


@each(
    ("queues", "show_empty", "empty"),
    [
        ([IDLE, EMPTY], True, [{"name": "main", "tasksCount": 0}, {"name": "a", "tasksCount": 0}]),
        ([IDLE, EMPTY], False, None),
        ([IDLE], True, None),
        ([BUSY, SLOW], True, None),
    ],
)
def test_empty_queues_are_named_only_on_request(queues: list[QueueDump], show_empty: bool, empty: Any) -> None:
    assert queues_json(queues, show_empty).get("empty") == empty


@each(
    ("queues", "show_empty", "text"),
    [
        ([], False, "Summary:\n  No queues.\n"),
        ([IDLE], True, "Summary:\n- 'main' queue: empty.\n- no tasks to handle.\n"),
        (
            [IDLE, EMPTY],
            False,
            "Summary:\n- 'main' queue: empty.\n- 1 other queue (0 active, 1 empty): 0 tasks.\n- no tasks to handle.\n",
        ),
        (
            [SLOW, IDLE, OTHER, EMPTY],
            True,
            "Queue 'slow': length 1, status: 'sleep after fail for 5s'\n\n 1. HookRun:slow:schedule:h.sh:every-min\n"
            "\nEmpty queues (3):\n- main\n- a\n- b\n"
            "\nSummary:\n- 'main' queue: empty.\n- 3 other queues (1 active, 2 empty): 1 task.\n"
            "- total 1 task to handle.\n",
        ),
        (
            [SLOW, BUSY],
            False,
            "Queue 'main': length 2, status: 'run first task'\n\n 1. HookRun:main:kubernetes:a.sh:pods\n"
            " 2. HookRun:main:schedule:b.sh\n"
            "\nQueue 'slow': length 1, status: 'sleep after fail for 5s'\n\n 1. HookRun:slow:schedule:h.sh:every-min\n"
            "\nSummary:\n- 'main' queue: 2 tasks.\n- 1 other queue (1 active, 0 empty): 1 task.\n"
            "- total 3 tasks to handle.\n",
        ),
    ],
)
def test_queues_text_sums_up_all_queues(queues: list[QueueDump], show_empty: bool, text: str) -> None:
    assert queues_text(queues, show_empty) == text


def test_snapshot_shows_kept_objects_and_counts() -> None:
    key = ObjectKey("default", "Pod", "p")
    entries = [Entry(key, b'{"kind":"Pod"}', b"null"), Entry(key, None, b'"x"'), Entry(key, None, None)]
    shown = snapshots_json([SnapshotDump("pods", entries, {"sinceStart": {"count": 3}})])
    assert orjson.loads(orjson.dumps(shown)) == {
        "pods": {
            "snapshot": [{"object": {"kind": "Pod"}, "filterResult": None}, {"filterResult": "x"}, {}],
            "operations": {"sinceStart": {"count": 3}},
        }
    }

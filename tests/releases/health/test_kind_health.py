"""What a watch of one kind shows, and for how long that counts. Level: pure."""

from datetime import UTC, datetime
from typing import Any

from hookrunner.kube.informer import Fact, Informer
from hookrunner.model.bindings import Change
from hookrunner.model.events import ObjectSeen, RelistStarted, Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.health.kind_health import Clock, KindHealth
from hookrunner.releases.health.object_status import CURRENT, in_progress

KEY = ObjectKey("ns", "Widget", "w")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def seen(version: int, ready: str = "True", change: Change | None = None) -> ObjectSeen:
    conditions = [{"type": "Ready", "status": ready, "reason": "Starting"}]
    obj: Any = {
        "apiVersion": "x.io/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "status": {"conditions": conditions},
    }
    return ObjectSeen(change, KEY, obj, str(version))


def facts(*reports: Report) -> list[Fact]:
    return [*Informer([KEY]).facts(reports)]


def shown(*reports: Report, at: float = 0.0) -> KindHealth:
    health = KindHealth("Widget", opened=0.0)
    health.read(facts(*reports), Clock(at, NOW))
    return health


def status(health: KindHealth, now: float = 1.0) -> str | None:
    found = health.health("ns", "w", now)
    return found.status if found else None


LISTED = (RelistStarted(), seen(5), Synced("7"))


def test_nothing_is_known_before_the_list_is_complete() -> None:
    assert status(shown()) is None
    assert status(shown(*LISTED)) == "Current"
    assert status(shown(RelistStarted(), Synced("7"))) == "NotFound"


def test_kind_that_is_never_listed_becomes_unknown() -> None:
    assert (status(shown(), 74), status(shown(), 75)) == (None, "Unknown")


def test_kind_that_needs_help_is_unknown_at_once() -> None:
    health = shown(WatchLost("forbidden: widgets", brief=False))
    assert health.health("ns", "w", 1.0) is not None
    assert "forbidden: widgets" in str(health.health("ns", "w", 1.0))


def test_last_verdict_counts_for_a_while_after_the_connection_is_lost() -> None:
    health = shown(*LISTED)
    health.read(facts(WatchLost("refused", brief=True)), Clock(100, NOW))
    health.read(facts(WatchLost("refused again", brief=True)), Clock(150, NOW))
    assert (status(health, 174), status(health, 175)) == ("Current", "Unknown")
    health.read(facts(WatchRestored()), Clock(180, NOW))
    assert status(health, 1000) == "Current"


def test_deleted_object_is_not_found() -> None:
    health = shown(*LISTED)
    assert health.read(facts(seen(8, change=Change.DELETED)), Clock(1, NOW)) == {KEY}
    assert status(health) == "NotFound"


def test_event_that_is_older_than_a_read_is_ignored() -> None:
    health = shown(*LISTED)
    assert health.put(KEY, "20", in_progress("Starting", ""))
    assert health.read(facts(seen(10, change=Change.MODIFIED)), Clock(1, NOW)) == set()
    assert status(health) == "InProgress"
    assert health.read(facts(seen(21, change=Change.MODIFIED)), Clock(1, NOW)) == {KEY}
    assert status(health) == "Current"


def test_equal_health_is_no_change() -> None:
    health = shown(*LISTED)
    assert health.read(facts(seen(9, change=Change.MODIFIED)), Clock(1, NOW)) == set()
    assert not health.put(KEY, "9", CURRENT)

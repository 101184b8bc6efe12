"""Monitors: which changes become events of a binding, and when its snapshot may be used.

Not here: the watch itself (tests/kube), runs and queues (tests/engine).

Level: FakeCluster.
"""

import random

import orjson
import pytest

from hookrunner.model.bindings import Change, Kubernetes
from hookrunner.model.events import BindingId, ObjectChanged, Obstacle, WatchLost, WatchRestored
from tests.examples import several
from tests.fakes.cluster import namespace, settle, until
from tests.fakes.objects import config_map
from tests.sources.conftest import Watcher

CONFIGMAPS = Kubernetes("cms", "ConfigMap")
DATA = Kubernetes("cms", "ConfigMap", jq_filter=".data")


async def test_objects_of_the_first_list_are_no_events(watcher: Watcher) -> None:
    watcher.cluster.put(config_map("a"))
    monitor = await watcher.unlocked(CONFIGMAPS)
    assert await watcher.take_events() == []
    assert [entry.key.name for entry in monitor.snapshot.read()] == ["a"]


async def test_each_change_is_one_event_in_order(watcher: Watcher) -> None:
    await watcher.unlocked(CONFIGMAPS)
    watcher.cluster.put(config_map("a"))
    watcher.cluster.put(config_map("a", x="1"))
    watcher.cluster.delete(config_map("a"))
    assert await watcher.take_events() == [("Added", "a"), ("Modified", "a"), ("Deleted", "a")]


async def test_change_that_the_filter_hides_is_no_event(watcher: Watcher) -> None:
    await watcher.unlocked(DATA)
    obj = watcher.cluster.put(config_map("a", x="1"))
    watcher.cluster.put({**obj, "metadata": {**obj["metadata"], "labels": {"new": "label"}}})
    watcher.cluster.put(config_map("a", x="2"))
    assert await watcher.take_events() == [("Added", "a"), ("Modified", "a")]


async def test_snapshot_has_the_newest_object_also_where_the_filter_hides_the_change(watcher: Watcher) -> None:
    monitor = await watcher.unlocked(DATA)
    obj = watcher.cluster.put(config_map("a", x="1"))
    await settle()
    (before,) = monitor.snapshot.read()
    watcher.cluster.put({**obj, "metadata": {**obj["metadata"], "labels": {"new": "label"}}})
    await settle()
    (after,) = monitor.snapshot.read()
    assert before.filtered == after.filtered == b'{"x":"1"}'
    assert orjson.loads(after.obj or b"")["metadata"]["labels"] == {"new": "label"}


async def test_only_the_configured_changes_are_events(watcher: Watcher) -> None:
    await watcher.unlocked(Kubernetes("cms", "ConfigMap", changes=frozenset({Change.DELETED})))
    watcher.cluster.put(config_map("a"))
    watcher.cluster.delete(config_map("a"))
    assert await watcher.take_events() == [("Deleted", "a")]


async def test_changes_wait_for_the_synchronization_and_come_once(watcher: Watcher) -> None:
    monitor = await watcher.add(CONFIGMAPS)
    watcher.cluster.put(config_map("before"))
    await settle()
    assert [entry.key.name for entry in monitor.read_for_synchronization()] == ["before"]
    watcher.cluster.put(config_map("during"))
    assert await watcher.take_events() == []
    monitor.unlock()
    assert await watcher.take_events() == [("Added", "during")]


async def test_a_failed_synchronization_reads_again_the_changes_since_then(watcher: Watcher) -> None:
    monitor = await watcher.add(CONFIGMAPS)
    monitor.read_for_synchronization()
    watcher.cluster.put(config_map("a"))
    await settle()
    assert [entry.key.name for entry in monitor.read_for_synchronization()] == ["a"]
    monitor.unlock()
    assert await watcher.take_events() == []


async def test_a_skipped_synchronization_owes_every_change_since_the_list(watcher: Watcher) -> None:
    monitor = await watcher.add(Kubernetes("cms", "ConfigMap", run_on_synchronization=False))
    watcher.cluster.put(config_map("a"))
    await settle()
    monitor.unlock()
    assert await watcher.take_events() == [("Added", "a")]


async def test_reading_the_snapshot_for_others_takes_no_event_away(watcher: Watcher) -> None:
    monitor = await watcher.add(CONFIGMAPS)
    monitor.read_for_synchronization()
    watcher.cluster.put(config_map("a"))
    await settle()
    monitor.snapshot.read()
    monitor.unlock()
    assert await watcher.take_events() == [("Added", "a")]


async def test_relist_leads_to_events_for_differences_only(watcher: Watcher) -> None:
    """One created, one changed, one deleted while the watch was lost, many unchanged."""
    cluster = watcher.cluster
    for number in range(50):
        cluster.put(config_map(f"same-{number}"))
    gone = cluster.put(config_map("gone", last="state"))
    cluster.put(config_map("changed"))
    await watcher.unlocked(CONFIGMAPS)

    def unseen() -> None:
        cluster.put(config_map("new"))
        cluster.put(config_map("changed", x="1"))
        cluster.delete(gone)

    cluster.silently(unseen)
    cluster.relist()
    await settle()
    deleted = next(event for event in watcher.events if event.key.name == "gone")
    assert isinstance(deleted, ObjectChanged)
    assert b'"last":"state"' in (deleted.obj or b"")
    assert sorted(await watcher.take_events()) == [("Added", "new"), ("Deleted", "gone"), ("Modified", "changed")]


async def test_full_objects_are_kept_only_if_configured(watcher: Watcher) -> None:
    watcher.cluster.put(config_map("a", x="1"))
    monitor = await watcher.add(Kubernetes("cms", "ConfigMap", jq_filter=".data.x", keep_full_objects=False))
    (entry,) = monitor.snapshot.read()
    assert (entry.obj, entry.filtered) == (None, b'"1"')


async def test_several_names_and_namespaces_make_one_snapshot(watcher: Watcher) -> None:
    for name, where in [("a", "one"), ("b", "one"), ("a", "two"), ("a", "three")]:
        watcher.cluster.put(config_map(name, where))
    monitor = await watcher.add(Kubernetes("cms", "ConfigMap", names=("a",), namespaces=("one", "two")))
    assert [entry.key.namespace for entry in monitor.snapshot.read()] == ["one", "two"]
    assert watcher.cluster.open_watches == 2


async def test_bindings_with_equal_selections_share_one_watch(watcher: Watcher) -> None:
    await watcher.unlocked(CONFIGMAPS, "a.sh")
    watcher.monitors.add(BindingId("b.sh", 0), CONFIGMAPS, None)
    watcher.monitors.add(BindingId("c.sh", 0), CONFIGMAPS, None)
    await settle()
    assert watcher.cluster.open_watches == 1


async def test_late_reader_gets_the_whole_list_and_nothing_older(watcher: Watcher) -> None:
    await watcher.unlocked(CONFIGMAPS, "early.sh")
    watcher.cluster.put(config_map("a"))
    late = await watcher.unlocked(CONFIGMAPS, "late.sh")
    await watcher.take_events()
    assert [entry.key.name for entry in late.snapshot.read()] == ["a"]
    watcher.cluster.put(config_map("b"))
    assert await watcher.take_events() == [("Added", "b"), ("Added", "b")]


async def test_a_watch_outlives_its_first_reader_and_ends_with_its_last(watcher: Watcher) -> None:
    first = await watcher.unlocked(CONFIGMAPS, "a.sh")
    second = await watcher.unlocked(CONFIGMAPS, "b.sh")
    watcher.monitors.remove(first.id)
    watcher.cluster.put(config_map("a"))
    assert await watcher.take_events() == [("Added", "a")]
    watcher.monitors.remove(second.id)
    await settle()
    assert (watcher.cluster.open_watches, len(watcher.streams)) == (0, 0)


@pytest.mark.slow
async def test_adding_and_removing_in_any_order_leaves_nothing_behind(watcher: Watcher) -> None:
    """Listeners come and go many times, then each of those left gets a change once."""
    dice = random.Random(4)
    for _ in range(several(1000)):
        hook = f"{dice.randrange(5)}.sh"
        present = {monitor.id.hook: monitor.id for monitor in watcher.monitors}
        if hook in present:
            watcher.monitors.remove(present[hook])
        else:
            monitor = watcher.monitors.add(BindingId(hook, 0), CONFIGMAPS, None)
            monitor.unlock()
        for _ in range(dice.randrange(4)):
            await settle()
    await watcher.take_events()
    watcher.cluster.put(config_map("last"))
    assert await watcher.take_events() == [("Added", "last")] * len(list(watcher.monitors))


@pytest.mark.slow
async def test_a_crashed_watch_is_an_obstacle_until_it_has_listed_again(
    watcher: Watcher, capsys: pytest.CaptureFixture[str]
) -> None:
    """What happened while it was dead becomes events."""
    gone = watcher.cluster.put(config_map("gone"))
    monitor = await watcher.unlocked(CONFIGMAPS)
    watcher.cluster.crash()
    await settle()
    assert monitor.obstacle is not None
    assert "the watch died" in monitor.obstacle.reason
    watcher.cluster.delete(gone)
    await until(lambda: not monitor.obstacle)  # one second: the pause of a crashed task
    assert await watcher.take_events() == [("Deleted", "gone")]
    assert sum(watcher.background.crashes.values()) == 1


async def test_forbidden_list_is_an_obstacle_that_needs_a_person(watcher: Watcher) -> None:
    watcher.cluster.forbidden.add("Secret")
    monitor = await watcher.add(Kubernetes("secrets", "Secret"))
    assert monitor.decided.is_set()
    assert monitor.obstacle is not None
    assert not monitor.obstacle.brief


async def test_a_short_loss_after_the_first_list_is_no_obstacle_but_shown(watcher: Watcher) -> None:
    monitor = await watcher.unlocked(CONFIGMAPS)
    watcher.cluster.tell(WatchLost("connection refused", brief=True))
    await settle()
    assert monitor.obstacle is None
    assert monitor.lost == "connection refused"
    watcher.cluster.tell(WatchRestored())
    await settle()
    assert monitor.lost == ""


async def test_a_lasting_loss_after_the_first_list_is_an_obstacle_until_the_watch_is_restored(watcher: Watcher) -> None:
    """The right to read was taken away, or the CRD was deleted: what is known may be wrong for long."""
    monitor = await watcher.unlocked(CONFIGMAPS)
    watcher.cluster.tell(WatchLost("forbidden", brief=False))
    await settle()
    assert monitor.obstacle == Obstacle("forbidden", brief=False, word="refused")
    watcher.cluster.tell(WatchRestored())
    await settle()
    assert monitor.obstacle is None


@pytest.mark.slow
async def test_a_failing_filter_breaks_one_object_and_no_other(watcher: Watcher) -> None:
    """99 become events, the hundredth is shown as broken and can be tried again."""
    monitor = await watcher.unlocked(Kubernetes("cms", "ConfigMap", jq_filter=".data.n | tonumber"))
    for number in range(99):
        watcher.cluster.put(config_map(f"good-{number}", n=str(number)))
    bad = watcher.cluster.put(config_map("bad", n="many"))
    await until(lambda: len(watcher.events) >= 100)
    assert [name for change, name in await watcher.take_events() if change == "broken"] == ["bad"]
    assert "parsed as a number" in await monitor.refilter(next(iter(monitor.broken)), 0.0)
    watcher.cluster.put({**bad, "data": {"n": "7"}})
    await until(lambda: bool(watcher.events))
    assert await watcher.take_events() == [("Modified", "bad")]
    assert not monitor.broken


@pytest.mark.parametrize("binding", [CONFIGMAPS, Kubernetes("cms", "ConfigMap", jq_filter=".")])
async def test_an_object_too_deep_to_be_written_is_reported_and_ends_nothing(
    watcher: Watcher, binding: Kubernetes
) -> None:
    """Otherwise a user who may create such an object of a kind that keeps all fields could crash the watch again and
    again."""
    monitor = await watcher.unlocked(binding)
    watcher.cluster.put(config_map("deep") | {"spec": orjson.loads(b"[" * 300 + b"]" * 300)})
    watcher.cluster.put(config_map("a"))
    assert await watcher.take_events() == [("broken", "deep"), ("Added", "a")]
    assert [key.name for key in monitor.broken] == ["deep"]


async def test_a_filter_that_fails_in_the_first_list_holds_back_this_binding(watcher: Watcher) -> None:
    bad = watcher.cluster.put(config_map("bad", n="many"))
    monitor = await watcher.add(Kubernetes("cms", "ConfigMap", jq_filter=".data.n | tonumber"))
    await monitor.decided.wait()
    assert "its filter fails on default/ConfigMap/bad" in str(monitor.obstacle)
    watcher.cluster.delete(bad)
    await until(lambda: not monitor.obstacle)
    assert monitor.snapshot.read() == []


async def test_relist_forgets_a_broken_object_that_was_deleted(watcher: Watcher) -> None:
    bad = watcher.cluster.put(config_map("bad", n="many"))
    monitor = await watcher.add(Kubernetes("cms", "ConfigMap", jq_filter=".data.n | tonumber"))
    await monitor.decided.wait()
    watcher.cluster.silently(lambda: watcher.cluster.delete(bad))
    watcher.cluster.relist()
    await settle()
    assert (monitor.broken, monitor.obstacle) == ({}, None)


TEAMS = Kubernetes("cms", "ConfigMap", namespace_labels="team=a")


async def test_objects_in_a_newly_matching_namespace_are_added(watcher: Watcher) -> None:
    """The label comes later than the object."""
    watcher.cluster.put(namespace("n1"))
    watcher.cluster.put(config_map("old", "n1"))
    monitor = await watcher.unlocked(TEAMS)
    assert monitor.snapshot.read() == []
    watcher.cluster.put(namespace("n1", team="a"))
    assert await watcher.take_events() == [("Added", "old")]
    watcher.cluster.put(config_map("new", "n1"))
    assert await watcher.take_events() == [("Added", "new")]


async def test_a_namespace_that_stops_matching_deletes_its_objects(watcher: Watcher) -> None:
    watcher.cluster.put(namespace("n1", team="a"))
    watcher.cluster.put(config_map("old", "n1"))
    await watcher.unlocked(TEAMS)
    watcher.cluster.delete(namespace("n1", team="a"))
    assert await watcher.take_events() == [("Deleted", "old")]
    watcher.cluster.put(config_map("unseen", "n1"))
    assert await watcher.take_events() == []
    watcher.cluster.put(namespace("n1", team="a"))
    assert sorted(await watcher.take_events()) == [("Added", "old"), ("Added", "unseen")]


async def test_namespaces_that_match_at_the_start_belong_to_the_synchronization(watcher: Watcher) -> None:
    watcher.cluster.put(namespace("n1", team="a"))
    watcher.cluster.put(config_map("old", "n1"))
    monitor = await watcher.unlocked(TEAMS)
    assert await watcher.take_events() == []
    assert [entry.key.name for entry in monitor.snapshot.read()] == ["old"]


async def test_a_namespace_missed_while_disconnected_is_noticed(watcher: Watcher) -> None:
    watcher.cluster.put(namespace("n1", team="a"))
    watcher.cluster.put(config_map("one", "n1"))
    watcher.cluster.put(config_map("two", "n2"))
    await watcher.unlocked(TEAMS)

    def unseen() -> None:
        watcher.cluster.delete(namespace("n1", team="a"))
        watcher.cluster.put(namespace("n2", team="a"))

    watcher.cluster.silently(unseen)
    watcher.cluster.relist()
    assert sorted(await watcher.take_events()) == [("Added", "two"), ("Deleted", "one")]

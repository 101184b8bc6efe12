"""Revisions, history and compaction: what etcd promises and watches rest on. Level: pure."""

import asyncio
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesandbox.status import Refused
from kubesandbox.store import LARGEST, Kept, Key, Store


def put(store: Store, name: str, namespace: str = "default", resource: str = "configmaps", value: int = 0) -> int:
    return store.put(Key(resource, namespace, name), {"metadata": {"name": name}, "value": value}).revision


def names(store: Store, at: int | None = None, namespace: str = "") -> list[str]:
    return [one.key.name for one in store.select("configmaps", namespace, at)]


def test_each_write_is_one_revision_and_the_objects_version() -> None:
    store = Store()
    first = store.revision
    assert [put(store, "a"), put(store, "b"), put(store, "a")] == [first + 1, first + 2, first + 3]
    stored = store.get(Key("configmaps", "default", "a"))
    assert stored is not None
    assert stored.json()["metadata"]["resourceVersion"] == str(first + 3)


def test_objects_are_listed_by_namespace_and_name() -> None:
    store = Store()
    for namespace, name in (("b", "a"), ("a", "b"), ("a", "a"), ("a", "a-b")):
        put(store, name, namespace)
    assert [tuple(one.key[1:]) for one in store.select("configmaps")] == [
        ("a", "a"), ("a", "a-b"), ("a", "b"), ("b", "a"),
    ]  # fmt: skip
    assert names(store, namespace="b") == ["a"]


def test_a_namespace_is_inhabited_as_long_as_something_is_in_it() -> None:
    store = Store()
    put(store, "a", "x")
    assert (store.inhabited("x"), store.inhabited("y")) == (True, False)
    store.delete(Key("configmaps", "x", "a"))
    assert not store.inhabited("x")


def test_a_deletion_is_a_revision_too_and_remembers_what_was() -> None:
    store = Store()
    made = put(store, "a")
    gone = store.delete(Key("configmaps", "default", "a"))
    (change,) = store.changes(made)
    assert (gone.revision, change.after, change.gone) == (made + 1, None, gone)
    assert gone.json()["metadata"]["resourceVersion"] == str(made + 1)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 9)), max_size=30))
def test_a_list_at_a_revision_shows_what_a_list_then_showed(writes: list[tuple[str, bool, int]]) -> None:
    store = Store()
    then = {store.revision: store.select("configmaps")}
    for name, delete, value in writes:
        key = Key("configmaps", "default", name)
        if delete and store.get(key):
            store.delete(key)
        else:
            put(store, name, value=value)
        then[store.revision] = store.select("configmaps")
    for revision, shown in then.items():
        assert store.select("configmaps", at=revision) == shown


def test_what_is_compacted_cannot_be_asked_for() -> None:
    store = Store()
    old = put(store, "a")
    put(store, "b")
    store.compact()
    for ask in (lambda: store.changes(old), lambda: store.select("configmaps", at=old)):
        with pytest.raises(Refused) as refused:
            ask()
        assert (refused.value.code, refused.value.reason) == (410, "Expired")
    assert store.changes(store.revision) == []
    assert names(store) == ["a", "b"]


def test_compacting_part_keeps_the_rest() -> None:
    store = Store()
    revisions = [put(store, name) for name in "abc"]
    assert store.compact(revisions[1]) == revisions[1]
    assert [change.key.name for change in store.changes(revisions[1])] == ["c"]


def test_history_is_bounded_in_number_and_in_time() -> None:
    now = [0.0]
    store = Store(clock=lambda: now[0], kept=Kept(100, 300.0))
    for _ in range(1000):
        put(store, "a")
    assert 100 <= len(store.changes(store.compacted)) <= 110
    now[0] = 1000.0
    put(store, "a")
    assert len(store.changes(store.compacted)) == 1


def test_history_is_bounded_in_bytes() -> None:
    store = Store(kept=Kept(size=1_000_000))
    for _ in range(100):
        store.put(Key("configmaps", "", "a"), {"metadata": {}, "value": "x" * 100_000})
    assert 9 <= len(store.changes(store.compacted)) <= 12


def test_a_huge_object_is_refused_as_etcd_does() -> None:
    store = Store()
    with pytest.raises(Refused, match="etcdserver: request is too large") as refused:
        store.put(Key("configmaps", "", "a"), {"metadata": {}, "value": "x" * LARGEST})
    assert (refused.value.code, names(store)) == (500, [])


def test_who_follows_one_resource_loses_nothing_when_the_history_of_others_is_forgotten() -> None:
    store = Store()
    since = put(store, "a")
    put(store, "b", resource="pods")
    store.compact()
    assert store.changes(since, "configmaps") == []
    with pytest.raises(Refused):
        store.changes(since, "pods")


async def test_waiting_ends_with_news_of_that_resource_only() -> None:
    store = Store()
    waiting = asyncio.create_task(store.wait_for_change("configmaps", store.revision))
    put(store, "a", resource="pods")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    put(store, "a")
    await asyncio.wait_for(waiting, 30)


async def test_waiting_from_an_old_revision_ends_at_once() -> None:
    store = Store()
    old = store.revision
    put(store, "a")
    await asyncio.wait_for(store.wait_for_change("configmaps", old), 30)


def test_a_failed_journal_changes_nothing() -> None:
    class Full:
        def append(self, change: object) -> None:
            raise Refused(500, "InternalError", "disk full")

    store = Store(Full())
    before = store.revision
    with pytest.raises(Refused, match="disk full"):
        put(store, "a")
    assert (store.revision, names(store), store.changes(before)) == (before, [], [])


def test_the_body_is_as_small_as_its_text() -> None:
    store = Store()
    numbers = count()
    stored = [store.put(Key("c", "", str(next(numbers))), {"metadata": {}, "v": "x" * 900}) for _ in range(10)]
    assert all(len(one.body) < 1000 for one in stored)


def test_a_feed_has_every_change_though_history_is_forgotten() -> None:
    store = Store()
    feed = store.feed()
    written = [put(store, "a"), put(store, "b")]
    store.compact()
    assert [feed.get_nowait().revision for _ in written] == written

"""Entries of managedFields: their order, their identity, the cap. Level: pure."""

from kubesandbox.fields.entries import Entries, ManagedFieldsEntry, capped, read, written


def entry(manager: str, time: str | None = None, operation: str = "Update", version: str = "v1") -> ManagedFieldsEntry:
    return ManagedFieldsEntry(manager, operation, version, "", time, {f"f:{manager}": {}})


def by_identity(*entries: ManagedFieldsEntry) -> Entries:
    return {one.identity: one for one in entries}


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def test_applies_come_first_then_the_oldest_and_those_without_a_time() -> None:
    entries = [entry("b", at(2)), entry("c", at(1)), entry("a", at(2)), entry("z"), entry("y", at(9), "Apply")]
    order = [one["manager"] for one in written(by_identity(*entries), ())]
    assert order == ["y", "z", "c", "a", "b"]


def test_what_was_not_changed_is_not_written_anew() -> None:
    before = written(by_identity(entry("a", at(1)), entry("b", at(2))), ())
    after = written(read(before), before)
    assert [one["fieldsV1"] for one in after] == [one["fieldsV1"] for one in before]
    assert after[0]["fieldsV1"] is before[0]["fieldsV1"]


def test_an_apply_takes_its_entry_to_another_version_and_an_update_does_not() -> None:
    assert entry("a", operation="Apply").identity == entry("a", operation="Apply", version="v2").identity
    assert entry("a").identity != entry("a", version="v2").identity


def test_ten_managers_of_updates_are_kept() -> None:
    entries = by_identity(*(entry(f"m{number}", at(number)) for number in range(10)), entry("a", None, "Apply"))
    assert capped(entries) == entries


def test_the_oldest_beyond_ten_are_put_together_for_each_version() -> None:
    older = [entry(f"o{number}", at(number), version=f"v{number % 2}") for number in range(4)]
    entries = by_identity(*older, *(entry(f"m{number}", at(30 + number)) for number in range(8)))
    kept = [one for one in capped(entries).values() if one.manager == "ancient-changes"]
    assert [(one.api_version, one.time, set(one.fields)) for one in kept] == [
        ("v0", at(2), {"f:o0", "f:o2"}),
        ("v1", at(3), {"f:o1", "f:o3"}),
    ]

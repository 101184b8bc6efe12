"""What the hooks of a module see that is about to go: what it last ran with. Level: pure."""

import orjson
import pytest

from hookrunner.errors import BadValues
from hookrunner.model.operations import ValuesOperation
from hookrunner.values import config_sections
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON


def config(shared: str = "{}", **data: str) -> config_sections.Config:
    return config_sections.parse({"global": shared, **data})


def seen(store: SectionStore, key: str = "foo") -> tuple[JSON, JSON]:
    """The config and the values of a hook."""
    return tuple(map(orjson.loads, store.files(key)))


@pytest.fixture
def store() -> SectionStore:
    """With a module that ran with `c: 1`, has patched `p: 1`, and is about to go."""
    store = SectionStore({"foo": {"s": 1}}, {})
    store.adopt(config("g: 1", foo="c: 1"), config(foo="password: hunter2"), {"foo"})
    store.begin_run("foo")
    store.patch("foo", [ValuesOperation("add", "/foo/p", 1)])
    store.hold("foo")
    return store


def test_hooks_of_a_deleted_module_do_not_see_an_edit_that_removes_values(store: SectionStore) -> None:
    before = seen(store)
    store.adopt(config(), None, {"foo"})
    store.hold("foo")
    assert seen(store) == before
    assert before[1] == {"global": {"g": 1}, "foo": {"s": 1, "c": 1, "password": "hunter2", "p": 1}}
    assert store.document("foo") == {"global": {}, "foo": {"s": 1, "p": 1}}, "scripts see what is said now"


def test_after_its_deletion_a_module_sees_the_present_config(store: SectionStore) -> None:
    store.adopt(config(foo="c: 2"), None, {"foo"})
    store.forget("foo")
    assert seen(store)[1] == {"global": {}, "foo": {"s": 1, "c": 2}}


def test_module_that_is_turned_on_again_runs_with_the_present_config(store: SectionStore) -> None:
    store.adopt(config(foo="c: 2"), None, {"foo"})
    store.patch("foo", [ValuesOperation("add", "/foo/q", 1)])
    store.begin_run("foo")
    assert seen(store)[1] == {"global": {}, "foo": {"s": 1, "c": 2, "p": 1, "q": 1}}


def test_hooks_of_a_deleted_module_see_patches_of_earlier_hooks(store: SectionStore) -> None:
    store.enabled_modules(["foo"])
    assert store.patch("foo", [ValuesOperation("add", "/foo/q", 1)])
    assert seen(store)[1]["foo"]["q"] == 1
    assert seen(store)[1]["global"] == {"g": 1, "enabledModules": ["foo"]}


def test_lasting_patch_of_a_deleted_module_is_written_where_it_still_fits(store: SectionStore) -> None:
    store.adopt(config(foo="{c: 1, d: 1}"), None, {"foo"})
    assert store.patched_config("foo", [ValuesOperation("remove", "/foo/c")]) == {"d": 1}
    assert "c" not in seen(store)[0]["foo"]
    store.adopt(config(), None, {"foo"})
    store.adopt(config_sections.parse({"foo": "["}), None, {"foo"})
    assert store.patched_config("foo", [ValuesOperation("add", "/foo/x", 1)]) is None, "its section is refused"
    assert seen(store)[0]["foo"]["x"] == 1
    with pytest.raises(BadValues, match="missing"):
        store.patched_config("foo", [ValuesOperation("remove", "/foo/missing")])


def test_patch_that_does_not_fit_the_present_section_does_not_fail_the_deletion(store: SectionStore) -> None:
    store.adopt(config(), None, {"foo"})
    assert store.patched_config("foo", [ValuesOperation("remove", "/foo/c")]) is None


def test_a_module_of_an_earlier_process_is_held_with_the_values_of_its_release() -> None:
    store = SectionStore({"foo": {"s": 1}}, {})
    store.adopt(config("g: 2"), None, set())
    store.hold("foo")
    assert not store.is_held("foo")
    store.hold_recorded("foo", {"global": {"g": 1}, "foo": {"s": 1, "c": 1}})
    assert store.is_held("foo")
    assert seen(store) == ({"global": {"g": 2}, "foo": None}, {"global": {"g": 1}, "foo": {"s": 1, "c": 1}})

"""Sections of instances of addons: several have one key, and they come and go. Level: pure."""

from collections.abc import Callable
from itertools import chain

import orjson
import pytest

from hookrunner.errors import BadValues
from hookrunner.model.operations import ValuesOperation
from hookrunner.values import config_sections
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from tests.values.test_section_store import STRICT

FIRST, SECOND = "coredns.kube-system.a", "coredns.kube-system.b"


def add(path: str, value: JSON) -> list[ValuesOperation]:
    return [ValuesOperation("add", path, value)]


@pytest.fixture
def store() -> SectionStore:
    """Two instances of one addon, beside a module that has the addon's name."""
    store = SectionStore({"coredns": {"replicas": 1}}, {})
    for unit in (FIRST, SECOND):
        store.add(unit, "coredns", STRICT)
        store.describe(unit, {"addon": {"name": unit[-1]}, "s": 1}, {"x": 1})
    return store


def test_each_instance_has_its_own_values_under_the_key_of_its_addon(store: SectionStore) -> None:
    store.describe(SECOND, {"addon": {"name": "b"}, "s": 2}, {"x": 5})
    store.patch(SECOND, add("/coredns/p", 7))
    assert store.document(FIRST) == {"global": {}, "coredns": {"addon": {"name": "a"}, "s": 1, "d": 1, "x": 1, "v": 2}}
    assert orjson.loads(store.files(SECOND).values)["coredns"] == {
        "addon": {"name": "b"}, "s": 2, "d": 1, "x": 5, "v": 2, "p": 7,
    }  # fmt: skip
    assert store.document("coredns") == {"global": {}, "coredns": {"replicas": 1}}


def test_configmap_changes_no_instance(store: SectionStore) -> None:
    config = config_sections.parse({"coredns": "x: 9"})
    assert store.adopt(config, None, {"coredns"}).changed == {"coredns"}
    assert store.effective(FIRST)["x"] == 1


def test_refused_spec_changes_nothing(store: SectionStore) -> None:
    with pytest.raises(BadValues, match=r"coredns\.kube-system\.a.*x: must be a number"):
        store.describe(FIRST, {"s": 9}, {"x": "many"})
    assert (store.effective(FIRST)["s"], store.effective(FIRST)["x"]) == (1, 1)


def test_lowest_layer_of_global_values_can_change(store: SectionStore) -> None:
    assert store.set_static("global", {"zone": "x"})
    assert not store.set_static("global", {"zone": "x"})
    assert store.document(FIRST)["global"] == {"zone": "x"}


def test_same_description_is_no_news(store: SectionStore) -> None:
    description = {"addon": {"name": "a"}, "s": 1}, {"x": 1}
    assert not store.describe(FIRST, *description)
    assert store.describe(FIRST, {"s": 1}, {"x": 1})


@pytest.mark.parametrize("path", ["/coredns/addon", "/coredns/addon/name", "/coredns", "/other/x"])
def test_hooks_change_neither_what_is_known_of_the_instance_nor_other_sections(store: SectionStore, path: str) -> None:
    with pytest.raises(BadValues):
        store.patch(FIRST, add(path, {}))
    assert store.effective(FIRST)["addon"] == {"name": "a"}


def test_values_of_the_last_run_are_held_for_each_instance(store: SectionStore) -> None:
    store.begin_run(FIRST)
    store.hold(FIRST)
    store.describe(FIRST, {"s": 1}, {"x": 3})
    store.hold_recorded(SECOND, {"global": {"g": 1}, "coredns": {"old": True}})
    assert [orjson.loads(store.files(unit).values)["coredns"].get("x") for unit in (FIRST, SECOND)] == [1, None]
    assert orjson.loads(store.files(SECOND).values) == {"global": {"g": 1}, "coredns": {"old": True}}


def test_origins_name_the_spec(store: SectionStore) -> None:
    layers = {origin.pointer: origin.layer for origin in store.explain(FIRST)}
    assert layers == {
        "/coredns/addon/name": "instance",
        "/coredns/d": "default of spec.yaml",
        "/coredns/s": "values.yaml",
        "/coredns/v": "default of values.yaml schema",
        "/coredns/x": "spec",
    }


def test_removed_instance_leaves_nothing(store: SectionStore) -> None:
    store.begin_run(FIRST)
    store.hold(FIRST)
    store.remove(FIRST)
    reads: tuple[Callable[[str], object], ...] = (store.effective, store.files)
    for read in reads:
        with pytest.raises(KeyError):
            read(FIRST)
    assert not store.is_held(FIRST)
    assert {*chain(store.effective(SECOND))} == {"addon", "s", "d", "x", "v"}

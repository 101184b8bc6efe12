"""The store: which layer wins, what is refused, what stays when something is refused."""

from dataclasses import dataclass

import orjson

from hookrunner.model.resources import JSON
from hookrunner.model.values import GLOBAL, PatchOperation
from hookrunner.values import sections
from hookrunner.values.store import Store


@dataclass(frozen=True)
class Schema:
    """Fills in top-level defaults; allows integers only, and `x` only to grow."""

    filled: JSON

    def defaults(self, value: JSON) -> JSON:
        return self.filled | value

    def problems(self, value: JSON, old: JSON = None) -> list[str]:
        wrong = [f"{key}: must be a number" for key, one in value.items() if not isinstance(one, int | dict | list)]
        shrunk = old is not None and value.get("x", 0) < old.get("x", 0)
        return wrong + ["x: must grow"] * shrunk


@dataclass(frozen=True)
class Schemas:
    config: Schema | None = None
    values: Schema | None = None
    helm: Schema | None = None


STRICT = Schemas(Schema({"d": 1}), Schema({"v": 2}), Schema({}))


def add(path: str, value: JSON) -> list[PatchOperation]:
    return [PatchOperation("add", path, value)]


def config(**data: str) -> sections.Config:
    return sections.parse(data)


def test_layers_in_their_order() -> None:
    store = Store(
        {"foo": {"s": 0, "d": 0, "m": {"a": 1}}}, {"foo": Schemas(Schema({"d": 1, "e": 1}), Schema({"e": 2, "v": 2}))}
    )
    store.adopt(config(foo="{m: {b: 2}, s: 3}"), None, {"foo"})
    store.patch("foo", add("/foo/m/c", 4))
    assert store.effective("foo") == {"s": 3, "d": 0, "e": 1, "v": 2, "m": {"a": 1, "b": 2, "c": 4}}


def test_hooks_and_templates_see_the_global_section_and_their_own() -> None:
    store = Store({"foo": {"a": 1}, "bar": {}}, {})
    store.adopt(config(**{"global": "{g: 1}", "fooEnabled": "true"}), None, set())
    store.enabled_modules(["foo"])
    assert store.document("foo") == {"global": {"g": 1}, "foo": {"a": 1}}
    assert store.document(GLOBAL) == {"global": {"g": 1}}
    assert [orjson.loads(text) for text in store.files("foo")] == [
        {"global": {"g": 1}, "foo": {}},
        {"global": {"g": 1, "enabledModules": ["foo"]}, "foo": {"a": 1}},
    ]
    assert orjson.loads(store.files("bar").config) == {"global": {"g": 1}, "bar": None}
    assert orjson.loads(store.files(GLOBAL).values) == {"global": {"g": 1, "enabledModules": ["foo"]}}

"""The store: which layer wins, what is refused, what stays when something is refused. Level: pure."""

from dataclasses import dataclass

import orjson
import pytest

from hookrunner.errors import BadValues
from hookrunner.model.modules import GLOBAL
from hookrunner.model.operations import ValuesOperation
from hookrunner.values import config_sections
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from tests.tables import each


@dataclass(frozen=True)
class Schema:
    """Fills in top-level defaults; allows integers only, and `x` only to grow."""

    filled: JSON

    def defaults(self, value: JSON) -> JSON:
        return self.filled | value

    def problems(self, value: JSON, old: JSON = None) -> list[str]:
        wrong = [f"{key}: must be a number" for key, one in value.items() if not isinstance(one, int | dict | list)]
        if not wrong and old is not None and value.get("x", 0) < old.get("x", 0):
            return ["x: must grow"]
        return wrong


@dataclass(frozen=True)
class Schemas:
    config: Schema | None = None
    values: Schema | None = None
    helm: Schema | None = None


class Refusing(Schema):
    """Allows nothing."""

    def problems(self, value: JSON, old: JSON = None) -> list[str]:
        return ["no"]


STRICT = Schemas(Schema({"d": 1}), Schema({"v": 2}), Schema({}))


def add(path: str, value: JSON) -> list[ValuesOperation]:
    return [ValuesOperation("add", path, value)]


def config(**data: str) -> config_sections.Config:
    return config_sections.parse(data)


def test_layers_in_their_order() -> None:
    store = SectionStore(
        {"foo": {"s": 0, "d": 0, "m": {"a": 1}}}, {"foo": Schemas(Schema({"d": 1, "e": 1}), Schema({"e": 2, "v": 2}))}
    )
    store.adopt(config(foo="{m: {b: 2}, s: 3}"), None, {"foo"})
    store.patch("foo", add("/foo/m/c", 4))
    assert store.effective("foo") == {"s": 3, "d": 0, "e": 1, "v": 2, "m": {"a": 1, "b": 2, "c": 4}}


def test_hooks_and_templates_see_the_global_section_and_their_own() -> None:
    store = SectionStore({"foo": {"a": 1}, "bar": {}}, {})
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


def test_module_without_config_is_an_empty_map() -> None:
    store = SectionStore({}, {"foo": Schemas()})
    assert (store.effective("foo"), store.config("foo"), store.config_document("foo")) == (
        {},
        None,
        {"global": None, "foo": None},
    )


def test_new_config_changes_only_sections_that_differ() -> None:
    store = SectionStore({"foo": {}, "bar": {}, "baz": {}}, {})
    first = config(foo="a: 1", bar="a: 1", unknown="a: 1")
    assert store.adopt(first, None, set()).changed == {"foo", "bar"}
    assert store.adopt(first, None, {"foo"}).changed == frozenset()
    assert store.adopt(config(foo="a: 1.0", bar="a: true", bazEnabled="true"), None, set()).changed == {"foo", "bar"}


def test_removed_section_removes_its_values() -> None:
    store = SectionStore({"foo": {"a": 0}}, {})
    store.adopt(config(**{"foo": "a: 1", "global": "g: 1"}), None, set())
    assert store.adopt(config(), None, set()).changed == {"foo", "global"}
    assert store.document("foo") == {"global": {}, "foo": {"a": 0}}


def test_one_bad_section_stays_as_it_was_and_holds_nothing_back() -> None:
    store = SectionStore({"foo": {}, "bar": {}}, {"foo": STRICT, "bar": STRICT})
    store.adopt(config(foo="x: 1", bar="x: 1"), None, {"foo", "bar"})
    before = store.files("foo")
    adopted = store.adopt(config(foo="x: text", bar="x: 2"), None, {"foo", "bar"})
    assert (set(adopted.changed), list(adopted.refused)) == ({"bar"}, ["foo"])
    assert str(adopted.refused["foo"]) == "foo: x: must be a number"
    assert (store.files("foo"), store.config("bar")) == (before, {"x": 2})


@each("bad", [{"foo": "["}, {"foo": "x: 2", "fooEnabled": "yes"}])
def test_a_section_that_cannot_be_read_stays_as_it_was(bad: dict[str, str]) -> None:
    store = SectionStore({"foo": {}}, {})
    store.adopt(config(foo="x: 1"), None, set())
    assert "ConfigMap: foo" in str(store.adopt(config_sections.parse(bad), None, set()).refused["foo"])
    assert "Secret: foo" in str(store.adopt(config(), config_sections.parse(bad), set()).refused["foo"])
    assert store.config("foo") == {"x": 1}


def test_a_section_is_judged_when_its_module_is_switched_on() -> None:
    store = SectionStore({"foo": {}}, {"foo": STRICT, GLOBAL: STRICT})
    bad = config(**{"foo": "x: text", "global": "x: text"})
    assert list(store.adopt(bad, None, set()).refused) == [GLOBAL]
    assert list(store.adopt(bad, None, {"foo"}).refused) == ["foo", GLOBAL]


def test_rules_about_changes_see_the_config_before() -> None:
    store = SectionStore({"foo": {}}, {"foo": STRICT})
    store.adopt(config(foo="x: 2"), None, {"foo"})
    assert str(store.adopt(config(foo="x: 1"), None, {"foo"}).refused["foo"]) == "foo: x: must grow"
    with pytest.raises(BadValues, match="x: must grow"):
        store.patched_config("foo", add("/foo/x", 0))


def test_an_empty_section_is_not_judged() -> None:
    needs = Schemas(Refusing({}))
    assert not SectionStore({"foo": {}}, {"foo": needs}).adopt(config(foo="{}"), None, {"foo"}).refused


def test_the_secret_lies_over_the_config_map() -> None:
    store = SectionStore({"foo": {}}, {})
    hidden = config(foo="db: {password: p}", fooEnabled="true")
    assert store.adopt(config(foo="db: {user: u, password: x}"), hidden, set()).changed == {"foo"}
    assert store.config("foo") == {"db": {"user": "u", "password": "p"}}
    assert store.adopt(config(), hidden, set()).changed == {"foo"}
    assert store.config("foo") == {"db": {"password": "p"}}


@each(
    ("plain", "operation", "kept"),
    [
        ("{}", ("/foo/a", 1), {"a": 1}),
        ("{a: 1}", ("/foo/db/user", "u"), {"a": 1, "db": {"user": "u"}}),
        ("{db: {password: old}}", ("/foo/a", 1), {"a": 1, "db": {"password": "old"}}),
        ("{db: {}}", ("/foo/a", 1), {"a": 1, "db": {}}),
        ("{}", ("/foo/db/password", "p"), None),
    ],
)
def test_a_patch_of_the_config_writes_nothing_of_the_secret(
    plain: str, operation: tuple[str, JSON], kept: JSON
) -> None:
    store = SectionStore({"foo": {}}, {})
    store.adopt(config(foo=plain), config(foo="db: {password: p}"), set())
    assert store.patched_config("foo", add(*operation)) == kept


@each(
    "operation",
    [
        ValuesOperation("add", "/foo/db/password", "q"),
        ValuesOperation("remove", "/foo/db/password"),
        ValuesOperation("remove", "/foo/db"),
        ValuesOperation("add", "/foo", {}),
    ],
)
def test_hook_cannot_change_values_of_the_secret(operation: ValuesOperation) -> None:
    store = SectionStore({"foo": {}}, {})
    store.adopt(config(), config(foo="db: {password: p}"), set())
    with pytest.raises(BadValues, match=r"foo: /foo/db(/password)? is set in the Secret"):
        store.patched_config("foo", [operation])


def test_a_patch_of_the_config_is_judged_then_written_then_kept() -> None:
    store = SectionStore({"foo": {}}, {"foo": STRICT})
    section = store.patched_config("foo", [*add("/foo/x", 1), *add("/foo/m", {"a": None})])
    assert (section, store.config("foo")) == ({"x": 1, "m": {}}, None)
    assert store.keep_config("foo", section)
    assert not store.keep_config("foo", section)
    assert store.patched_config("foo", add("/foo/x", 1)) is None
    assert store.config("foo") == section
    assert store.adopt(config(foo=config_sections.written(section)), None, {"foo"}).changed == frozenset()


@each(
    ("path", "value", "told"),
    [
        ("/foo/x", "text", "foo: x: must be a number"),
        ("/foo/a/b", 1, "there is no /foo/a"),
        ("/bar/x", 1, "only 'foo' accepted"),
        ("/foo", 3, "a section is a map"),
    ],
)
def test_a_refused_patch_leaves_everything_as_it_was(path: str, value: JSON, told: str) -> None:
    store = SectionStore({"foo": {"x": 0}, "bar": {}}, {"foo": STRICT})
    before = store.files("foo"), store.config("foo"), store.patches("foo")
    for change in (store.patch, store.patched_config):
        with pytest.raises(BadValues, match=told):
            change("foo", [*add("/foo/first", 1), *add(path, value)])
    assert (store.files("foo"), store.config("foo"), store.patches("foo")) == before


def nested(depth: int) -> JSON:
    deep: JSON = {}
    for _ in range(depth):
        deep = {"a": deep}
    return deep


def test_values_too_deep_for_json_are_refused() -> None:
    store = SectionStore({"foo": {}}, {})
    for change in (store.patch, store.patched_config):
        with pytest.raises(BadValues, match="cannot be written as JSON"):
            change("foo", add("/foo/a", nested(251)))


def test_section_of_allowed_depth_fits_into_every_document() -> None:
    store = SectionStore({"foo": {}}, {})
    store.adopt(config_sections.Config({"foo": nested(251)}), None, set())
    store.patch("foo", add("/foo/a", nested(250)))
    assert orjson.loads(store.files("foo").values)["foo"] == store.effective("foo")
    assert orjson.loads(store.files("foo").config) == store.config_document("foo")
    assert orjson.loads(orjson.dumps(store.document("foo"))) == store.document("foo")


def test_no_patch_overwrites_an_edit_that_was_refused() -> None:
    store = SectionStore({"foo": {}}, {})
    store.adopt(config(foo="a: ["), None, set())
    with pytest.raises(BadValues, match="would overwrite an edit that was refused; ConfigMap: foo: cannot be read"):
        store.patched_config("foo", add("/foo/a", 1))
    store.adopt(config(foo="b: 1"), None, set())
    assert store.patched_config("foo", add("/foo/a", 1)) == {"a": 1, "b": 1}


def test_hooks_patch_the_values_as_they_are_now() -> None:
    store = SectionStore({"foo": {"l": [1]}}, {})
    assert store.patch("foo", add("/foo/l/-", 2))
    assert store.patch("foo", add("/foo/l/-", 3))
    assert not store.patch("foo", [*add("/foo/x", 1), ValuesOperation("remove", "/foo/x")])
    assert not store.patch("foo", [])
    assert store.effective("foo") == {"l": [1, 2, 3]}
    assert store.patches("foo") == [
        {"Operations": [{"op": "add", "path": "/foo/l/-", "value": 2}, {"op": "add", "path": "/foo/l/-", "value": 3}]}
    ]


def test_disable_and_enable_is_clean_but_keeps_the_config() -> None:
    store = SectionStore({"foo": {"s": 1}}, {})
    store.adopt(config(foo="c: 1"), None, set())
    store.patch("foo", add("/foo/p", 1))
    store.forget("foo")
    assert (store.effective("foo"), store.patches("foo")) == ({"s": 1, "c": 1}, [])


def test_flags_of_modules_pass_by_the_values() -> None:
    store = SectionStore({}, {})
    assert store.patch(GLOBAL, [*add("/global/a", 1), *add("/fooEnabled", True)])
    assert store.patched_config(GLOBAL, [*add("/barEnabled", True), *add("/global/b", 1)]) == {"b": 1}
    assert store.patched_config(GLOBAL, add("/barEnabled", True)) is None
    assert store.effective(GLOBAL) == {"a": 1}


def test_templates_get_only_what_the_schema_for_helm_allows() -> None:
    store = SectionStore({"foo": {"x": 1}, "bar": {}}, {"foo": Schemas(helm=Refusing({}))})
    store.for_helm("bar")
    with pytest.raises(BadValues, match="foo: no"):
        store.for_helm("foo")


def test_patch_that_no_longer_fits_is_reported_once(capfd: pytest.CaptureFixture[str]) -> None:
    store = SectionStore({"foo": {"m": {}}}, {})
    store.patch("foo", add("/foo/m/a", 1))
    store.adopt(config(foo="m: 3"), None, set())
    store.adopt(config(foo="{m: 3, b: 1}"), None, set())
    assert store.effective("foo") == {"m": 3, "b": 1}
    assert capfd.readouterr().err.count("no longer fits the values") == 1


def test_every_value_says_which_layer_has_set_it() -> None:
    schemas = Schemas(Schema({"d": 1, "m": {}}), Schema({"v": 1}))
    store = SectionStore({"foo": {"s": 1, "l": [1], "o": 1, "e": {}}}, {"foo": schemas})
    store.adopt(config(foo="{c: 1, o: 2, m: {a/b: 1, p: 1}}"), config(foo="m: {p: 2}"), {"foo"})
    store.patch("foo", [*add("/foo/l/-", 2), *add("/foo/h", {"x": 1})])
    assert [(one.pointer, one.value, one.layer) for one in store.explain("foo")] == [
        ("/foo/c", 1, "ConfigMap"),
        ("/foo/d", 1, "default of config-values.yaml"),
        ("/foo/e", {}, "values.yaml"),
        ("/foo/h/x", 1, "patch of a hook"),
        ("/foo/l", [1, 2], "patch of a hook"),
        ("/foo/m/a~1b", 1, "ConfigMap"),
        ("/foo/m/p", 2, "Secret"),
        ("/foo/o", 2, "ConfigMap"),
        ("/foo/s", 1, "values.yaml"),
        ("/foo/v", 1, "default of values.yaml schema"),
    ]


def test_empty_section_counts_as_not_set() -> None:
    assert SectionStore({"foo": {}}, {}).explain("foo") == []

"""The promise to hooks, `enabled` scripts and templates: which values they get, byte for byte, and how
dumps show what was patched.

Level: pure."""

from pathlib import Path

import orjson
import pytest

from hookrunner.hooks.patches import parse_values_patch as parse
from hookrunner.values import config_sections
from hookrunner.values.schemas.schema_files import load
from hookrunner.values.section_store import SectionStore

CONFIG_SCHEMA = "properties: {level: {type: string, default: Info}, size: {}, tags: {}}\n"
VALUES_SCHEMA = """
x-extend: {schema: config-values.yaml}
properties: {internal: {type: object, default: {}, additionalProperties: true}}
"""


@pytest.fixture
def store(tmp_path: Path) -> SectionStore:
    """Modules `foo`, of which everything is set somewhere, `bar` with a flag alone, and `baz`."""
    (tmp_path / "openapi").mkdir()
    (tmp_path / "openapi/config-values.yaml").write_text(CONFIG_SCHEMA)
    (tmp_path / "openapi/values.yaml").write_text(VALUES_SCHEMA)
    static = {"global": {"a": 1, "b": {"c": "Ü<&>"}}, "foo": {"size": 1, "tags": ["x", "y"]}, "bar": {}, "baz": {}}
    store = SectionStore(static, {"foo": load(tmp_path, "foo")})
    data = {"global": "b: {d: 12345678901}", "foo": "size: 2.5\ntags: [z]", "barEnabled": "true"}
    store.adopt(config_sections.parse(data), None, {"foo", "bar"})
    store.patch("foo", parse(b'{"op":"add","path":"/foo/internal","value":{"k":null}}'))
    store.enabled_modules(["foo", "bar"])
    return store


SHARED = '"global":{"a":1,"b":{"c":"Ü<&>","d":12345678901},"enabledModules":["foo","bar"]}'


@pytest.mark.parametrize(
    ("key", "config", "values"),
    [
        ("global", '{"global":{"b":{"d":12345678901}}}', f"{{{SHARED}}}"),
        (
            "foo",
            '{"foo":{"size":2.5,"tags":["z"]},"global":{"b":{"d":12345678901}}}',
            f'{{{SHARED},"foo":{{"internal":{{"k":null}},"level":"Info","size":2.5,"tags":["z"]}}}}',
        ),
        ("bar", '{"bar":{},"global":{"b":{"d":12345678901}}}', f'{{{SHARED},"bar":{{}}}}'),
        ("baz", '{"baz":null,"global":{"b":{"d":12345678901}}}', f'{{{SHARED},"baz":{{}}}}'),
    ],
)
def test_hooks_get_their_values_byte_for_byte(store: SectionStore, key: str, config: str, values: str) -> None:
    files = store.files(key)
    assert (files.config.decode(), files.values.decode()) == (config, values)


def test_values_files_of_an_unconfigured_module() -> None:
    files = SectionStore({"foo": {}}, {}).files("foo")
    assert files == (b'{"foo":null,"global":null}', b'{"global":{},"foo":{}}')


def test_templates_get_their_values(store: SectionStore) -> None:
    """`.Values`, to which Helm adds the chart's own: without `enabledModules`."""
    assert store.document("foo") == {
        "global": {"a": 1, "b": {"c": "Ü<&>", "d": 12345678901}},
        "foo": {"internal": {"k": None}, "level": "Info", "size": 2.5, "tags": ["z"]},
    }


def test_dumps_show_patches_of_hooks(store: SectionStore) -> None:
    more = b'[{"op":"add","path":"/foo/tags/-","value":1},{"op":"remove","path":"/foo/level"}]'
    store.patch("foo", parse(more))
    assert orjson.dumps(store.patches("foo")).decode() == (
        '[{"Operations":[{"op":"add","path":"/foo/internal","value":{"k":null}},'
        '{"op":"remove","path":"/foo/level"},{"op":"add","path":"/foo/tags/-","value":1}]}]'
    )
    assert store.patches("bar") == []

"""Schema files: what is read, extended and opened, and what is no schema. Level: pure."""

from pathlib import Path
from typing import Protocol

import pytest

from hookrunner.errors import BadModule
from hookrunner.values.schemas.schema_files import Schemas, load, load_of_addon
from kubetypes.json_values import JSON


class Written(Protocol):
    def __call__(self, config: str | None = None, values: str | None = None, section: str = "it") -> Schemas: ...


def _problems(written: Written, kind: str, value: JSON, config: str | None, values: str) -> list[str]:
    found = getattr(written(config, values), kind).problems(value)
    assert isinstance(found, list)
    return found


def test_a_directory_without_schemas_says_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, "it") == Schemas(None, None, None)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_a_file_without_content_says_nothing(written: Written, text: str) -> None:
    assert written(text, text) == Schemas(None, None, None)


def test_anchors_merge_keys_and_references_are_followed(written: Written) -> None:
    config = written("""
      definitions:
        port: {type: integer, maximum: 65535}
        any: {$ref: '#/definitions/port'}
      properties:
        one: &one
          properties: &parts
            port: {$ref: '#/definitions/any', minimum: 99999}
        two: *one
        three:
          properties: {<<: *parts, port: {type: string}, name: {}}
        four: {$ref: '#/x-hidden/0/deep~1er'}
      x-hidden: [{deep/er: {type: string}}]
    """).config
    assert config is not None
    assert (
        config.problems({"one": {"port": 1}, "two": {"port": 1}, "three": {"port": "a", "name": 1}, "four": ""}) == []
    )
    wrong = config.problems({"one": {"port": 70000}, "two": {"port": "a"}, "three": {"port": 1}, "four": 1})
    places = [line.rpartition("yaml#")[2] for line in wrong]
    assert places == [
        "/definitions/port/maximum)",
        "/definitions/port/type)",
        "/properties/three/properties/port/type)",
        "/x-hidden/0/deep~1er/type)",
    ]


def test_a_schema_may_contain_itself(written: Written) -> None:
    tree = written("properties: {name: {type: string}, inside: {type: array, default: [], items: {$ref: '#'}}}").config
    assert tree is not None
    assert tree.defaults({"inside": [{}]}) == {"inside": [{"inside": []}]}
    assert [line.split()[0] for line in tree.problems({"inside": [{"inside": [{"name": 1}]}]})] == [
        "inside[0].inside[0].name"
    ]


def test_a_property_may_be_named_like_a_reference(written: Written) -> None:
    config = written("properties: {$ref: {type: string}}").config
    assert config is not None
    assert config.problems({"$ref": "x"}) == []


EXTENDED = """
x-extend: {schema: config-values.yaml}
required: [own]
properties: {own: {}, both: {properties: {}}}
"""


def test_a_values_schema_extends_the_config_schema(written: Written) -> None:
    config = """
      required: [a]
      properties: {a: {type: string}, both: {type: string}}
      patternProperties: {^x: {type: integer}}
    """
    assert _problems(written, "values", {"a": "b", "own": 1, "both": {}, "x1": 1}, config, EXTENDED) == []
    wrong = _problems(written, "values", {"both": "text", "x1": "", "y": 1}, config, EXTENDED)
    assert [line.split(" (")[0] for line in wrong] == [
        "x1 must be of type integer, not string",
        "y is a forbidden property; known are a, both, own",
        "a is required",
        "own is required",
    ]
    assert _problems(written, "config", {"a": "b"}, config, EXTENDED) == []


def test_extending_nothing_is_nothing(written: Written) -> None:
    assert _problems(written, "values", {"own": 1}, None, EXTENDED) == []


def test_some_keys_are_required_only_for_helm(written: Written) -> None:
    text = """
      x-required-for-helm: a
      required: [b]
      properties:
        a: {}
        b: {properties: {c: {}}, x-required-for-helm: [c, d]}
        l: {items: {x-required-for-helm: e}}
    """
    value: JSON = {"b": {}, "l": [{}]}
    assert _problems(written, "values", value, None, text) == []
    assert [line.split()[0] for line in _problems(written, "helm", value, None, text)] == ["b.c", "b.d", "a"]


def test_required_for_helm_is_extended_too(written: Written) -> None:
    config = "{x-required-for-helm: [a], properties: {a: {}}}"
    wrong = _problems(written, "helm", {"own": 1}, config, EXTENDED)
    assert [line.split(" (")[0] for line in wrong] == ["a is required"]


def test_references_lead_into_other_files(written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared.yaml").write_text("""
      versions: [{spec: {properties: {port: {$ref: '#/port'}, beside: {$ref: 'deeper/beside.yaml'}}}}]
      port: {type: integer}
    """)
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper/beside.yaml").write_text("{type: string, maxLength: 1}")
    monkeypatch.chdir(tmp_path)
    for way in (tmp_path / "shared.yaml", "shared.yaml"):
        config = written(f"properties: {{a: {{$ref: '{way}#/versions/0/spec'}}}}").config
        assert config is not None
        assert config.problems({"a": {"port": 1, "beside": "a"}}) == []
        assert config.problems({"a": {"port": "x", "beside": "ab", "no": 1}}) == [
            f"a.port must be of type integer, not string ({tmp_path}/shared.yaml#/port/type)",
            f"a.beside must have at most 1 characters, not 2 ({tmp_path}/deeper/beside.yaml#/maxLength)",
            f"a.no is a forbidden property; known are port, beside "
            f"({tmp_path}/shared.yaml#/versions/0/spec/additionalProperties)",
        ]


@pytest.mark.parametrize("text", ["{}", "{additionalProperties: false}", "{properties: {a: {}}}"])
def test_the_global_section_may_have_enabled_modules(written: Written, text: str) -> None:
    assert _problems_of_all(written(text, text, "global"), {"enabledModules": ["a"]}) == []
    assert len(_problems_of_all(written(text, text, "it"), {"enabledModules": ["a"]})) == 3


def test_global_schema_may_define_enabled_modules(written: Written) -> None:
    schemas = written("properties: {enabledModules: {type: string}}", None, "global")
    assert len(_problems_of_all(schemas, {"enabledModules": ["a"]})) == 1


def _problems_of_all(schemas: Schemas, value: JSON) -> list[str]:
    each = (schemas.config, schemas.values, schemas.helm)
    return [line for schema in each if schema is not None for line in schema.problems(value)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "not YAML: line 2"),
        ("[1]", "must hold one schema"),
        ("just text", "must hold one schema"),
        ("{}\n---\n{}", "must hold one schema"),
        ("type: 5", "#/type must be one of object, array, string, integer, number, boolean, null"),
        ("properties: [a]", "#/properties must be an object"),
        ("properties: {a: text}", "#/properties/a must be a schema, which is an object"),
        ("properties: {a: {required: true}}", "#/properties/a/required must be a list of keys"),
        ("items: {minLength: long}", "#/items/minLength must be a whole number"),
        ("maximum: '5'", "#/maximum must be a number"),
        ("{minimum: 1, exclusiveMinimum: 1}", "#/exclusiveMinimum must be true or false"),
        ("multipleOf: '2'", "#/multipleOf must be a number"),
        ("minItems: 1.5", "#/minItems must be a whole number"),
        ("items: [5]", "#/items/0 must be a schema"),
        (
            "properties: {a: {$ref: '#/definitions/b'}}",
            "#/properties/a $ref #/definitions/b refers to nothing in this file",
        ),
        ("properties: {a: {$ref: 'other.yaml#/a'}}", "$ref other.yaml#/a refers to a file that cannot be read"),
        (r'properties: {a: {$ref: "a\0"}}', "refers to a file that cannot be read: embedded null byte"),
        (f"properties: {{a: {{$ref: {'x' * 300}}}}}", "refers to a file that cannot be read: File name too long"),
        ("definitions: {a: {$ref: '#/definitions/a'}}", "leads back to itself"),
        ("definitions: {a: {$ref: '#/definitions/b'}, b: {$ref: '#/definitions/a'}}", "leads back to itself"),
        ("definitions: {a: {allOf: [{$ref: '#/definitions/a'}]}}", "#/definitions/a applies itself"),
        (
            "properties: {c: {default: {}, properties: {c: {$ref: '#/properties/c'}}}}",
            "#/properties/c is filled with defaults without end",
        ),
        (
            "x-deckhouse-validations: rule",
            "#/x-deckhouse-validations must be a list of objects with `expression` and `message`",
        ),
        ("x-deckhouse-validations: [{expression: 'true'}]", "`expression` and `message`"),
        ("x-deckhouse-validations: [{expression: 'true', message: ' '}]", "`expression` and `message`"),
        ("{type: 5, properties: 5}", "null, or a list of them; #/properties must be an object"),
    ],
)
def test_invalid_schema_is_reported_with_its_file(written: Written, tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadModule) as caught:
        written(None, text)
    assert str(caught.value).startswith(f"{tmp_path / 'openapi' / 'values.yaml'}: ")
    assert said in str(caught.value)


def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "openapi" / "values.yaml").mkdir(parents=True)
    with pytest.raises(BadModule, match=r"openapi/values.yaml: cannot be read: Is a directory"):
        load(tmp_path, "it")


@pytest.mark.parametrize("levels", [220, 1000])
def test_endlessly_nested_schema_is_reported(written: Written, levels: int) -> None:
    with pytest.raises(BadModule, match="nested too deep"):
        written("{properties: {a: " * levels + "{}" + "}}" * levels)


def test_keys_with_nothing_behind_them_say_nothing(written: Written) -> None:
    config = written("{type: null, required: null, properties: {a: null}, items: null, default: null}").config
    assert config is not None
    assert config.problems({"a": 1}) == []


def test_values_of_an_addon_extend_its_spec(tmp_path: Path) -> None:
    (tmp_path / "openapi").mkdir()
    (tmp_path / "openapi/spec.yaml").write_text("""
      properties:
        port: {type: integer}
        config: {type: object, x-kubernetes-preserve-unknown-fields: true}
    """)
    (tmp_path / "openapi/values.yaml").write_text("properties: {internal: {type: string}}")
    schemas = load_of_addon(tmp_path, "addon")
    assert schemas.config
    assert schemas.values
    assert not schemas.values.problems({"port": 1, "internal": "x", "addon": {"name": "a"}, "config": {"any": 1}})
    assert "prot is a forbidden property" in schemas.config.problems({"prot": 1})[0]
    assert "addon is a forbidden property" in schemas.config.problems({"addon": {}})[0]

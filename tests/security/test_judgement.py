"""Any content of the ConfigMap is accepted or refused. An exception would end its watch, and again at each restart, so
that every user who may edit the ConfigMap could stop the program.

Level: sandbox."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrunner.errors import BadValues
from hookrunner.values.config_sections import parse
from hookrunner.values.schemas.schema_files import Schemas, load
from hookrunner.values.section import Section
from tests.examples import several
from tests.flows.modules.hooks import configmap
from tests.flows.modules.world import World

SCHEMA = """\
type: object
required: [must]
minProperties: 1
maxProperties: 12
dependencies: {text: [number], list: {required: [must]}}
patternProperties: {'^x-': {type: string, minLength: 2, maxLength: 9}}
properties:
  must: {type: string, default: there}
  text: {type: string, pattern: '^([a-z0-9]+-?)+$', enum: [aa, bb]}
  number: {type: number, minimum: 0.5, maximum: 9e300, multipleOf: 0.1, exclusiveMinimum: true}
  whole: {type: integer, format: int32, multipleOf: 3}
  float: {type: number, format: float}
  list: {type: array, uniqueItems: true, minItems: 1, maxItems: 3000, items: {type: [object, string, number]}}
  tuple: {type: array, items: [{type: string}, {type: integer}], additionalItems: {enum: [1, a, null, {b: []}]}}
  choice: {oneOf: [{type: string, format: date-time}, {type: object, not: {required: [a]}}, {multipleOf: 7}]}
  some: {anyOf: [{format: email}, {format: uri}, {format: cidr}, {format: mac}], nullable: true}
  all: {allOf: [{format: duration}, {format: hostname}, {format: date}, {format: ipv6}]}
  tree: {$ref: '#/definitions/tree'}
  free: {}
  judged:
    additionalProperties: true
    x-deckhouse-validations:
    - {expression: "self.items.all(x, self.items.exists_one(y, y == x))", message: items are unique}
    - {expression: "self.n % 2 == 1 || self.n * 2 > 3 || oldSelf.n == self.n", message: wrong n}
    - {expression: "self.t.matches(self.p) && timestamp(self.t) > timestamp(self.p)", message: wrong t}
    - {expression: "self", message: a value that is no boolean}
definitions:
  tree: {type: object, additionalProperties: {$ref: '#/definitions/tree'}}
"""
RULES = "x-deckhouse-validations: [{expression: 'self.l.all(x, self.l.exists_one(y, y == x))', message: not unique}]"
RULED = f"type: object\nproperties: {{n: {{type: string}}, l: {{type: array, items: {{type: integer}}}}}}\n{RULES}\n"


async def test_a_rule_over_its_cost_limit_refuses_the_value_and_the_program_goes_on(world: World) -> None:
    """The watch goes on, the program is ready, also after a restart."""
    template = configmap("a", "n: {{ .Values.a.n | quote }}")
    world.module("010-a", {"values.yaml": "a: {n: none, l: []}\n", "templates/cm.yaml": template})
    world.module("010-a", {"openapi/config-values.yaml": RULED})
    await world.configure(aEnabled="true", a="n: one")
    await world.start()
    await world.configure(a=json.dumps({"l": list(range(1500))}))
    await world.module_is("a", refused="looks at more than 10,000 items in all its loops")
    await world.configure(a="n: two")
    await world.becomes("a", n="two")
    assert world.operator.readyz().ready
    assert world.operator.metric("background_crashes_total") == 0
    await world.configure(a=json.dumps({"l": list(range(1500))}))
    await world.again()
    await world.module_is("a", refused="looks at more than 10,000 items in all its loops")
    await world.configure(a="n: three")
    await world.becomes("a", n="three")


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Schemas:
    """With all keywords."""
    directory: Path = tmp_path_factory.mktemp("module")
    (directory / "openapi").mkdir()
    (directory / "openapi" / "config-values.yaml").write_text(SCHEMA)
    return load(directory, "it")


NUMBERS = st.integers(-(2**64), 2**64) | st.floats() | st.sampled_from([10**308, 10**400, -(10**4000), 2**63, 5e-324])
TEXTS = st.text(max_size=20) | st.sampled_from(
    [
        "a" * 40 + "!",
        "1" * 5000,
        "(" * 3000 + ">",
        "<a@" * 999,
        "٣",
        "\ud800",
        "\0",
        "0x_",
        "1_0",
        "=",
        "<<",
        "2024-02-30",
        "~",
        "é\u0301",
    ]
)
DIGITS = st.sampled_from(
    ["number: " + "9" * 5000, "number: 1e999999999", "judged: {n: 0x" + "f" * 9000 + "}", "whole: 0b1_1"]
)
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS
KEYS = (
    st.sampled_from(
        [
            "must",
            "text",
            "number",
            "whole",
            "float",
            "list",
            "tuple",
            "choice",
            "some",
            "all",
            "tree",
            "free",
            "judged",
            "items",
            "n",
            "t",
            "p",
            "x-a",
            "a",
        ]
    )
    | TEXTS
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS | NUMBERS, inner, max_size=6),
    max_leaves=15,
)
LARGE = st.sampled_from(
    [
        {"items": list(range(1500))},
        {"list": [{"a": n} for n in range(2999)]},
        {"tree": json.loads('{"a":' * 150 + "{}" + "}" * 150)},
        {"judged": json.loads('{"items":' * 150 + "[]" + "}" * 150)},
        {"text": "a" * 900_000},
    ]
)
FILES = st.dictionaries(KEYS, VALUES, max_size=6) | LARGE | LARGE.map(lambda one: {"judged": one}) | VALUES


@pytest.mark.slow
@given(before=FILES, after=FILES, raw=st.text(max_size=40) | DIGITS)
@settings(max_examples=several(150), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_every_section_is_accepted_or_refused(schemas: Schemas, before: Any, after: Any, raw: str) -> None:
    section = Section("it", {"must": "be"}, schemas).computed()
    for text in (_written(before), _written(after), raw):
        config = parse({"it": text, "itEnabled": "true"})
        with suppress(BadValues):
            section = section.configured(config.sections.get("it"), None, True)


def _written(value: Any) -> str:
    """As YAML. The dumper in C is quick, and refuses halves of characters."""
    try:
        return str(yaml.dump(value, Dumper=yaml.CSafeDumper, allow_unicode=True))
    except UnicodeEncodeError:
        return yaml.safe_dump(value, allow_unicode=True)

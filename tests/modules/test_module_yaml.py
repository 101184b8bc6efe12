"""The page about module.yaml and the JSON Schema say what the code does. Level: pure."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import orjson
import yaml
from jsonschema import Draft202012Validator

from hookrunner.errors import BadModule
from hookrunner.model.modules import Traits
from hookrunner.model.units import Drift
from hookrunner.modules import traits
from hookrunner.ranges import parse
from kubetypes.json_values import JSON
from tests.tables import each

PAGE = (Path(__file__).parents[2] / "docs" / "module-yaml.md").read_text()
SCHEMA: JSON = traits.MODULE_SCHEMA.document
VALIDATOR = Draft202012Validator(SCHEMA)
KEYS = traits.MODULE_SCHEMA.properties


def camel(field: str) -> str:
    first, *rest = {"drift": "drift_detection"}.get(field, field).split("_")
    return first + "".join(word.title() for word in rest)


def test_the_schema_is_one_and_the_pages_example_fits_it_and_has_every_key() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"].endswith("/module.schema.json")
    assert tuple(KEYS["driftDetection"]["enum"]) == get_args(Drift)
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    document = yaml.safe_load(example)
    VALIDATOR.validate(document)
    assert document.keys() == KEYS.keys()
    assert document["requires"].keys() == KEYS["requires"]["properties"].keys()
    description = traits.parse(example.encode(), "module.yaml")
    assert (description.name, description.weight, description.unknown) == ("ingress-nginx", 30, ())
    assert description.traits.modules == (("cert-manager", ""), ("dns", ">=1.2, <2"))


def test_the_schema_has_every_trait_with_its_default() -> None:
    plain = {camel(name): value for name, value in asdict(Traits()).items()}
    required = {name: plain.pop(name) for name in ("modules", "kubernetes")}
    assert {name: KEYS[name].get("default", "") for name in plain} == plain
    assert KEYS.keys() - plain.keys() == {"name", "weight", "requires"}
    of_requires = KEYS["requires"]["properties"]
    assert {name: of_requires[name]["default"] for name in required} == {**required, "modules": []}


@each(
    "document",
    [
        {},
        {"tags": ["x"], "requires": {"deckhouse": ">=1"}},
        {"weight": 2147483647, "wait": True, "driftDetection": "off", "requires": {"modules": []}},
        {"weight": -1},
        {"weight": 2147483648},
        {"weight": "1"},
        {"gate": "yes"},
        {"version": 1.2},
        {"driftDetection": "fix"},
        {"requires": []},
        {"requires": {"modules": "a"}},
        {"requires": {"modules": [" "]}},
        {"requires": {"kubernetes": 1.28}},
        {"namespace": None},
        [],
    ],
)
def test_the_schema_and_the_code_take_the_same(document: JSON) -> None:
    try:
        traits.parse(orjson.dumps(document), "module.yaml")
        taken = True
    except BadModule:
        taken = False
    assert VALIDATOR.is_valid(document) == taken


def test_every_key_has_a_row_on_the_page() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \|", PAGE, re.MULTILINE)
    nested = [f"requires.{name}" for name in KEYS["requires"]["properties"]]
    assert sorted(rows) == sorted([*(name for name in KEYS if name != "requires"), *nested])


def test_the_ranges_on_the_page_can_be_read() -> None:
    table = PAGE.partition("## Ranges of versions")[2]
    ranges = re.findall(
        r"`([^`]+)`", "\n".join(row.split(" | ")[0] for row in re.findall(r"^\| `.*", table, re.MULTILINE))
    )
    assert len(ranges) > 15
    assert [wanted for wanted in ranges if not parse(wanted.replace("\\", ""))] == []

"""The schema of the chart's values: it has every value and every setting, and Helm names what is wrong.

Level: pure."""

import json
from collections.abc import Iterator

import pytest
import yaml

from hookrunner.settings import options
from kubetypes.json_values import JSON
from tests.fakes.chart import CHART, read_refusal
from tests.tables import each

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.load((CHART / "values.yaml").read_text(), yaml.CSafeLoader)
OPTIONAL = {
    "global",
    *(f"webhooks.issuerRef.{key}" for key in ("kind", "name", "group")),
    "resources.claims",
}


def named_keys(schema: JSON, path: str = "") -> Iterator[str]:
    for key, rule in schema.get("properties", {}).items():
        if path != "settings.":
            yield path + key
            yield from named_keys(rule, f"{path}{key}.")


def is_default(path: str) -> bool:
    found = VALUES
    for key in path.split("."):
        if not isinstance(found, dict) or key not in found:
            return False
        found = found[key]
    return True


def test_every_setting_is_a_value() -> None:
    assert list(SCHEMA["properties"]["settings"]["properties"]) == sorted(option.flag for option in options())


def test_the_schema_names_no_value_that_values_yaml_lacks() -> None:
    assert {path for path in named_keys(SCHEMA) if not is_default(path)} == OPTIONAL


def spoilt(value: JSON) -> JSON:
    """A value of another type in each place, and one key more in each map."""
    if isinstance(value, dict) and value:
        return {"unknown": 1, **{key: spoilt(one) for key, one in value.items()}}
    return "x" if isinstance(value, dict | list) else []


def refusals(value: JSON, path: str = "") -> Iterator[str]:
    """How helm begins to name all that is spoilt."""
    if isinstance(value, dict) and value:
        yield f"at '{path}': additional properties 'unknown' not allowed"
        for key, one in value.items():
            yield from refusals(one, f"{path}/{key}")
    else:
        yield f"at '{path}': "


def test_no_place_takes_another_type_and_no_map_an_unknown_key() -> None:
    values = spoilt(VALUES).items()
    refusal = read_refusal(*(word for key, value in values for word in ("--set-json", f"{key}={json.dumps(value)}")))
    taken = [words.split("'")[1] for words in refusals(VALUES) if words not in refusal]
    assert taken == ["/monitoring/dashboard/labels", "/resources/requests", "/resources/limits"], "their keys are free"


WRONG = [
    ("port=http", "at '/port': got string, want integer"),
    ("hostNetwork=yes", "at '/hostNetwork': got string, want boolean"),
    ("image.tag=2026", "at '/image/tag': got number, want string"),
    (
        "image.pullPolicy=Sometimes",
        "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'",
    ),
    ("prot=1", "at '': additional properties 'prot' not allowed"),
    ("settings.log-levle=debug", "at '/settings': additional properties 'log-levle' not allowed"),
    ("webhooks.clientCa.secret=a", "at '/webhooks': additional properties 'clientCa' not allowed"),
    ("tmpSizeLimit=256MB", "at '/tmpSizeLimit': '256MB' does not match pattern"),
    ("rbac.rules[0].verb=get", "at '/rbac/rules/0': missing property 'verbs'"),
    ("env[0].name=A,env[0].value=true", "at '/env/0/value': got boolean, want string"),
    ("hooks.a/b=x", "at '/hooks': additional properties 'a/b' not allowed"),
    ("serviceAccount.name=Me", "at '/serviceAccount/name': 'Me' does not match pattern"),
    ("service.annotations.a=1", "at '/service/annotations/a': got number, want string"),
    ("modules.volumes[0].image=ours", "at '/modules/volumes/0': missing property 'name'"),
    ("addons.kinds.web.group=example.com", "at '/addons/kinds/web': missing property 'plural'"),
]
"""Flags, and how helm names what is wrong with them: all that a schema refuses is named at once."""
WRONG_TOO = [
    ("port=70000", "at '/port': maximum: got 70,000, want 65,535"),
    ("rbac.rules=all", "at '/rbac/rules': got string, want array"),
]


@pytest.mark.slow
@each("rows", [WRONG, WRONG_TOO])
def test_a_wrong_value_is_refused_by_its_path(rows: list[tuple[str, str]]) -> None:
    refusal = read_refusal("--set", ",".join(flags for flags, _ in rows))
    assert [words for _, words in rows if words not in refusal] == []

"""Whatever stands in an `addon.yaml`, a schema or an object is refused or read, and never a fault. Level: pure."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hookrunner.addons.files.addon_file import parse_document, to_addon
from hookrunner.addons.files.addon_file_rules import ADDON_SCHEMA
from hookrunner.addons.gates.gate_world import GateWorld
from hookrunner.addons.gates.gates import closed_gate
from hookrunner.addons.instance_fields import SHAPES, read_instance
from hookrunner.errors import BadAddon
from kubetypes.json_values import JSON
from tests.addons.conftest import addon, instance_of
from tests.examples import several

VALIDATOR = Draft202012Validator(ADDON_SCHEMA.document)
KEYS = ADDON_SCHEMA.properties
PLAIN = "a A a.b ../x v1/Pod >=1.2 10m 0s one cni stable 1..2 é Orphan"
WORDS = st.sampled_from(["", "x y", "\n", *PLAIN.split()])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-1, 200), st.floats(allow_nan=False, width=16), WORDS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)


def table(*keys: str) -> st.SearchStrategy[JSON]:
    return st.one_of(VALUES, st.fixed_dictionaries({}, optional={key: VALUES for key in keys}))


FILES = st.fixed_dictionaries(
    {"object": st.one_of(st.just({"kind": "A"}), table(*KEYS["object"]["properties"]))},
    optional={key: VALUES for key in KEYS if key not in ("object", "requires")}
    | {"requires": table(*KEYS["requires"]["properties"])},
)


@pytest.mark.slow
@settings(max_examples=several(300))
@given(FILES)
def test_any_addon_file_is_read_or_refused(document: JSON) -> None:
    """And the schema for editors refuses nothing that is read."""
    try:
        read = parse_document(orjson.dumps(document), "addon.yaml")
    except BadAddon:
        return
    of = to_addon(read, Path("/addons/a"), Path("/addons"))
    assert of.defaults.timeout >= 1
    assert not list(VALIDATOR.iter_errors(read))


@settings(max_examples=several(300))
@given(st.binary(max_size=50))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    try:
        parse_document(text, "addon.yaml")
    except BadAddon:
        pass


@pytest.mark.slow
@settings(max_examples=several(300))
@given(table(*SHAPES, "own"))
def test_any_spec_is_an_instance_with_usable_fields(spec: JSON) -> None:
    of = addon()
    instance = read_instance(of, instance_of(spec))
    fields = instance.fields
    assert fields.update_policy in ("automatic", "notify", "manual")
    assert fields.timeout >= 1
    assert all(isinstance(patch, dict) for patch in fields.patches)
    obstacle = closed_gate(instance, of, GateWorld())
    assert bool(obstacle) == bool(instance.problems or fields.suspend)

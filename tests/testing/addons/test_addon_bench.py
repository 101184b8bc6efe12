"""What an offline cluster serves."""

from pathlib import Path

import pytest

from hookrunner.addons.addon_discovery import find_addons
from hookrunner.addons.instance_fields import read_instance
from hookrunner.errors import RunBlocked
from hookrunner.model.releases import Capabilities
from hookrunner.testing.addons.addon_bench import require_rules, with_definitions
from kubetypes.json_values import JSON

RULE = """
type: object
properties: {a: {type: integer}, b: {type: integer}}
x-kubernetes-validations: [{rule: "self.a < self.b", message: a must be below b}]
"""
BUILT_IN = Capabilities("v1.36.3", ("v1",))


def definition(**spec: JSON) -> JSON:
    return {"kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"}, "spec": spec}


def test_kinds_of_given_definitions_are_served() -> None:
    versions = [{"name": "v1"}, {"name": "v1alpha1", "served": False}]
    things = definition(group="example.com", names={"kind": "Thing"}, versions=versions)
    other = {"kind": "ConfigMap", "metadata": {"name": "a"}}
    served = with_definitions(BUILT_IN, [other, things]).api_versions
    assert served == ("example.com/v1", "example.com/v1/Thing", "v1")


def test_incomplete_definitions_serve_nothing() -> None:
    broken = {"kind": "CustomResourceDefinition", "metadata": {"name": "a"}}
    assert with_definitions(BUILT_IN, [broken, definition(group="example.com")]) == BUILT_IN


def test_rule_of_the_kind_is_asked_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "web/openapi").mkdir(parents=True)
    (tmp_path / "web/addon.yaml").write_text("object: {kind: Web}")
    (tmp_path / "web/openapi/spec.yaml").write_text(RULE)
    (web,) = find_addons([tmp_path]).addons
    document = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "Web", "metadata": {"name": "x", "namespace": "y"}}
    require_rules(web, read_instance(web, {**document, "spec": {"a": 1, "b": 2}}))
    with pytest.raises(RunBlocked, match="Web x: spec: a must be below b"):
        require_rules(web, read_instance(web, {**document, "spec": {"a": 2, "b": 2}}))

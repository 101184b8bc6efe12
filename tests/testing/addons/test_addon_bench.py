"""What an offline cluster serves."""

from hookrunner.model.releases import Capabilities
from hookrunner.testing.addons.addon_bench import with_definitions
from kubetypes.json_values import JSON

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

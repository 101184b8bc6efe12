"""Layers of an instance's values, from an addon's files. Level: pure."""

from collections.abc import Mapping

import orjson
import pytest

from hookrunner.addons.addon_values import AddonValues, known_of, read_addon_values, shared_values
from hookrunner.addons.files.addon_file import read_addon
from hookrunner.addons.instance_fields import read_instance
from hookrunner.addons.version_resolver import ResolvedVersion
from hookrunner.errors import BadAddon, BadValues
from hookrunner.model.operations import ValuesOperation
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON
from tests.addons.conftest import MakeTree, addon, instance_of

UNIT = "metrics-server.kube-system.default"
KNOWN = {"name": "default", "namespace": "kube-system", "kind": "MetricsServer", "version": "0.8.0"}
KNOWN |= {"previousVersion": "", "availableVersion": "", "channel": ""}
FILES = {
    "values.yaml": "global: {dns: {domain: a.b}}\nmetricsServer: {low: 0, spec: 0, user: 0}",
    "openapi/spec.yaml": (
        "type: object\nrequired: [user]\nproperties:\n"
        "  low: {type: integer, default: 1}\n  spec: {type: integer, default: 1}\n  user: {type: integer}\n"
        "  absent: {type: integer, default: 1}\n"
        "  open: {type: object, x-kubernetes-preserve-unknown-fields: true}"
    ),
    "openapi/values.yaml": "type: object\nproperties: {internal: {type: object, default: {}, properties: {x: {}}}}",
}


def read(tree: MakeTree, files: Mapping[str, str]) -> AddonValues:
    name = "metrics-server"
    made = {"addon.yaml": "object: {kind: MetricsServer}", **files}
    root = tree({f"{name}/{path}": text for path, text in made.items()})
    return read_addon_values(read_addon(root / name, root))


def store_of(layers: AddonValues, spec: JSON) -> SectionStore:
    store = SectionStore({"global": shared_values([layers], {})}, {})
    store.add(UNIT, "metricsServer", layers.schemas)
    store.describe(UNIT, layers.of_instance(KNOWN), spec)
    return store


def test_layers_lie_over_each_other(tree: MakeTree) -> None:
    store = store_of(read(tree, FILES), {"user": 3})
    store.patch(UNIT, [ValuesOperation("add", "/metricsServer/internal/x", 5)])
    store.for_helm(UNIT)
    values = orjson.loads(store.files(UNIT).values)
    assert values == {
        "global": {"dns": {"domain": "a.b"}},
        "metricsServer": {"addon": KNOWN, "low": 0, "spec": 0, "absent": 1, "user": 3, "internal": {"x": 5}},
    }
    layers = {origin.pointer.removeprefix("/metricsServer"): origin.layer for origin in store.explain(UNIT)}
    assert (layers["/low"], layers["/user"], layers["/absent"]) == ("values.yaml", "spec", "default of spec.yaml")
    assert (layers["/internal/x"], layers["/addon/version"]) == ("patch of a hook", "instance")


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        ({"user": "three"}, r"user must be of type integer.*openapi/spec\.yaml#/properties/user/type"),
        ({"user": 1, "usr": 1}, r"usr is a forbidden property.*did you mean 'user'"),
        ({"user": 1, "addon": {}}, "addon is a forbidden property"),
    ],
)
def test_fields_that_the_schema_does_not_allow_are_refused(tree: MakeTree, spec: JSON, part: str) -> None:
    with pytest.raises(BadValues, match=part):
        store_of(read(tree, FILES), spec)


def test_unknown_fields_are_allowed_where_the_schema_says_so(tree: MakeTree) -> None:
    store = store_of(read(tree, FILES), {"user": 1, "open": {"any": [1]}})
    assert store.effective(UNIT)["open"] == {"any": [1]}


def test_required_fields_that_are_missing_are_refused_before_rendering(tree: MakeTree) -> None:
    store = store_of(read(tree, FILES | {"values.yaml": ""}), {})
    with pytest.raises(BadValues, match="user is required"):
        store.for_helm(UNIT)


def test_hooks_cannot_patch_what_is_known_of_the_instance(tree: MakeTree) -> None:
    store = store_of(read(tree, FILES), {"user": 1})
    with pytest.raises(BadValues, match="hooks cannot change /metricsServer/addon"):
        store.patch(UNIT, [ValuesOperation("add", "/metricsServer/addon/version", "9")])


def test_an_addon_without_files_takes_any_field(tree: MakeTree) -> None:
    store = store_of(read(tree, {}), {"a": 1})
    assert store.effective(UNIT).keys() == {"a", "addon"}


def test_shared_values_lie_below_those_of_the_modules(tree: MakeTree) -> None:
    first, second = AddonValues(shared={"dns": {"a": 1, "b": 1}}), AddonValues(shared={"dns": {"b": 2, "c": 2}})
    assert shared_values([first, second], {"dns": {"c": 3}}) == {"dns": {"a": 1, "b": 2, "c": 3}}
    assert shared_values([], None) == {}


def test_what_is_known_comes_from_the_instance() -> None:
    coredns = addon()
    known = known_of(
        read_instance(coredns, instance_of({})),
        coredns,
        ResolvedVersion("1.14.6", "stable", available="1.15.0"),
        "1.14.2",
    )
    assert known == {
        "name": "default",
        "namespace": "kube-system",
        "kind": "CoreDNS",
        "version": "1.14.6",
        "previousVersion": "1.14.2",
        "availableVersion": "1.15.0",
        "channel": "stable",
    }


@pytest.mark.parametrize(
    ("files", "part"),
    [
        ({"values.yaml": "a: ["}, "values.yaml: not YAML"),
        ({"values.yaml": "[a]"}, "values.yaml: must have keys with values"),
        ({"values.yaml": "metricsServer: text"}, "`metricsServer` must be a map of values, not a text"),
        ({"values.yaml": "global: [1]"}, "`global` must be a map of values, not a list"),
        ({"values.yaml": "metricsServer: {addon: {}}"}, "`metricsServer.addon` is what hookrunner says"),
        ({"openapi/values.yaml": "type: [a"}, "openapi/values.yaml: not YAML"),
        ({"openapi/spec.yaml": "type: object\nproperties: {a: {$ref: '#/b'}}"}, "$ref #/b refers to nothing"),
    ],
)
def test_files_that_cannot_be_used_are_refused(tree: MakeTree, files: Mapping[str, str], part: str) -> None:
    with pytest.raises(BadAddon) as refused:
        read(tree, files)
    assert part in str(refused.value)


def test_unknown_keys_of_values_are_logged(tree: MakeTree, capfd: pytest.CaptureFixture[str]) -> None:
    read(tree, {"values.yaml": "metricsserver: {a: 1}"})
    assert "keys=metricsserver" in capfd.readouterr().err

"""An instance is built offline as in a running hookrunner, for a cluster that has what it is given. Level: FakeApi."""

from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.addons.addon_discovery import AddonCatalog, find_addons
from hookrunner.addons.build_request import BuildTerms
from hookrunner.addons.instance_fields import read_instance
from hookrunner.addons.object_builder import BuiltRelease, ObjectBuilder
from hookrunner.charts.renderer import Renderer
from hookrunner.errors import BadPatch, HookrunnerError, PackageError, RunBlocked
from hookrunner.manifests.program_runner import ProgramRunner
from hookrunner.model.releases import Capabilities, RenderedChart
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.settings import own_environment
from hookrunner.testing.addons.addon_bench import AddonBench, check_fields, require_rules, scopes_in, with_definitions
from hookrunner.testing.bench import Bench
from kubetypes.json_values import JSON
from tests.instances.planner_world import World, plan
from tests.instances.samples import document

RULE = """
type: object
properties: {a: {type: integer}, b: {type: integer}}
x-kubernetes-validations: [{rule: "self.a < self.b", message: a must be below b}]
"""
BUILT_IN = Capabilities("v1.36.3", ("v1",))


def definition_of(**spec: JSON) -> JSON:
    return {"kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"}, "spec": spec}


def test_kinds_of_given_definitions_are_served() -> None:
    versions = [{"name": "v1"}, {"name": "v1alpha1", "served": False}]
    things = definition_of(group="example.com", names={"kind": "Thing"}, versions=versions)
    other = {"kind": "ConfigMap", "metadata": {"name": "a"}}
    served = with_definitions(BUILT_IN, [other, things]).api_versions
    assert served == ("example.com/v1", "example.com/v1/Thing", "v1")


def test_incomplete_definitions_serve_nothing() -> None:
    broken = {"kind": "CustomResourceDefinition", "metadata": {"name": "a"}}
    assert with_definitions(BUILT_IN, [broken, definition_of(group="example.com")]) == BUILT_IN


def test_rule_of_the_kind_is_asked_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "web/openapi").mkdir(parents=True)
    (tmp_path / "web/addon.yaml").write_text("object: {kind: Web}")
    (tmp_path / "web/openapi/spec.yaml").write_text(RULE)
    (web,) = find_addons([tmp_path]).addons
    document = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "Web", "metadata": {"name": "x", "namespace": "y"}}
    require_rules(web, read_instance(web, {**document, "spec": {"a": 1, "b": 2}}))
    with pytest.raises(RunBlocked, match="Web x: spec: a must be below b"):
        require_rules(web, read_instance(web, {**document, "spec": {"a": 2, "b": 2}}))


async def test_given_definitions_tell_which_kinds_have_namespaces() -> None:
    zones = definition_of(group="a.io", names={"kind": "Zone"}, scope="Namespaced")
    read_scopes = scopes_in([zones | {"apiVersion": "apiextensions.k8s.io/v1"}])
    assert await read_scopes([("a.io/v1", "Zone"), ("a.io/v1", "Odd")]) == {("a.io/v1", "Zone"): True}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An addon with a placeholder and two versions; the channel leads to the first."""
    world = World(tmp_path)
    world.put("2.0", package="hookrunner: '>=99'\n")
    world.put("1.0")
    (tmp_path / "dns").mkdir()
    (tmp_path / "dns/values.yaml").write_text("dns: {text: hi}\n")
    world.addon = replace(world.addon, directory=tmp_path / "dns")
    return world


@pytest.fixture
def offline(world: World, tools: Bench) -> AddonBench:
    catalog, source = AddonCatalog((world.addon,)), DirectorySource(world.directory)
    runner = ProgramRunner(tools.children, world.directory)
    builder = ObjectBuilder(Renderer(), runner, own_environment())
    return AddonBench(catalog, lambda _addon: source, tools, builder, BuildTerms(quotes=True), world.directory)


async def test_objects_are_those_of_a_running_hookrunner(offline: AddonBench, world: World) -> None:
    patch = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"more": "yes"}}
    instance = document(spec={"patches": [patch], "text": "hello"})
    built = await offline.build(instance, (), BUILT_IN)
    planned = await plan(world.live(read_instance(world.addon, instance)))
    assert built.objects == (await planned.build.render(True)).objects
    assert (built.version, built.objects[0]["data"]) == (planned.version, {"text": "hello", "more": "yes"})


@pytest.mark.parametrize(
    ("spec", "error"),
    [({"version": "2.0"}, RunBlocked), ({"version": "9.9"}, PackageError), ({"channel": "next"}, RunBlocked)],
)
async def test_refusal_is_that_of_a_running_hookrunner(
    spec: JSON, error: type[HookrunnerError], offline: AddonBench, world: World
) -> None:
    instance = document(spec=spec)
    with pytest.raises(error) as refused:
        await offline.build(instance, (), BUILT_IN)
    with pytest.raises(RunBlocked) as live:
        await plan(world.live(read_instance(world.addon, instance)))
    assert str(live.value) == str(refused.value)


def built(*, before: JSON = None) -> BuiltRelease:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}, "datta": {}}
    unpatched: dict[tuple[str, ...], JSON] = {("", "ConfigMap", "x", "a"): before} if before else {}
    return BuiltRelease(RenderedChart("", (obj,), (), "", None, unpatched))


def test_unknown_field_of_the_package_is_noted() -> None:
    for release in (built(), built(before={"datta": {}})):
        (note,) = check_fields(release)
        assert "ConfigMap a" in note
        assert note.endswith("does not know .datta and ignores it; did you mean 'data'?")


def test_unknown_field_of_a_patch_is_refused() -> None:
    with pytest.raises(BadPatch, match="did you mean 'data'") as refused:
        check_fields(built(before={"data": {}}))
    assert refused.value.reason == "SchemaInvalid"


def test_unknown_field_of_a_custom_kind_is_noted_by_its_definition() -> None:
    obj = {"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"repicas": 1}}
    spec = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}
    names = {"group": "x.io", "names": {"kind": "Widget"}, "versions": [version]}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": names}
    definition["metadata"] = {"name": "widgets.x.io"}
    assert check_fields(BuiltRelease(RenderedChart("", (obj,), (), "", None))) == []
    for objects, given in (((obj,), [definition]), ((definition, obj), [])):
        (note,) = check_fields(BuiltRelease(RenderedChart("", objects, (), "", None)), given)
        assert note.endswith("does not know .spec.repicas and ignores it; did you mean 'replicas'?")

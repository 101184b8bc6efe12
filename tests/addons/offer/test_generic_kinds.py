"""What objects of the kind Generic lead to. Level: pure."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookrunner.addons.instance_fields import read_instance
from hookrunner.addons.offer.generic_kinds import (
    GENERIC,
    GenericVerdict,
    GenericWorld,
    addon_name,
    decide,
    is_below,
    make_definition,
)
from hookrunner.model.addons import Instance
from hookrunner.model.resources import Resource
from hookrunner.packages.mirrors import Mirrors
from hookrunner.packages.source_locations import DirectoryLocation
from kubetypes.json_values import JSON
from tests.addons.conftest import addon
from tests.tables import each

KIND = {"group": "example.com", "kind": "Widget", "version": "v1"}
WIDGET = Resource("example.com/v1", "Widget", "widgets", True)
WORLD = GenericWorld(resources={("example.com/v1", "Widget"): WIDGET}, prefixes=("/srv/widgets",))


def generic(name: str = "x", created: int = 1, channel: JSON = "/srv/widgets/a", kind: JSON = None) -> Instance:
    metadata = {"name": name, "namespace": "apps", "uid": name, "creationTimestamp": f"2026-01-01T00:00:{created:02}Z"}
    head = {"apiVersion": GENERIC.object.api_version, "kind": "Generic", "metadata": metadata}
    return read_instance(GENERIC, {**head, "spec": {"objectKind": kind or KIND, "channel": channel}})


def one(of: Instance, world: GenericWorld = WORLD) -> GenericVerdict:
    (verdict,) = decide([of], world)
    return verdict


def test_kind_becomes_an_addon_with_defaults_and_without_files() -> None:
    verdict = one(generic())
    assert verdict.offered
    made = verdict.offered.addon
    assert (verdict.state.phase, verdict.offered.location) == ("Current", DirectoryLocation(Path("/srv/widgets/a")))
    assert (made.name, made.key, made.component, made.instances) == ("widget-example-com", "widget", "widget", "one")
    assert (made.object.resource, made.object.crd, made.directory.exists()) == (WIDGET, "external", False)
    assert made.defaults == addon().defaults


def refused(**parts: str) -> Mapping[str, Any]:
    return {"kind": KIND | parts}


@each(
    ("changes", "phase", "words"),
    [
        (refused(group="addons.x-k8s.io", kind="Generic"), "RenderFailed", "Generic cannot be an addon itself"),
        (refused(group="addons.x-k8s.io", kind="generic"), "RenderFailed", "Generic cannot be an addon itself"),
        (refused(group="apps", kind="Deployment"), "RenderFailed", "is a kind of Kubernetes"),
        (refused(group="coordination.k8s.io", kind="Lease"), "RenderFailed", "is a kind of Kubernetes"),
        (refused(group="apiextensions.k8s.io", kind="CustomResourceDefinition"), "RenderFailed", "hookrunner itself"),
        (refused(kind="Wid-get"), "RenderFailed", "spec.objectKind.kind is missing or wrong"),
        ({"kind": {"kind": "Widget"}}, "RenderFailed", "spec.objectKind.group is missing or wrong"),
        ({"kind": "Widget"}, "RenderFailed", "spec.objectKind is missing"),
        ({"channel": ""}, "RenderFailed", "spec.channel is missing"),
        ({"channel": "/srv/other"}, "RenderFailed", "not among the locations that --addon-generic-sources allows"),
        ({"channel": "https://u:p@x/\x1b[1m"}, "RenderFailed", "not among the locations"),
        (refused(version="v2"), "Pending", "waiting for the kind Widget (example.com/v2)"),
    ],
)
def test_what_cannot_be_an_addon_is_refused_or_waits(changes: Mapping[str, Any], phase: str, words: str) -> None:
    verdict = one(generic(**changes))
    assert (verdict.state.phase, verdict.offered) == (phase, None)
    assert words in verdict.state.message
    assert "\x1b" not in verdict.state.message


def test_of_two_the_older_one_counts_and_the_other_follows_it() -> None:
    """Also of one kind in two versions, since these are the same objects."""
    older, younger = generic("b", 1), generic("a", 2, kind=KIND | {"version": "v2"})
    first, second = decide([younger, older], WORLD)
    assert (first.generic.name, first.state.phase, second.state.phase) == ("b", "Current", "Conflict")
    assert "is an addon by Generic apps/b, which is older" in second.state.message
    assert one(replace(younger, document=generic("a", 2).document)).state.phase == "Current"


def test_refused_one_keeps_no_younger_one_out() -> None:
    verdicts = decide([generic("a", 1, channel="/elsewhere"), generic("b", 2)], WORLD)
    assert [verdict.state.phase for verdict in verdicts] == ["RenderFailed", "Current"]


def test_kind_of_a_directory_is_a_conflict() -> None:
    taken = addon("things", "Widget", of={"group": "example.com"})
    assert "is the kind of the addon things" in one(generic(), replace(WORLD, addons=(taken,))).state.message


def test_allowed_location_is_looked_for_in_its_mirror() -> None:
    """What is allowed is the location that the object names, wherever its packages lie."""
    verdict = one(generic(), replace(WORLD, mirrors=Mirrors({"/srv/widgets": "/mirror"})))
    assert verdict.offered
    assert verdict.offered.location == DirectoryLocation(Path("/mirror/a"))


def test_namespaces_of_instances_are_those_of_generics() -> None:
    verdict = one(generic(), replace(WORLD, namespaces=("kube-system",)))
    assert (verdict.state.phase, verdict.state.reason, verdict.offered) == ("Conflict", "Namespace", None)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("https://a.example/x", True),
        ("https://a.example/x/", True),
        ("https://a.example/x/y", True),
        ("https://a.example/xy", False),
        ("https://a.example/x/../y", False),
        ("https://a.example/x/%2e%2e/y", False),
        ("https://a.example/x\\..\\y", False),
        ("https://a.example/x/.\t./y", False),
        ("https://a.example/x/.\n./y", False),
        ("https://a.example/x@evil.example/", False),
        ("https://a.example", False),
        ("", False),
    ],
)
def test_location_is_allowed_by_whole_parts_of_its_path(text: str, allowed: bool) -> None:
    assert is_below(text, "https://a.example/x/") is allowed


@each(
    "rest, allowed",
    [
        ("", True),
        ("//widgets", True),
        ("//widgets?ref=v1", True),
        ("?ref=release/1.0", True),
        ("/sub//widgets", True),
        ("-evil", False),
        ("-evil//widgets?ref=v1", False),
        (".git", False),
        ("@evil.example//widgets", False),
        ("/..?ref=v1", False),
        ("/../evil//widgets", False),
        ("/.\t./evil", False),
        ("//widgets/..", False),
    ],
)
def test_repository_is_allowed_with_its_directories_and_references(rest: str, allowed: bool) -> None:
    top = "git::https://host.example/repo"
    assert is_below(top + rest, top) is allowed
    assert is_below(f"git::https://host.example@evil.example/repo{rest}", top) is False
    assert is_below(f"git::https://me@host.example/repo{rest}", top) is False


def test_reference_that_is_allowed_allows_no_other_one() -> None:
    top = "git::https://host.example/repo//widgets?ref=v1"
    others = [f"{top}{rest}" for rest in ("/2", "?ref=v2", "0", "?ref=v1/2")] + [top.replace("v1", "v2"), top[:-7]]
    assert is_below(top, top)
    assert [text for text in others if is_below(text, top)] == []


def test_prefix_of_a_host_allows_no_other_host() -> None:
    hosts = ["https://a.example.evil/x", "https://a.example@evil/x", "https://a.example:8443/x", "http://a.example/x"]
    assert [host for host in hosts if is_below(host, "https://a.example")] == []


def test_names_of_addons_tell_groups_apart_and_are_short() -> None:
    groups = ["example.com", "example.org", *(f"{number}.{'very-' * 9}long.example.com" for number in range(2))]
    names = {addon_name(group, "Widget") for group in groups}
    assert len(names) == len(groups)
    assert max(map(len, names)) <= 40


def test_definition_has_upstreams_fields_and_a_status() -> None:
    definition = make_definition()
    (version,) = definition["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert definition["metadata"]["name"] == "generics.addons.x-k8s.io"
    assert (spec["required"], version["subresources"]) == (["objectKind", "channel"], {"status": {}})

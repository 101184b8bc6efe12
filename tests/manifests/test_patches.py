"""Patches on objects of a package: what they match, how they merge, and what is said if they do not. Level: pure."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.errors import BadPatch
from hookrunner.manifests.patches import PATCHING, PatchedObjects, apply_patches, patching_work, require_patches
from hookrunner.model.sourced_objects import SourcedObject
from hookrunner.process.pure_calls import CallLimits, call_by_size
from kubetypes.json_values import JSON
from tests.manifests.conftest import sourced
from tests.tables import each

CONTAINERS = [{"name": "coredns", "image": "x", "args": ["-conf", "f"]}, {"name": "side", "image": "y"}]
DEPLOYMENT = sourced(
    "Deployment",
    "coredns",
    "kube-system",
    "apps/v1",
    spec={"replicas": 2, "template": {"spec": {"containers": CONTAINERS}}},
)
THING = sourced("Thing", "t", "a", "example.com/v1", spec={"list": [{"name": "x"}], "keep": 1})
OBJECTS = [DEPLOYMENT, THING, sourced("Secret", "s", "a"), sourced("Secret", "s", "b"), sourced("Node", "n")]


def patch(kind: str, name: str, api_version: str = "v1", namespace: str = "", **fields: JSON) -> JSON:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def deployment(**fields: JSON) -> JSON:
    return patch("Deployment", "coredns", "apps/v1", **fields)


def steps(*operations: JSON, name: str = "coredns") -> JSON:
    return {"target": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "jsonPatch": list(operations)}


def replace(path: str, value: JSON) -> JSON:
    return {"op": "replace", "path": path, "value": value}


def applied(*patches: JSON) -> PatchedObjects:
    return apply_patches(OBJECTS, patches)


def problem(*patches: JSON) -> tuple[str, str]:
    found = applied(*patches)
    assert found.objects == tuple(OBJECTS)
    [error] = found.problems
    return error.reason, str(error)


def test_built_in_kinds_merge_lists_by_their_keys() -> None:
    spec = {"template": {"spec": {"containers": [{"name": "coredns", "args": ["-v"]}]}}}
    found = applied(deployment(spec=spec), deployment(spec={"replicas": 5}))
    assert found.objects[0].obj["spec"] == {
        "replicas": 5,
        "template": {"spec": {"containers": [{"name": "coredns", "image": "x", "args": ["-v"]}, CONTAINERS[1]]}},
    }
    assert found.changed == {DEPLOYMENT.identity}
    assert (found.problems, found.objects[1:]) == ((), tuple(OBJECTS[1:]))


def test_directives_work_inside_an_object() -> None:
    side = {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}
    found = applied(deployment(spec={"template": side}))
    assert found.objects[0].obj["spec"]["template"]["spec"]["containers"] == CONTAINERS[:1]


@each(
    ("api_version", "kind"),
    [
        ("apiregistration.k8s.io/v1", "APIService"),
        ("autoscaling/v1", "HorizontalPodAutoscaler"),
        ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"),
        ("resource.k8s.io/v1", "DeviceClass"),
    ],
)
def test_built_in_kinds_without_a_document_merge_strategically_too(api_version: str, kind: str) -> None:
    live = sourced(kind, "a", "", api_version, spec={"x": 1, "y": {"b": 1}, "list": [{"name": "x"}]})
    live.obj["metadata"]["finalizers"] = ["a"]
    given = patch(kind, "a", api_version, spec={"$retainKeys": ["y", "list"], "y": {"c": 2}, "list": [{"name": "y"}]})
    given["metadata"]["finalizers"] = ["b"]
    patched = apply_patches([live], [given]).objects[0].obj
    assert patched["spec"] == {"y": {"b": 1, "c": 2}, "list": [{"name": "y"}]}
    assert sorted(patched["metadata"]["finalizers"]) == ["a", "b"]


def test_other_kinds_merge_as_json() -> None:
    found = applied(patch("Thing", "t", "example.com/v1", spec={"list": [{"name": "y"}], "keep": None}))
    assert found.objects[1].obj["spec"] == {"list": [{"name": "y"}]}


def test_json_patches_see_what_earlier_patches_did() -> None:
    found = applied(deployment(spec={"replicas": 3}), steps({"op": "test", "path": "/spec/replicas", "value": 3}))
    assert found.problems == ()
    found = applied(
        steps(replace("/spec/template/spec/containers/0/args/1", "g"), {"op": "remove", "path": "/spec/replicas"})
    )
    assert found.objects[0].obj["spec"]["template"]["spec"]["containers"][0]["args"] == ["-conf", "g"]


def test_a_patch_that_changes_nothing_is_no_change() -> None:
    assert applied(deployment(spec={"replicas": 2})).changed == frozenset()


@each(
    ("patches", "message"),
    [
        (patch("Deployment", "coredns", "apps/v1", "dns"), ": it is in namespace kube-system"),
        (patch("Deployment", "coredns", "apps/v1beta1"), ": it is apps/v1"),
        (patch("Deployment", "coredns", "extensions/v1beta1"), ": it is apps/v1"),
        (patch("Node", "n", namespace="a"), ": it is in no namespace"),
        (patch("Deployment", "core-dns", "apps/v1"), "; did you mean 'coredns'?"),
        (patch("Deployment", "proxy", "apps/v1"), ": its objects of this kind are coredns"),
        (patch("DaemonSet", "coredns", "apps/v1"), ", but apps/v1 Deployment kube-system/coredns"),
        (patch("Deploymnt", "x", "apps/v1"), "; did you mean 'Deployment'?"),
        (patch("Service", "x"), "the package has no v1 Service x"),
    ],
)
def test_a_patch_without_an_object_names_the_closest(patches: JSON, message: str) -> None:
    reason, text = problem(patches)
    assert (reason, text.startswith("spec.patches[0]: ")) == ("NoMatch", True)
    assert text.endswith(message)


def test_a_patch_without_a_namespace_must_fit_one_object() -> None:
    assert problem(patch("Secret", "s", data={})) == (
        "Ambiguous",
        "spec.patches[0]: v1 Secret s is in the namespaces a, b; name one of them",
    )
    assert applied(patch("Secret", "s", namespace="b", data={"x": "eA=="})).objects[3].obj["data"] == {"x": "eA=="}


@each(
    ("item", "message"),
    [
        ("replicas: 5", "not a patch but a text of 11 characters"),
        ({}, "names no object: it needs apiVersion and kind and metadata.name"),
        ({"apiVersion": "v1", "kind": "Secret", "metadata": []}, "it needs metadata.name"),
        (
            {"target": {"kind": 5}, "jsonPatch": []},
            "spec.patches[0].target: names no object: it needs apiVersion and kind",
        ),
        ({"target": {}}, "jsonPatch is missing; write a list of operations"),
        ({"target": {}, "jsonPatch": {"op": "add"}}, "jsonPatch is a map with the key op; write a list"),
        (deployment(spec={"template": {"spec": {"containers": [{"image": "z"}]}}}), "merge key: name"),
        (steps(replace("/spec/none/x", 1)), 'replace operation does not apply: doc is missing path: "/spec/none/x"'),
        (steps(5), "error decoding patch"),
        (steps(replace("", [])), "leaves no object"),
        (deployment(**{"$patch": "delete"}), "leaves no object; a patch cannot remove one"),
        (steps(replace("/metadata/name", "other")), "changes metadata.name; a patched object stays the same one"),
        (steps(replace("/kind", "Pod"), replace("/metadata/namespace", "x")), "changes kind and metadata.namespace"),
        (steps({"op": "add", "path": "/metadata/uid", "value": "u"}), "sets metadata.uid, which only the API server"),
        (steps(replace("/metadata/labels", ["a"])), "makes metadata.labels a list of 1 item, not a map"),
    ],
)
def test_a_patch_that_cannot_be_merged_says_why(item: JSON, message: str) -> None:
    reason, text = problem(item)
    assert (reason, text.startswith("spec.patches[0]")) == ("MergeFailed", True)
    assert message in text


def test_messages_show_no_values() -> None:
    secret = "hunter22"
    _, text = problem(deployment(spec={"template": {"spec": {"containers": [{"image": secret}]}}}))
    assert secret not in text
    _, text = problem(steps({"op": "test", "path": "/spec/replicas", "value": secret}))
    assert secret not in text


def test_an_object_that_nests_too_deep_is_refused() -> None:
    nest: JSON = {}
    for _ in range(120):
        nest = {"a": nest}
    assert "deeper than 100 levels" in problem(steps({"op": "add", "path": "/spec/x", "value": nest}))[1]


def test_all_problems_are_reported_and_the_addon_decides_about_unmatched_ones() -> None:
    nothing, wrong = patch("Service", "x"), steps(replace("/kind", "Pod"))
    found = applied(nothing, deployment(spec={"replicas": 9}), wrong)
    assert found.objects[0].obj["spec"]["replicas"] == 9
    with pytest.raises(BadPatch, match=r"patches\[0\].*patches\[2\]") as refused:
        require_patches(found)
    assert refused.value.reason == "NoMatch"
    with pytest.raises(BadPatch, match=r"^spec.patches\[2\]") as refused:
        require_patches(found, unmatched=True)
    assert refused.value.reason == "MergeFailed"
    require_patches(applied(nothing), unmatched=True)


WORDS = st.sampled_from(
    (
        *("spec", "template", "containers", "name", "coredns", "args", "ports", "metadata", "labels", "finalizers"),
        *("$patch", "delete", "replace", "merge", "$retainKeys"),
        *("$setElementOrder/containers", "$deleteFromPrimitiveList/args", "$deleteFromPrimitiveList/finalizers"),
    )
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(WORDS, ANY, max_size=3), st.dictionaries(WORDS, ANY, max_size=3), st.lists(ANY, max_size=2))
def test_any_patch_of_any_object_is_applied_or_refused(fields: JSON, given_fields: JSON, operations: JSON) -> None:
    named = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "coredns"}}
    objects = [SourcedObject("a.yaml", {**fields, **named})]
    whole = {**given_fields, **deployment()}
    found = apply_patches(objects, [whole, steps(*operations)])
    assert {error.reason for error in found.problems} <= {"MergeFailed"}


LARGE = [{"name": f"E{number}", "value": "x" * 200} for number in range(1_500)]
"""More than is patched in place."""


def of_container(**fields: JSON) -> JSON:
    return deployment(spec={"template": {"spec": {"containers": [{"name": "coredns", **fields}]}}})


async def call_apart(patches: list[JSON], limits: CallLimits = PATCHING.limits) -> PatchedObjects:
    bounds = dataclasses.replace(PATCHING, limits=limits)
    return await call_by_size(patching_work(OBJECTS, patches), bounds, apply_patches, OBJECTS, patches)


async def test_large_patches_lead_to_the_same_in_another_process() -> None:
    patches = [of_container(env=LARGE), of_container(env=[{"name": "E1", "value": "1"}]), patch("Secret", "s"), {}]
    assert patching_work(OBJECTS, patches) > PATCHING.in_place
    found, here = await call_apart(patches), apply_patches(OBJECTS, patches)
    assert (found.objects, found.changed) == (here.objects, here.changed)
    assert [(error.reason, str(error)) for error in found.problems] == [
        (error.reason, str(error)) for error in here.problems
    ]


async def test_patches_that_take_too_long_are_refused() -> None:
    with pytest.raises(BadPatch, match=r"too much work, no result within 0\.001 s of CPU time; combine") as refused:
        await call_apart([of_container(env=LARGE)] * 2, CallLimits(seconds=0.001))
    assert refused.value.reason == "MergeFailed"


def test_refusal_shows_the_beginning_of_the_lists() -> None:
    order = [{"name": element["name"]} for element in reversed(LARGE)]
    _reason, text = problem(of_container(**{"env": LARGE, "$setElementOrder/env": order}))
    assert "The order in patch list" in text
    assert len(text) < 1_200


def test_object_that_cannot_be_written_as_json_is_refused() -> None:
    large = sourced("Thing", "t", "a", "example.com/v1", spec={"number": 10**30})
    [error] = apply_patches([large], [patch("Thing", "t", "example.com/v1", spec={"a": 1})]).problems
    assert "cannot be written as JSON: Integer exceeds 64-bit range" in str(error)

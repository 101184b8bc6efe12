"""What a definition makes the API serve, objects in other versions and as Scales, equal to a real API server's.

Level: control plane."""

from collections.abc import Iterator
from typing import Any

import pytest

from kubesandbox import kinds as builtin
from kubesandbox.kinds import Kind
from kubesandbox.status import Refused
from kubesandbox.structural import prune, scaling, versions
from kubesandbox.structural.definitions import definition, definition_status
from tests.controlplane.kinds_data import TABLE
from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.structural.widgets import CRDS, Raw, told, widgets, with_fields
from tests.kubesandbox.structural.widgets import definition as defined
from tests.tables import each

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
REPLICAS = {"type": "object", "properties": {"replicas": NUMBER, "selector": TEXT}}
SCALED = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": NUMBER}}, "status": REPLICAS}}
PATHS = {
    "specReplicasPath": ".spec.n",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
COLUMNS = [
    {
        "name": "N",
        "type": "integer",
        "jsonPath": ".spec.n",
        "format": "int32",
        "priority": 1,
        "description": "how many",
    },
    {"name": "Selector", "type": "string", "jsonPath": ".status.selector"},
]
BELOW = {"status": {}, "scale": PATHS}


def _kinds(body: Raw) -> list[Kind]:
    made = definition.defaulted(body)
    return versions.kinds(made | {"status": definition_status.status(made, [], "2026-01-01T00:00:00Z")})


def _versioned(group: str) -> Raw:
    """A definition with three versions that know different fields; one is not served."""
    fields = {
        "v1": {"a": TEXT, "b": TEXT},
        "v1beta1": {"b": TEXT, "c": TEXT | {"default": "new"}},
        "v2alpha1": {"a": TEXT},
    }
    body = defined({}, group)
    body["spec"]["versions"] = [
        {"name": name, "served": name != "v2alpha1", "storage": name == "v1"}
        | {"schema": {"openAPIV3Schema": with_fields(**inside)}}
        for name, inside in fields.items()
    ]
    return body


@pytest.fixture(scope="module")
def resources(oracle: Oracle) -> Iterator[list[Raw]]:
    """What discovery says of a kind with subresources."""
    with widgets(oracle, SCALED, subresources=BELOW) as there:
        yield oracle.ask("GET", there.path.removesuffix("/widgets"))[1]["resources"]


def test_kind_and_subresources_are_those_of_discovery(resources: list[Raw]) -> None:
    (kind,) = _kinds(defined(SCALED, subresources=BELOW))
    whole, status, scale = resources
    assert (kind.plural, kind.singular, kind.kind) == (whole["name"], whole["singularName"], whole["kind"])
    assert set(kind.verbs) == set(whole["verbs"])
    assert [f"widgets/{name}" for name in kind.subresources] == [status["name"], scale["name"]]
    there = kind.subresources["scale"]
    told = (there.group, there.version, there.kind, list(there.verbs))
    assert told == (scale["group"], scale["version"], scale["kind"], scale["verbs"])


@pytest.mark.parametrize("columns", [[], COLUMNS], ids=["default", "own"])
def test_columns_are_those_of_the_table(oracle: Oracle, columns: list[Raw]) -> None:
    with widgets(oracle, SCALED, additionalPrinterColumns=columns) as there:
        theirs = oracle.ask("GET", there.path, accept=TABLE)[1]["columnDefinitions"]
    (kind,) = _kinds(defined(SCALED, additionalPrinterColumns=columns))
    assert [{key: value for key, value in one.items() if key != "jsonPath"} for one in kind.columns] == theirs


def test_only_served_versions_come_the_most_stable_first() -> None:
    assert [kind.version for kind in _kinds(_versioned("widgets.structural.test"))] == ["v1", "v1beta1"]


def test_nothing_is_served_while_the_names_are_not_accepted() -> None:
    first = definition.defaulted(defined({"type": "object"}))
    first |= {"status": definition_status.status(first, [], "2026-01-01T00:00:00Z")}
    second = definition.defaulted(defined({"type": "object"}))
    second["metadata"] = {"name": "gadgets.widgets.structural.test"}
    second["spec"]["names"] |= {"plural": "gadgets"}
    assert versions.kinds(second | {"status": definition_status.status(second, [first], "2026-01-01T00:00:00Z")}) == []


def test_versions_are_sorted_as_kubernetes_sorts_them() -> None:
    mixed = [
        "foo1",
        "v1alpha1",
        "v10beta3",
        "v2",
        "v11alpha2",
        "v10",
        "v3beta1",
        "foo10",
        "v1",
        "v11beta2",
        "v12alpha1",
    ]
    assert sorted(mixed, key=versions.priority) == [
        *("v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "v1alpha1", "foo1", "foo10"),
    ]


def _answer(oracle: Oracle, method: str, path: str, body: Any = None) -> Any:
    """An answer, or None as long as the path is not served."""
    answer = oracle.ask(method, path, body)[1]
    return answer if isinstance(answer, dict) else None


def test_an_object_is_read_in_another_version_as_by_the_api_server(oracle: Oracle) -> None:
    """Also after a default came to the version in which it is stored."""
    group = f"{oracle.unique('versions')}.structural.test"
    body = _versioned(group)
    oracle.made(CRDS, body)
    obj = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"a": "x", "b": "y"}}
    kept = oracle.until(lambda: _answer(oracle, "POST", f"/apis/{group}/v1/widgets", obj))

    def with_defaults(there: Any) -> None:
        for version in there["spec"]["versions"][:2]:
            more = {"d": TEXT | ({"default": "d"} if version["name"] == "v1" else {})}
            version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] |= more

    there = oracle.changed(f"{CRDS}/widgets.{group}", with_defaults)
    oracle.until(lambda: "d" in (_answer(oracle, "GET", f"/apis/{group}/v1/widgets/a") or {}).get("spec", ()))
    theirs = oracle.until(lambda: _answer(oracle, "GET", f"/apis/{group}/v1beta1/widgets/a"))
    oracle.remove(f"{CRDS}/widgets.{group}")
    ours = versions.as_version(kept, _kinds(there)[1])
    assert (ours["apiVersion"], ours["spec"]) == (theirs["apiVersion"], theirs["spec"])


SCALES: list[Raw] = [
    {"spec": {"n": 3}, "status": {"replicas": 2, "selector": "a=b"}},
    {"spec": {"n": 0}},
    {"spec": {}},
]


@each("obj", SCALES, ids=str)
def test_a_scale_shows_what_the_api_server_shows(oracle: Oracle, obj: Raw) -> None:
    (kind,) = _kinds(defined(SCALED, subresources={"scale": PATHS}))
    with widgets(oracle, SCALED, subresources={"scale": PATHS}) as there:
        made = oracle.made(there.path, there.named(obj))
        code, theirs = oracle.ask("GET", f"{there.path}/a/scale", known_as=obj)
    if code == 200:
        assert scaling.scale(made, kind) == theirs
    else:
        with pytest.raises(Refused) as refused:
            scaling.scale(made, kind)
        assert (refused.value.code, refused.value.message) == (code, theirs["message"])


@pytest.mark.parametrize("spec", [{"n": -1}, {"n": 2**31}, {"n": 5}], ids=str)
def test_replicas_out_of_range_are_refused(oracle: Oracle, spec: Raw) -> None:
    (kind,) = _kinds(defined(SCALED, subresources={"scale": PATHS}))
    with widgets(oracle, SCALED, subresources={"scale": PATHS}) as there:
        _, answer = oracle.ask("POST", there.path, there.named({"spec": spec}), dryRun="All")
    theirs = [(one["field"], one["reason"], one["message"]) for one in (answer.get("details") or {}).get("causes", ())]
    assert told(scaling.problems({"spec": spec}, kind)) == theirs


def test_replicas_are_written_where_the_definition_says() -> None:
    (kind,) = _kinds(defined(SCALED, subresources={"scale": PATHS}))
    obj = {"metadata": {"name": "a"}, "spec": {"n": 1}}
    assert scaling.with_replicas(obj, 4, kind) == {"metadata": {"name": "a"}, "spec": {"n": 4}}
    assert obj["spec"] == {"n": 1}


def test_a_deployments_scale_shows_its_selector(oracle: Oracle) -> None:
    deployment = {
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 0,
            "selector": {
                "matchLabels": {"b": "1", "a": "2"},
                "matchExpressions": [
                    {"key": "c", "operator": "In", "values": ["y", "x"]},
                    {"key": "d", "operator": "Exists"},
                    {"key": "e", "operator": "DoesNotExist"},
                    {"key": "f", "operator": "NotIn", "values": ["z"]},
                ],
            },
            "template": {
                "metadata": {"labels": {"b": "1", "a": "2", "c": "x", "d": "1"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    made = oracle.made("/apis/apps/v1/{ns}/deployments", deployment)
    theirs = oracle.ask("GET", "/apis/apps/v1/{ns}/deployments/d/scale")[1]
    (kind,) = [one for one in builtin.builtin() if one.plural == "deployments"]
    ours = scaling.scale(made, kind)
    assert (ours["spec"], ours["status"]["selector"]) == (theirs["spec"], theirs["status"]["selector"])


def test_unknown_fields_are_named_as_by_the_api_server(oracle: Oracle) -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    inside = {"type": "object", "properties": {"a": TEXT}}
    schema = with_fields(o=inside, e=embedded, l={"type": "array", "items": inside})
    pod = {"apiVersion": "v1", "kind": "x", "metadata": {"q": 1, "ownerReferences": [{"y": 1}]}}
    spec = {"zz": {"a": 1}, "o": {"b": 1}, "l": [{"a": "x"}, {"c": 1}], "e": pod}
    with widgets(oracle, schema) as there:
        obj = there.named({"metadata": {"name": "a", "foo": 1}, "z": 1, "spec": spec})
        _, answer = oracle.ask("POST", there.path, obj, dryRun="All", fieldValidation="Strict")
    (kind,) = _kinds(defined(schema))
    _, unknown = prune.pruned(obj, kind.schema)
    said = ", ".join(f'unknown field "{path}"' for path in unknown)
    assert answer["message"].endswith(f"strict decoding error: {said}")

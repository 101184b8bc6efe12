"""Instances: common fields, own fields, and objects that no schema has checked. Level: pure."""

import orjson
import pytest

from hookrunner.addons.instance_fields import read_instance, require_kind
from hookrunner.errors import BadInput
from hookrunner.model.addons import CommonFields
from kubetypes.json_values import JSON
from tests.addons.conftest import addon, instance_of
from tests.tables import each


def test_spec_is_split_into_common_and_own_fields() -> None:
    patches = [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}]
    spec = {"version": "1.2", "patches": patches, "suspend": True, "timeout": "90s", "dnsDomain": "a.b", "x": None}
    found = read_instance(addon(), instance_of(spec))
    assert found.fields == CommonFields("1.2", "stable", tuple(patches), timeout=90, suspend=True)
    assert (found.own, found.problems) == ({"dnsDomain": "a.b", "x": None}, ())
    assert (found.unit, found.name, found.namespace) == ("coredns.kube-system.default", "default", "kube-system")


@each("spec", [None, {}, {"version": "", "channel": "", "timeout": ""}, {"adopt": None}])
def test_fields_that_are_not_set_have_the_addons_defaults(spec: JSON) -> None:
    defaults: dict[str, JSON] = {
        "channel": "next",
        "updatePolicy": "manual",
        "rollbackOnFailure": True,
        "timeout": "5m",
        "adopt": True,
    }
    found = read_instance(addon(**defaults), instance_of(spec))
    assert found.fields == CommonFields("", "next", (), "manual", True, 300, True)
    assert found.problems == ()


def test_cluster_scoped_instance_has_no_namespace_in_its_unit() -> None:
    found = read_instance(addon(of={"scope": "Cluster"}), instance_of({}, namespace=""))
    assert found.unit == "coredns.default"


@each(
    ("spec", "problems"),
    [
        ([1], ["spec must be a map of fields, not a list of 1 item"]),
        ({"version": 1.2}, ['spec.version must be of type string: "number"; write a text, in quotes if']),
        ({"version": "../../etc"}, ["spec.version cannot be '../../etc'; use letters, digits and . + _ -"]),
        ({"version": "1..2"}, ["spec.version cannot be '1..2'"]),
        ({"version": "1" * 64}, ["spec.version cannot be '1111"]),
        ({"channel": "Stable"}, ["spec.channel cannot be 'Stable'"]),
        ({"timeout": "0s"}, ["spec.timeout cannot be '0s'; use a duration of at least 1s"]),
        ({"timeout": "99999999h"}, ["spec.timeout cannot be '99999999h'; use a duration of at least 1s, such as 90s"]),
        ({"patches": {"a": 1}}, ['spec.patches must be of type array: "object"']),
        ({"patches": [{}] * 101}, ["spec.patches should have at most 100 items, and has 101; leave some out"]),
        ({"patches": [{"a": "x" * (256 << 10)}]}, ["spec.patches should have at most 256 KiB, and has 262,154 bytes"]),
        ({"patches": [{"a": 10**30}]}, ["spec.patches cannot be written as JSON: Integer exceeds 64-bit range"]),
        ({"patches": [{}, "a"], "adopt": 1}, ["spec.patches[1] must be of type object", "spec.adopt must be of type"]),
        ({"updatePolicy": "Automatic"}, ["spec.updatePolicy should be one of [automatic notify manual]; did you mean"]),
    ],
)
def test_a_field_that_no_schema_has_checked_is_reported_and_not_used(spec: JSON, problems: list[str]) -> None:
    found = read_instance(addon(), instance_of(spec))
    assert found.fields == CommonFields(channel="stable")
    assert len(found.problems) == len(problems)
    for problem, part in zip(found.problems, problems, strict=True):
        assert problem.startswith(part)


def test_no_instance_adopts_where_the_addon_never_does() -> None:
    never = addon(adopt="never")
    refused, allowed = (read_instance(never, instance_of({"adopt": adopt})) for adopt in (True, False))
    assert refused.problems == ("spec.adopt cannot be true: `adopt: never` in addon.yaml; remove the field",)
    assert (refused.fields.adopt, allowed.problems, never.defaults.adopt) == (False, (), False)


def test_policy_that_is_not_set_differs_from_the_one_that_deletes() -> None:
    """Only who writes `Delete` has adopted objects deleted."""
    policies = [
        read_instance(addon(), instance_of(spec)).fields.deletion_policy for spec in ({}, {"deletionPolicy": "Delete"})
    ]
    assert policies == ["", "Delete"]


@each("levels", [260, 900, 1020])
def test_fields_that_are_nested_too_deep_are_reported_and_left_out(levels: int) -> None:
    """Python cannot compare two of them, and hooks could not be given the object."""
    deep = orjson.loads(b'{"a":' * levels + b"1" + b"}" * levels)
    spec = {"patches": [deep], "mine": deep, "suspend": True, "deletionPolicy": "Orphan"}
    document = instance_of(spec) | {"status": {"x": deep}, "of others": deep}
    found = read_instance(addon(), document)
    assert found.problems == tuple(
        f"spec.{name} is nested too deep: make it flatter than 250 maps and lists" for name in ("patches", "mine")
    )
    assert (found.fields.suspend, found.fields.deletion_policy, found.own) == (True, "Orphan", {})
    assert found.document["spec"] == {"suspend": True, "deletionPolicy": "Orphan"}
    assert orjson.dumps(found.document)


def test_metadata_is_read() -> None:
    metadata: dict[str, JSON] = {
        "uid": "u",
        "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "annotations": {"hookrunner.io/unmanaged": "true"},
        "finalizers": ["a"],
    }
    found = read_instance(addon(), instance_of({}, **metadata))
    assert (found.uid, found.generation, found.age_key) == ("u", 3, ("2026-01-01T00:00:00Z", "u"))
    assert (found.is_deleting, found.is_unmanaged, found.finalizers) == (True, True, ("a",))
    plain = read_instance(addon(), instance_of({}))
    assert (plain.uid, plain.generation, plain.is_deleting, plain.is_unmanaged) == ("", 0, False, False)


@each(
    ("document", "part"),
    [
        ("a", "an instance is an object with metadata, not a text"),
        (instance_of({}) | {"kind": "KubeProxy"}, "addon 'coredns' has instances of addons.x-k8s.io/v1alpha1 CoreDNS"),
        (instance_of({}) | {"apiVersion": "v1"}, "correct apiVersion and kind"),
        (instance_of({}) | {"metadata": {}}, "an instance of CoreDNS needs metadata.name"),
        (instance_of({}) | {"metadata": {"name": 5}}, "metadata.name of a CoreDNS cannot be a number"),
        (instance_of({}, name="../x"), "metadata.name of a CoreDNS cannot be '../x'; use lowercase letters, digits"),
        (instance_of({}, name="a/b"), "cannot be 'a/b'"),
        (instance_of({}, name="Upper"), "cannot be 'Upper'"),
        (instance_of({}, name="a" * 300), "cannot be 'aaa"),
        (instance_of({}) | {"metadata": {"name": "a", "namespace": 5}}, "metadata.namespace of a CoreDNS cannot be a"),
        (instance_of({}, namespace="a.b"), "cannot be 'a.b'"),
    ],
)
def test_a_file_with_another_object_is_refused(document: JSON, part: str) -> None:
    with pytest.raises(BadInput) as refused:
        require_kind(addon(), document)
    assert part in str(refused.value)
    require_kind(addon(), instance_of({}))


def test_account_is_one_of_the_instances_namespace() -> None:
    confined = read_instance(addon(), instance_of({"serviceAccountName": "deployer"}))
    assert str(confined.account) == "ServiceAccount kube-system/deployer"
    assert read_instance(addon(), instance_of({"serviceAccountName": ""})).account is None
    (problem,) = read_instance(addon(), instance_of({"serviceAccountName": "a:b"})).problems
    assert problem.startswith("spec.serviceAccountName cannot be 'a:b'; use the name of a ServiceAccount")
    everywhere = read_instance(addon(of={"scope": "Cluster"}), instance_of({"serviceAccountName": "deployer"}))
    (problem,) = everywhere.problems
    assert problem == "spec.serviceAccountName needs a namespace, and this kind has none; remove the field"

"""The policy that protects objects, and whom it lets through: its expressions are evaluated here. Level: pure."""

from typing import Any

import pytest

from hookrunner.addons.instance_fields import read_instance
from hookrunner.instances.protection.protection_policy import policy_name, policy_spec, validation_of, validations
from hookrunner.model.addons import ADDON_LABEL
from hookrunner.model.releases import ServiceAccount
from kubetypes import kubernetes_cel, match_conditions
from kubetypes.json_values import JSON
from tests.addons.conftest import addon
from tests.instances.samples import ADDON, instance

UNIT, OTHER = "dns.default.x", "dns.default.y"
RULES = {UNIT: validation_of(ADDON, instance("x")), OTHER: validation_of(ADDON, instance("y"))}
SPEC = policy_spec(RULES, ("me", "deployers", 'odd "name"'))


def asked(user: str, *groups: str, namespace: str = "default") -> bool:
    """Does the API server ask the policy about a write by this user?"""
    place = {"namespace": namespace} if namespace else {}
    request: JSON = {"userInfo": {"username": user} | ({"groups": [*groups]} if groups else {})} | place
    return match_conditions.failing(SPEC["matchConditions"], request) is None


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        ("me", ()),
        ('odd "name"', ()),
        ("jane", ("system:authenticated", "deployers")),
        ("system:apiserver", ("system:masters",)),
        ("system:kube-controller-manager", ()),
        ("system:cloud-controller-manager", ()),
        ("system:node:a", ("system:nodes", "system:authenticated")),
        ("system:serviceaccount:kube-system:generic-garbage-collector", ("system:serviceaccounts:kube-system",)),
        ("system:serviceaccount:default:dns", ("system:serviceaccounts", "system:serviceaccounts:default")),
    ],
)
def test_the_control_plane_and_exceptions_are_not_asked_about(user: str, groups: tuple[str, ...]) -> None:
    assert not asked(user, *groups)


@pytest.mark.parametrize(
    ("user", "groups", "namespace"),
    [
        ("kubernetes-admin", ("system:masters", "system:authenticated"), "default"),
        ("jane", (), "default"),
        ("mee", ("deployer",), ""),
        ("system:serviceaccount:ci:bot", ("system:serviceaccounts", "system:serviceaccounts:ci"), "default"),
        ("system:serviceaccount:ci:bot", ("system:serviceaccounts", "system:serviceaccounts:ci"), ""),
    ],
)
def test_every_other_caller_is_asked_about(user: str, groups: tuple[str, ...], namespace: str) -> None:
    assert asked(user, *groups, namespace=namespace)


def refusals(labels: Any) -> list[str]:
    """The messages of the rules that refuse a write of an object that had these labels."""
    old = {"metadata": {"name": "a"} | ({"labels": labels} if labels is not None else {})}
    (variable,) = SPEC["variables"]
    unit = evaluated(variable["expression"], {"oldObject": old})
    known = {"variables": {"unit": unit}}
    return [rule["message"] for rule in SPEC["validations"] if not evaluated(rule["expression"], known)]


def evaluated(text: str, values: dict[str, JSON]) -> JSON:
    return kubernetes_cel.evaluated(kubernetes_cel.program(kubernetes_cel.environment([*values]), text), values)


def test_the_label_before_the_write_decides_whose_object_it_is() -> None:
    (message,) = refusals({ADDON_LABEL: OTHER, "a": "b"})
    assert message == (
        "it belongs to DNS default/y, which protects its objects: change the spec of that one instead, or set its "
        "spec.protect to false first"
    )
    assert refusals({ADDON_LABEL: "dns.default.z"}) == refusals({"a": "b"}) == refusals(None) == []


def test_a_cluster_scoped_instance_is_named_without_a_namespace() -> None:
    kind = addon("net", "Net", of={"scope": "Cluster"})
    assert "belongs to Net x, which" in validation_of(kind, read_instance(kind, {"metadata": {"name": "x"}}))["message"]


@pytest.mark.parametrize("name", ["deployer", "other"])
def test_the_account_as_which_objects_are_written_is_let_through(name: str) -> None:
    rule = validation_of(ADDON, instance("x"), ServiceAccount("default", "deployer"))
    request = {"userInfo": {"username": f"system:serviceaccount:default:{name}"}}
    is_allowed = evaluated(rule["expression"], {"variables": {"unit": UNIT}, "request": request})
    assert is_allowed is (name == "deployer")


def test_only_objects_of_protected_instances_are_selected_and_no_subresource() -> None:
    matched = SPEC["matchConstraints"]
    (selected,) = matched["objectSelector"]["matchExpressions"]
    assert (selected["key"], selected["operator"], selected["values"]) == (ADDON_LABEL, "In", [UNIT, OTHER])
    (rule,) = matched["resourceRules"]
    assert (rule["resources"], rule["operations"], SPEC["failurePolicy"]) == (["*"], ["UPDATE", "DELETE"], "Fail")


def test_rules_are_read_back_by_unit_and_foreign_ones_are_not() -> None:
    assert validations(SPEC) == RULES
    assert validations(SPEC | {"validations": SPEC["validations"][:1]}) == {}
    assert validations({"validations": []}) == validations(None) == {}


def test_the_name_says_whose_policy_it_is() -> None:
    assert policy_name("addons") == "hookrunner-protect.addons"

"""The addon of the cloud controller manager grants what `hookrunner cloud rbac` prints for the same flags.

Level: pure."""

from typing import Any

from hookrunner.cloud.rights import ROLE, rights_of
from hookrunner.manifests.role_objects import Account, to_roles
from hookrunner.settings import load
from kubetypes.json_values import JSON
from tests.cloud.shipped_addon import objects_of

SPECS: list[tuple[JSON, dict[str, str]]] = [
    ({}, {}),
    ({"route": {"clusterCIDR": "10.0.0.0/8"}}, {"cluster-cidr": "10.0.0.0/8"}),
    (
        {"controllers": ["*", "-cloud-node"], "lifecycle": {"nodeDeleteDryRun": True}},
        {
            "controllers": "*,-cloud-node",
            "node-delete-dry-run": "true",
        },
    ),
    (
        {"controllers": ["route"], "route": {"clusterCIDR": "10.0.0.0/8", "configureCloudRoutes": False}},
        {
            "controllers": "route",
            "cluster-cidr": "10.0.0.0/8",
            "configure-cloud-routes": "false",
        },
    ),
    (
        {"controllers": ["service"], "leaderElection": {"leaderElect": False}},
        {
            "controllers": "service",
            "leader-elect": "false",
        },
    ),
    (
        {"leaderElection": {"leaderElectResourceName": "mine", "leaderElectResourceNamespace": "cloud"}},
        {
            "leader-elect-resource-name": "mine",
            "leader-elect-resource-namespace": "cloud",
        },
    ),
]
"""Specs, and the flags that they become."""


def test_the_addon_grants_the_rights_of_the_table() -> None:
    for (spec, flags), objects in zip(SPECS, objects_of(*[spec for spec, _ in SPECS]), strict=True):
        wanted = to_roles(
            ROLE, rights_of(load(flags, "hookrunner", {})), Account("kube-system", "cloud-controller-manager")
        )
        granted = [obj for obj in objects if "rbac" in obj["apiVersion"]]
        assert by_name(granted) == by_name(wanted), spec


def by_name(objects: list[Any]) -> dict[str, JSON]:
    """What each role and binding says, by its kind and name."""
    return {f"{obj['kind']} {obj['metadata']['name']}": _core(obj) for obj in objects}


def _core(obj: JSON) -> JSON:
    named = {key: obj["metadata"].get(key) for key in ("name", "namespace")}
    rules = {
        rule["resources"][0] + str(rule.get("resourceNames")): sorted(rule["verbs"]) for rule in obj.get("rules", ())
    }
    return {"kind": obj["kind"], **named, "rules": rules, "subjects": obj.get("subjects"), "role": obj.get("roleRef")}

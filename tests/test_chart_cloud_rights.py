"""The module of the cloud controller manager grants what `hookrunner cloud rbac` prints for the same flags.

Level: pure."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.cloud.rights import ROLE, rights_of
from hookrunner.manifests.role_objects import Account, to_roles
from hookrunner.settings import load
from kubetypes.json_values import JSON
from tests.tables import each
from tests.test_shipped_modules import module_of, settled

KEY = "cloudControllerManager"


@pytest.mark.slow
@each(
    ("section", "flags"),
    [
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
    ],
)
def test_the_module_grants_the_rights_of_the_table(
    section: JSON, flags: dict[str, str], helm: Path, tmp_path: Path
) -> None:
    loaded = load(flags, "hookrunner", {})
    wanted = to_roles(ROLE, rights_of(loaded), Account("kube-system", "cloud-controller-manager"))
    granted = rendered_roles(helm, section, tmp_path)
    assert [_core(obj) for obj in granted] == [_core(obj) for obj in wanted]


def rendered_roles(helm: Path, section: JSON, scratch: Path) -> list[Any]:
    values = scratch / "values.json"
    values.write_text(json.dumps(settled(KEY, json.dumps(section))))
    command = [str(helm), "template", "ccm", str(module_of(KEY).directory), "--values", str(values)]
    printed = subprocess.run(
        [*command, "--show-only", "templates/rbac.yaml"], capture_output=True, text=True, check=True
    )
    return [obj for obj in yaml.safe_load_all(printed.stdout) if obj["kind"] != "ServiceAccount"]


def _core(obj: JSON) -> JSON:
    named = {key: obj["metadata"].get(key) for key in ("name", "namespace")}
    rules = {
        rule["resources"][0] + str(rule.get("resourceNames")): sorted(rule["verbs"]) for rule in obj.get("rules", ())
    }
    return {"kind": obj["kind"], **named, "rules": rules, "subjects": obj.get("subjects"), "role": obj.get("roleRef")}

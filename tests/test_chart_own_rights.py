"""What the chart grants hookrunner itself is what `hookrunner rbac` finds for the same flags, which lives are proved
with; where the chart cannot know names, it grants more.

Level: pure."""

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from hookrunner.hooks.config.hook_config import parse
from hookrunner.manifests.role_objects import to_line
from hookrunner.model.bindings import Hook
from hookrunner.model.rights import Right, merge
from hookrunner.rights.own_rights import Installation, own_rights
from hookrunner.settings import load
from tests.controlplane.rights import rights_in
from tests.fakes.chart import RIGHTS, render_chart
from tests.flows.limited_rights import split
from tests.tables import each

RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]
ADMISSION = {
    kind: [{"name": f"{kind.lower()}.example.com", "rules": RULES}]
    for kind in ("kubernetesValidating", "kubernetesMutating")
}
VERSIONS = [{"fromVersion": "v1", "toVersion": "v2"}]
CONVERSION = {
    "kubernetesCustomResourceConversion": [{"name": "up", "crdName": "a.example.com", "conversions": VERSIONS}]
}
DEFINITION = {"metadata": {"name": "a.example.com"}}
CRDS = "apiextensions.k8s.io], resources: [customresourcedefinitions"


def hook(**config: Any) -> Hook:
    return Hook("a.sh", Path("a.sh"), parse("a.sh", orjson.dumps({"configVersion": "v1", **config})))


@pytest.mark.slow
@each(
    ("values", "flags", "installed", "more"),
    [
        ("modules.enabled=true", {"modules-dir": "m"}, Installation(), set()),
        (
            "modules.enabled=true,settings.helm-driver=configmap",
            {"modules-dir": "m", "helm-driver": "configmap"},
            Installation(),
            set(),
        ),
        (
            "modules.enabled=true,modules.crds=true",  # the names of definitions are not known to the chart
            {"modules-dir": "m"},
            Installation(definitions=[DEFINITION]),
            {
                f"{{apiGroups: [{CRDS}], verbs: [get]}}",
                f"{{apiGroups: [{CRDS}], verbs: [update]}}",
                f"{{apiGroups: [{CRDS}/status], verbs: [update]}}",
            },
        ),
        (
            "webhooks.admission=true",  # conversions of an earlier release are looked for
            {},
            Installation(hooks=[hook(**ADMISSION)]),
            {f"{{apiGroups: [{CRDS}], verbs: [{verb}]}}" for verb in ("list", "watch")},
        ),
        (
            "webhooks.admission=true,webhooks.conversion=true",
            {},
            Installation(hooks=[hook(**ADMISSION, **CONVERSION)]),
            {f"{{apiGroups: [{CRDS}], verbs: [update]}}"},
        ),
        (
            "webhooks.admission=true,webhooks.certs=secret",
            {},
            Installation(hooks=[hook(**ADMISSION)]),
            {f"{{apiGroups: [{CRDS}], verbs: [{verb}]}}" for verb in ("list", "watch")},
        ),
        ("discovery.enabled=true,discovery.kinds={pods,webs.example.com}", {}, Installation(), set()),
    ],
)
def test_the_chart_grants_hookrunner_what_rbac_prints(
    values: str, flags: dict[str, str], installed: Installation, more: set[str]
) -> None:
    manifests = yaml.safe_load_all(render_chart("--set", values, namespace="ns"))
    objects = [obj for obj in manifests if obj and "helm.sh/hook" not in obj["metadata"].get("annotations", {})]
    granted = lines(rights_in([obj for obj in objects if obj["kind"] in RIGHTS]))
    settings = load({"modules-dir": ":", **flags_in(objects), **flags}, "hookrunner", {})
    found = lines(own_rights(settings, "ns", installed))
    assert {line for _, line in granted - found} == more
    assert {line for _, line in found - granted if "a.example.com" not in line} == set()


def lines(rights: Any) -> set[tuple[str, str]]:
    """Each verb on each object for itself, with its namespace."""
    parts: list[Right] = [part for right in merge(rights) for part in split(right)]
    return {(part.namespace, to_line(part)) for part in parts}


def flags_in(objects: list[Any]) -> dict[str, str]:
    """What the chart sets of the program's."""
    (deployment,) = [obj for obj in objects if obj["kind"] == "Deployment"]
    variables = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    named = {entry["name"].removeprefix("HOOKRUNNER_"): entry.get("value", "ns") for entry in variables}
    return {
        name.replace("_", "-").lower(): text
        for name, text in named.items()
        if name.startswith(("WEBHOOK", "VALIDATING", "CONVERSION", "CONFIG", "DISCOVERY"))
    }

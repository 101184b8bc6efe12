"""docs/security.md says what the chart does: the Pod's security context, its rights, its ports.

Level: control plane."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.addons.instance_fields import MOST_PATCH_BYTES, MOST_PATCHES
from hookrunner.charts.renderer import STEP
from hookrunner.cloud.provider.wire_answers import ANSWER
from hookrunner.hooks.documents import AT_ONCE
from hookrunner.hooks.patches import MOST_VALUE_OPERATIONS
from hookrunner.hooks.verdicts import CONVERSION_BOUNDS
from hookrunner.manifests import large_texts
from hookrunner.manifests.patches import PATCHING
from hookrunner.model.json_objects import IN_PLACE as REVIEW_IN_PLACE
from hookrunner.model.json_objects import OBJECT_WORK
from hookrunner.packages.names import LARGEST_FILE, LARGEST_PACKAGE
from hookrunner.releases.records import record_storage
from hookrunner.releases.records.record import JSON_IS_QUICKER, QUICK_TO_PARSE
from hookrunner.settings.webhooks import WebhookSettings
from hookrunner.values.config_sections import READING, WRITING
from hookrunner.web.review_documents import VALUE_WORK
from kubetypes.bounds import (
    CONFIG,
    DOCUMENT,
    INSTANCE,
    OBJECT,
    PACKAGE_TEXT,
    RELEASE_RECORD,
    RENDERED,
    SECTIONS,
    DocumentBounds,
    in_units,
)
from tests.controlplane.cluster import Cluster
from tests.fakes.chart import ROOT, Render, objects, render

__all__ = ["render"]

PAGE = (ROOT / "docs" / "security.md").read_text()
BARE = ("--set", "rbac.rules=null")
RIGHTS = {
    "webhooks.admission": {"webhooks.admission": "true"},
    "webhooks.conversion": {"webhooks.conversion": "true"},
    "modules.enabled": {"modules.enabled": "true"},
    "modules.crds": {"modules.enabled": "true", "modules.crds": "true"},
}
Right = tuple[str, str, str, str]


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.partition(f"\n## {title}\n")[2], flags=re.MULTILINE)[0]


def rows(title: str) -> list[list[str]]:
    """Cells of the section's table, without its two head lines."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def pods(manifests: str) -> list[Any]:
    found = [obj["spec"]["template"]["spec"] for obj in yaml.safe_load_all(manifests) if obj["kind"] in KINDS]
    assert len(found) == len(KINDS)
    return found


KINDS = ("Deployment", "Job")
WEBHOOKS = ("--set", "webhooks.admission=true,webhooks.conversion=true")


def words(context: dict[str, Any]) -> list[str]:
    """As the page writes them."""
    short = {"seccompProfile": "RuntimeDefault", "capabilities": "drop ALL"}
    assert context.get("seccompProfile", {"type": "RuntimeDefault"}) == {"type": "RuntimeDefault"}
    assert context.get("capabilities", {"drop": ["ALL"]}) == {"drop": ["ALL"]}
    return [f"{key}: {short.get(key, str(value).lower())}" for key, value in context.items()]


def test_every_pod_has_the_security_context_of_the_page(render: Render) -> None:
    of_pod, of_container, writable = (re.findall("`([^`]+)`", row[1]) for row in rows("The Pod"))
    for pod in pods(render(*WEBHOOKS)):
        containers = [*pod["containers"], *pod.get("initContainers", [])]
        assert words(pod["securityContext"]) == of_pod
        assert [words(container["securityContext"]) for container in containers] == [of_container] * len(containers)
        assert [mount["mountPath"] for mount in containers[0]["volumeMounts"]] == writable[:1]
        assert [volume for volume in pod["volumes"] if not volume["emptyDir"]["sizeLimit"]] == []


def test_no_pod_has_anything_of_its_host(render: Render) -> None:
    modules = ("--set", "modules.enabled=true")
    assert [word for word in ("host", "privileged: true", "hostPath") if word in render(*WEBHOOKS, *modules)] == []


def test_the_api_server_takes_every_pod_under_the_restricted_standard(
    render: Render, cluster: Cluster, namespace: str
) -> None:
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    for number, spec in enumerate(pods(render(*WEBHOOKS))):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{number}", "namespace": namespace},
            "spec": {**spec, "serviceAccountName": "default", "restartPolicy": "Never"},
        }
        cluster.kubectl("create", "--dry-run=server", "--filename", "-", input=yaml.safe_dump(pod))


def rights(manifests: str, namespace: str) -> list[Right]:
    """Of the program's account: group, resources, verbs, and whether they are for objects of its own names only."""
    found = []
    for obj in yaml.safe_load_all(manifests):
        if obj["kind"] not in ("Role", "ClusterRole") or "annotations" in obj["metadata"]:
            continue
        for rule in obj["rules"]:
            group = rule["apiGroups"][0] or "core"
            where = f"{group}, in its namespace" if obj["kind"] == "Role" else group
            names = "its own" if rule.get("resourceNames") else ""
            found.append((where, ", ".join(rule["resources"]), ", ".join(rule["verbs"]), names))
    return found


@pytest.mark.parametrize("value", RIGHTS)
def test_the_chart_gives_the_rights_of_the_page_and_no_others(value: str, render: Render, namespace: str) -> None:
    flags = RIGHTS[value]
    given = rights(render(*BARE, "--set", ",".join(f"{key}={text}" for key, text in flags.items())), namespace)
    listed = [tuple(row[1:]) for row in rows("Rights") if row[0].strip("`") in flags]
    assert sorted(listed) == sorted(given)


def test_the_removal_job_may_create_nothing(render: Render) -> None:
    roles = [obj for obj in yaml.safe_load_all(render(*WEBHOOKS)) if obj["kind"] == "ClusterRole"]
    (of_job,) = [role for role in roles if "annotations" in role["metadata"]]
    assert "create" not in {verb for rule in of_job["rules"] for verb in rule["verbs"]}


def test_without_values_there_are_no_rights_at_all(render: Render, namespace: str) -> None:
    assert rights(render(*BARE), namespace) == []


def test_ports_of_the_page_are_those_that_the_policy_opens(render: Render) -> None:
    rules = objects(render(*WEBHOOKS))["NetworkPolicy"]["spec"]["ingress"]
    opened = {str(port["port"]): "from" in rule for rule in rules for port in rule["ports"]}
    assert opened == {row[0].strip("`"): row[3] != "anywhere" for row in rows("Ports")}


def test_values_that_the_page_names_are_in_the_chart() -> None:
    values = yaml.safe_load((ROOT / "charts" / "hookrunner" / "values.yaml").read_text())
    named = set(re.findall(r"(?:webhooks|networkPolicy|modules|rbac)\.(?!md)[A-Za-z]+", PAGE))
    assert {path for path in named if path.split(".")[1] not in values[path.split(".")[0]]} == set()


def test_every_section_that_the_page_promises_is_there() -> None:
    titles = ("Who may do what", "Ports", "Rights", "The Pod", "Assumptions", "Making it tighter", "How to report")
    assert [title for title in titles if not section(title).strip()] == []
    assert Path(ROOT / "docs" / "security.md").exists()


def test_bounds_are_those_of_the_code() -> None:
    bounds = {row[0]: (row[1], row[2]) for row in rows("Bounds")}
    assert bounds["`spec` of an instance, without patches"][0] == of(INSTANCE)
    assert bounds["its `patches`"] == (
        f"{MOST_PATCHES}, {in_units(MOST_PATCH_BYTES)}",
        f"{in_units(PATCHING.in_place)} of patches and patched objects",
    )
    assert bounds["sections of the ConfigMap and the Secret"] == (of(SECTIONS), in_units(READING.in_place))
    assert bounds["a section that a hook has patched, to be written"][1] == in_units(WRITING.in_place)
    assert bounds["files that a hook writes"][0] == f"{of(DOCUMENT)}; of JSON, {in_units(AT_ONCE)} a value"
    assert bounds["its patches of values"][0] == f"{MOST_VALUE_OPERATIONS:,} operations"
    assert bounds["its `--config`"][0] == of(CONFIG)
    assert bounds["files of a package"] == (
        f"{in_units(LARGEST_FILE)} each, {in_units(LARGEST_PACKAGE)}",
        in_units(large_texts.TEXTS.in_place),
    )
    assert bounds["a channel, `package.yaml`"][0] == of(PACKAGE_TEXT)
    assert bounds["objects that a chart renders"] == (
        f"{of(RENDERED)}; {in_units(OBJECT.size)} an object",
        in_units(STEP),
    )
    assert bounds["an admission review"] == (
        f"`--webhook-admission-body`, {in_units(WebhookSettings().admission_body)}",
        f"{in_units(REVIEW_IN_PLACE)}, with {VALUE_WORK} bytes for each value",
    )
    assert bounds["a conversion review"][0] == (
        f"`--webhook-conversion-body`, {in_units(WebhookSettings().conversion_body)}; {DOCUMENT.values:,} values"
    )
    assert bounds["a hook's answer to it"] == (of(DOCUMENT), in_units(CONVERSION_BOUNDS.in_place))
    assert bounds["its objects, to be checked"][1] == (
        f"{in_units(REVIEW_IN_PLACE)}, with {OBJECT_WORK} bytes for each object"
    )
    assert bounds["a record of a release"] == (
        of(RELEASE_RECORD),
        f"{in_units(record_storage.UNPACKING.in_place)}, packed",
    )
    known = f"{in_units(QUICK_TO_PARSE * JSON_IS_QUICKER)} of JSON if its objects are known"
    assert bounds["its manifest"][1] == f"{in_units(QUICK_TO_PARSE)}, or {known}"
    assert bounds["an answer of a cloud's program"][0] == of(ANSWER)


def of(bounds: DocumentBounds) -> str:
    return f"{in_units(bounds.size)}, {bounds.values:,} values"

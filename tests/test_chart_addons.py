"""What the chart adds for addons: where they are, rights to the offered kinds and no others, first objects, and a Pod
that runs before Services and a network of Pods work.

Level: control plane."""

import json
import os
import subprocess
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.addons.addon_discovery import find_addons
from hookrunner.settings import load
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubeconfig import Access, write_kubeconfig
from tests.controlplane.tools import find_tool
from tests.fakes.chart import CHART, ROOT, Render, named, read_refusal, render, render_chart
from tests.tables import each

__all__ = ["render"]

FIRST = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "CoreDNS", "metadata": {"name": "default"}}
ELSEWHERE = (
    "addons.instances[0].kind=CoreDNS,addons.instances[0].apiVersion=addons.x-k8s.io/v1alpha1,"
    "addons.instances[0].metadata.name=a,addons.instances[0].metadata.namespace=team"
)
ON = ("--set", "addons.enabled=true")
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webs.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Web, plural: webs}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""
VARIANTS = {
    "plain": (),
    "all rights": ("--set", "addons.clusterAdmin=true"),
    "some addons": ("--set", "addons.names={coredns,web},addons.kinds.web.plural=webs"),
    "before the network": ("--set", "hostNetwork=true,kubernetesEndpoint.host=10.0.0.1,webhooks.admission=true"),
    "beside modules": ("--set", "modules.enabled=true,modules.clusterAdmin=true,webhooks.admission=true"),
    "generic": ("--set", "settings.addon-generic-sources=https://example.com/addons"),
    "first objects": ("--set-json", f"addons.instances=[{json.dumps(FIRST)}]"),
}


def containers(manifests: str) -> Any:
    return named(manifests)["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]["containers"]


def variables(manifests: str) -> dict[str, str]:
    (container,) = containers(manifests)
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


def rules(manifests: str) -> list[dict[str, list[str]]]:
    found: list[dict[str, list[str]]] = named(manifests)["ClusterRole/watch-hookrunner-addons"]["rules"]
    return found


def test_generic_has_its_rules_where_its_sources_are_named(render: Render) -> None:
    sources = ("--set", "settings.addon-generic-sources=https://example.com/addons")
    found, usual = rules(render(*ON, *sources)), rules(render(*ON))
    assert [rule for rule in usual if "generics" in str(rule)] == []
    for resource in ("generics", "generics/status"):
        assert any(resource in rule["resources"] for rule in found)
    assert any("generics.addons.x-k8s.io" in rule.get("resourceNames", []) for rule in found)


def test_without_addons_nothing_is_offered(render: Render) -> None:
    manifests = render("--set", "addons.names={coredns},addons.instances[0].kind=CoreDNS")
    assert not [name for name in named(manifests) if "addons" in name or "instances" in name]
    assert not load({}, "hookrunner", variables(manifests)).addons.on


def test_the_addons_of_the_image_are_offered_all_or_some(render: Render) -> None:
    every = load({}, "hookrunner", variables(render(*ON))).addons
    some = load({}, "hookrunner", variables(render(*ON, "--set", "addons.names={coredns,kube-proxy}"))).addons
    assert (every.directories, every.names) == ((Path("/addons"),), ())
    assert some.names == ("coredns", "kube-proxy")


def test_patches_of_instances_are_off_until_they_are_allowed(render: Render) -> None:
    allowed = [(), ("--set", "addons.patches=listed"), ("--set", "addons.patches=all")]
    modes = [load({}, "hookrunner", variables(render(*ON, *flags))).addons.patches for flags in allowed]
    assert modes == ["none", "listed", "all"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("port=9115", ("kube-system", "OWN")),
        ("addons.namespaces={dns,kube-system}", ("dns", "kube-system")),
        ("addons.namespaces={*}", ()),
        ("settings.addon-namespaces=dns", ("dns",)),
    ],
)
def test_only_objects_in_namespaces_of_administrators_are_reconciled(
    flags: str, expected: tuple[str, ...], render: Render, namespace: str
) -> None:
    found = load({}, "hookrunner", variables(render(*ON, "--set", flags))).addons
    assert found.namespaces == tuple(namespace if name == "OWN" else name for name in expected)


def test_the_namespace_of_the_release_is_named_once() -> None:
    found = variables(render_chart(*ON, namespace="kube-system"))
    assert found["HOOKRUNNER_ADDON_NAMESPACES"] == "kube-system"


def test_rights_are_to_the_kinds_of_the_shipped_addons(render: Render) -> None:
    addons = find_addons([ROOT / "addons"]).addons
    plurals = sorted(addon.object.plural for addon in addons)
    found = {
        tuple(rule["resources"]): rule["verbs"]
        for rule in rules(render(*ON))
        if rule["apiGroups"][0] == "addons.x-k8s.io"
    }
    assert found == {
        tuple(plurals): ["get", "list", "watch", "patch"],
        tuple(f"{plural}/status" for plural in plurals): ["patch"],
        tuple(f"{plural}/finalizers" for plural in plurals): ["update"],
        ("coredns",): ["patch"],  # the hooks of these two copy into the spec what they adopt
        ("kubeproxies",): ["patch"],
        ("flannels",): ["patch"],  # its hook remembers earlier backends in an annotation
    }


def test_rights_are_limited_to_the_offered_kinds(render: Render) -> None:
    flags = "addons.names={coredns,web},addons.kinds.web.group=example.com,addons.kinds.web.plural=webs"
    found = rules(render(*ON, "--set", flags))
    unnamed = [rule for rule in found if "resourceNames" not in rule]
    assert {(*rule["apiGroups"], *rule["resources"]) for rule in unnamed if "patch" in rule["verbs"]} == {
        ("addons.x-k8s.io", "coredns"),
        ("addons.x-k8s.io", "coredns/status"),
        ("example.com", "webs"),
        ("example.com", "webs/status"),
        ("", "events"),
    }
    named = {rule["resources"][0]: rule["resourceNames"] for rule in found if "resourceNames" in rule}
    assert named.pop("customresourcedefinitions") == ["coredns.addons.x-k8s.io", "webs.example.com"]
    assert named.pop("customresourcedefinitions/status") == ["coredns.addons.x-k8s.io", "webs.example.com"]
    (policy,) = named.pop("validatingadmissionpolicies")
    assert policy.startswith("hookrunner-protect.")
    assert named == {"clusterroles": ["system:coredns"]}, "what CoreDNS installs, by its name"


@pytest.mark.slow
@each(
    ("flag", "words"),
    [
        ("addons.patches=some", "at '/addons/patches': value must be one of 'none', 'listed', 'all'"),
        ("addons.names={corends}", "'corends' is not in the image: there are calico, canal, "),
        ("addons.instances[0].kind=CoreDNS", "an object needs apiVersion, kind and metadata.name"),
        (
            f"{ELSEWHERE},addons.namespaces={{dns}}",
            "objects in namespace 'team' would not be reconciled, only those in dns",
        ),
    ],
)
def test_wrong_values_are_refused(flag: str, words: str) -> None:
    assert words in read_refusal(*ON, "--set", flag)


def test_a_pod_can_run_before_services_and_the_network_of_pods_work(render: Render) -> None:
    manifests = render(*ON, "--set", "hostNetwork=true,kubernetesEndpoint.host=10.0.0.1,tolerations[0].key=mine")
    pod = named(manifests)["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "Default")
    assert [toleration["key"].rpartition("/")[2] for toleration in pod["tolerations"]] == [
        "not-ready",
        "uninitialized",
        "control-plane",
        "network-unavailable",
        "mine",
    ]
    found = variables(manifests)
    assert (found["KUBERNETES_SERVICE_HOST"], found["KUBERNETES_SERVICE_PORT"]) == ("10.0.0.1", "6443")
    plain = render(*ON)
    assert "hostNetwork" not in plain
    assert "KUBERNETES_SERVICE" not in plain


def test_first_objects_are_created_once_and_belong_to_their_users(
    helm: Path, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    group = f"{namespace}.example.com"
    release = _release(helm, cluster, namespace, tmp_path, group)
    _apply(release)
    cluster.kubectl("apply", "--filename", "-", input=DEFINITION.replace("GROUP", group))
    cluster.wait_for_definition(f"webs.{group}")
    path = f"/apis/{group}/v1/namespaces/{namespace}/webs/default"
    try:
        assert "created" in _run_job(cluster, namespace, tmp_path)
        assert cluster.request("GET", path).body["metadata"]["name"] == "default"
        cluster.request("DELETE", path)
        _apply(release)  # an upgrade leaves what the Job has noted
        assert _run_job(cluster, namespace, tmp_path) == ""
        assert cluster.request("GET", path).status == HTTPStatus.NOT_FOUND
    finally:
        cluster.kubectl("delete", "crd", f"webs.{group}")


def test_the_notes_name_objects_that_an_upgrade_shuts_out(
    helm: Path, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    group = f"{namespace}.example.com"
    release = _release(helm, cluster, namespace, tmp_path, group)
    assert "in these namespaces only: kube-system, " in _apply(release), "no such kind is served yet"
    cluster.kubectl("apply", "--filename", "-", input=DEFINITION.replace("GROUP", group))
    cluster.wait_for_definition(f"webs.{group}")
    path = f"/apis/{group}/v1/namespaces/%s/webs"
    try:
        for where, name in ((namespace, "ours"), ("default", "theirs")):
            cluster.create(path % where, {"apiVersion": f"{group}/v1", "kind": "Web", "metadata": {"name": name}})
        told = _apply(release)
        assert ("\n    Web default/theirs\n" in f"{told}\n", "ours" in told) == (True, False)
        assert "neither upgraded nor repaired" in told
        assert "WARNING: these" not in _apply([*release, "--set", f"addons.namespaces={{default,{namespace}}}"])
    finally:
        cluster.kubectl("delete", "crd", f"webs.{group}")


def _release(helm: Path, cluster: Cluster, namespace: str, directory: Path, group: str) -> list[str]:
    """A command that installs or upgrades the release."""
    instance = {"apiVersion": f"{group}/v1", "kind": "Web", "metadata": {"name": "default", "namespace": namespace}}
    kinds = {"web": {"group": group, "plural": "webs"}}
    addons = {"enabled": True, "names": ["web"], "kinds": kinds, "instances": [instance]}
    (values := directory / "values.yaml").write_text(yaml.safe_dump({"addons": addons}))
    where = ["--namespace", namespace, "--kubeconfig", str(cluster.kubeconfig), "--values", str(values)]
    return [str(helm), "upgrade", "--install", "watch", str(CHART), *where]


def _apply(command: list[str]) -> str:
    """Install or upgrade; the notes."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("NOTES:")[2]


def _run_job(cluster: Cluster, namespace: str, directory: Path) -> str:
    """Run the Job's command as the kubelet would, with its files and under its account; what it prints."""
    where = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    (found,) = cluster.request("GET", where).body["items"]
    (container,) = found["spec"]["template"]["spec"]["containers"]
    files = directory / "instances"
    files.mkdir(exist_ok=True)
    for name, text in _config_map(cluster, namespace).items():
        (files / name).write_text(text)
    name = found["spec"]["template"]["spec"]["serviceAccountName"]
    for attributes in (
        {"verb": "create", "group": f"{namespace}.example.com", "resource": "webs", "namespace": namespace},
        {"verb": "patch", "resource": "configmaps", "namespace": namespace, "name": "watch-hookrunner-instances"},
    ):
        cluster.wait_for_right(f"{namespace}:{name}", attributes)
    account = _as_account(cluster, namespace, name, directory)
    environ = {entry["name"]: entry["value"] for entry in container["env"]}
    tools = {"PATH": f"{find_tool('kubectl').parent}:{os.environ['PATH']}", "HOME": str(directory)}
    environ |= tools | {"INSTANCES": str(files), "KUBECONFIG": str(account)}
    command = [*container["command"], *container["args"]]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _config_map(cluster: Cluster, namespace: str) -> Mapping[str, str]:
    path = f"/api/v1/namespaces/{namespace}/configmaps/watch-hookrunner-instances"
    data: dict[str, str] = cluster.request("GET", path).body["data"]
    return data


def _as_account(cluster: Cluster, namespace: str, account: str, directory: Path) -> Path:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    token = cluster.create(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
    access = Access(cluster.url, cluster.ca, token)
    return write_kubeconfig(directory / "account", access)

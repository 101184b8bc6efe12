"""Who may reach the Pod's ports by the chart's NetworkPolicy, and whom its webhook server lets in.

Level: control plane."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.cluster import Cluster, RequestFailed
from tests.fakes.chart import CHART, Render, named, objects, read_refusal, render
from tests.tables import each

__all__ = ["render"]

ADMISSION = ("--set", "webhooks.admission=true")
SERVERS = "networkPolicy.apiServers={10.0.0.0/28,10.1.0.1/32}"


def ingress(manifests: str) -> dict[int, Any]:
    """From where each port may be reached; None from anywhere."""
    rules = objects(manifests)["NetworkPolicy"]["spec"]["ingress"]
    return {port["port"]: rule.get("from") for rule in rules for port in rule["ports"]}


def notes(helm: Path, *flags: str) -> str:
    command = [str(helm), "install", "watch", str(CHART), "--dry-run=client", *flags]
    environ = {**os.environ, "KUBECONFIG": os.devnull}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    return done.stdout.partition("NOTES:")[2]


def test_every_port_but_those_that_the_pod_declares_is_closed(render: Render) -> None:
    manifests = render(*ADMISSION, "--set", "port=9650,webhooks.port=9000")
    (container,) = objects(manifests)["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert set(ingress(manifests)) == {port["containerPort"] for port in container["ports"]} == {9650, 9000}
    assert objects(manifests)["NetworkPolicy"]["spec"]["policyTypes"] == ["Ingress"]


def test_without_webhooks_only_the_metrics_port_is_open(render: Render) -> None:
    assert ingress(render()) == {9115: None}


def test_the_policy_is_for_the_program_and_not_for_the_removal_job(render: Render) -> None:
    found = named(render(*ADMISSION))
    selected = found["NetworkPolicy/watch-hookrunner"]["spec"]["podSelector"]["matchLabels"]
    labels = [
        found[name]["spec"]["template"]["metadata"]["labels"]
        for name in ("Deployment/watch-hookrunner", "Job/watch-hookrunner-webhooks-removal")
    ]
    assert [selected.items() <= of_pod.items() for of_pod in labels] == [True, False]


def test_reviews_come_only_from_where_api_servers_are(render: Render) -> None:
    blocks = [{"ipBlock": {"cidr": cidr}} for cidr in ("10.0.0.0/28", "10.1.0.1/32")]
    assert ingress(render(*ADMISSION, "--set", SERVERS)) == {9115: None, 9680: blocks}


def test_metrics_are_read_only_from_the_namespaces_that_are_named(render: Render) -> None:
    peers = [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}]
    assert ingress(render(*ADMISSION, "--set", "networkPolicy.metricsFrom[0].team=monitoring"))[9115] == peers


def test_the_policy_can_be_left_out(render: Render) -> None:
    assert "NetworkPolicy" not in render(*ADMISSION, "--set", "networkPolicy.enabled=false")


def test_the_api_server_refuses_invalid_networks(render: Render, cluster: Cluster, namespace: str) -> None:
    manifests = render(*ADMISSION, "--set", "networkPolicy.apiServers={10.0.0.300/32}")
    with pytest.raises(RequestFailed, match=r"10\.0\.0\.300"):
        cluster.kubectl("apply", "--dry-run=server", "--filename", "-", input=manifests)


@pytest.mark.slow
@each(
    ("flags", "words"),
    [
        ("networkPolicy.apiServers={10.0.0.1}", "of one address write '10.0.0.1/32'"),
        (f"networkPolicy.enabled=false,{SERVERS}", "need networkPolicy.enabled=true"),
        ("webhooks.clientCA.secret=a,webhooks.clientCA.configMap=b", "a configMap or a secret, not both"),
        ("webhooks.clientCA.secret=a,settings.validating-webhook-client-ca=/x", "not both"),
        ("webhooks.clientCA.secret=a,webhooks.conversion=true", "would keep out conversions"),
    ],
)
def test_contradicting_values_are_refused(flags: str, words: str) -> None:
    assert words in read_refusal(*ADMISSION, "--set", flags)


@pytest.mark.parametrize("kind", ["configMap", "secret"])
def test_only_clients_of_a_named_ca_are_accepted(kind: str, render: Render) -> None:
    pod = objects(render(*ADMISSION, "--set", f"webhooks.clientCA.{kind}=clients,webhooks.clientCA.key=all.pem"))[
        "Deployment"
    ]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    path = next(entry["value"] for entry in container["env"] if entry["name"].endswith("_CLIENT_CA"))
    assert path == "/client-ca/all.pem"
    assert {"name": "client-ca", "mountPath": "/client-ca", "readOnly": True} in container["volumeMounts"]
    assert "client-ca" in [volume["name"] for volume in pod["volumes"]]
    assert container["readinessProbe"]["httpGet"]["port"] == "http-metrics"  # a kubelet has no certificate to show


def test_without_webhooks_a_client_ca_changes_nothing(render: Render) -> None:
    assert "client-ca" not in render("--set", "webhooks.clientCA.secret=clients")


def test_the_notes_warn_of_ports_open_to_all(helm: Path) -> None:
    open_to_all = notes(helm, *ADMISSION)
    assert "networkPolicy.apiServers" in open_to_all
    assert "webhooks.clientCA" in open_to_all
    assert "networkPolicy.metricsFrom" in open_to_all


def test_the_notes_ask_for_no_value_that_is_set(helm: Path) -> None:
    flags = f"{SERVERS},networkPolicy.metricsFrom[0].team=monitoring,webhooks.clientCA.secret=clients"
    said = notes(helm, *ADMISSION, "--set", flags)
    assert [word for word in ("WARNING", "webhooks.clientCA", "networkPolicy") if word in said] == []


def test_the_notes_state_what_to_do_next(helm: Path) -> None:
    plain = notes(helm)
    assert "rollout status --namespace default deployment/watch-hookrunner" in plain
    assert "hooks.NAME\\.sh=FILE" in plain
    assert "It has no rights but its own needs" in plain
    both = notes(helm, "--set", "modules.enabled=true,addons.enabled=true")
    assert [command in both for command in ("hookrunner module list", "hookrunner addon list")] == [True, True]
    assert "clusterAdmin" not in plain + both


def test_the_notes_state_what_addons_may_and_what_users_have_to_add(helm: Path) -> None:
    some = notes(helm, "--set", "addons.enabled=true,addons.names={coredns,web},addons.kinds.web.plural=webs")
    assert "It may install the addons coredns, web, and nothing else." in some
    assert "For web add rbac.rules: hookrunner rbac" in some
    patched = notes(helm, "--set", "addons.enabled=true,addons.patches=all")
    assert "rbac.rules, or every right: addons.clusterAdmin=true" in patched


@pytest.mark.parametrize("part", ["modules", "addons"])
def test_the_notes_warn_of_all_rights(part: str, helm: Path) -> None:
    said = notes(helm, "--set", f"{part}.enabled=true,{part}.clusterAdmin=true")
    assert f"WARNING: {part}.clusterAdmin is on" in said
    assert "It has no rights" not in said


def test_conversions_are_not_asked_for_a_certificate(helm: Path) -> None:
    assert "clientCA" not in notes(helm, "--set", "webhooks.admission=true,webhooks.conversion=true")

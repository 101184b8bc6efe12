"""What the chart adds for webhooks: how the API server gets to the Pod, with which rights, and how all of it ends.

Level: control plane."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.settings import CertificateSource, load
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubeconfig import Access, write_kubeconfig
from tests.fakes.chart import CHART, Render, named, read_refusal, render, render_chart
from tests.fakes.installation import CONFIGURATIONS, Installation
from tests.flows.waiting import until

__all__ = ["render"]

READ = {"get", "list", "watch"}
OF_JOB = "involvedObject.kind=Job,reason=Completed"
SEE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
WEBHOOKS = ("--set", "webhooks.admission=true,webhooks.conversion=true")


def variables(container: Any) -> dict[str, str]:
    return {entry["name"].removeprefix("HOOKRUNNER_"): entry.get("value", "") for entry in container["env"]}


def test_without_webhooks_the_chart_has_no_objects_for_them(render: Render) -> None:
    assert "ebhook" not in render()


def test_one_service_leads_to_the_one_port_of_the_webhooks(render: Render, namespace: str) -> None:
    found = named(render(*WEBHOOKS, "--set", "webhooks.port=9000"))
    service = found["Service/watch-hookrunner-webhooks"]["spec"]
    (container,) = found["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]["containers"]
    assert service["ports"] == [{"name": "webhooks", "port": 443, "targetPort": "webhooks"}]
    assert {"name": "webhooks", "containerPort": 9000} in container["ports"]
    flags = {name.replace("_", "-").lower(): value for name, value in variables(container).items()}
    settings = load(flags, "hookrunner", {})
    assert settings.webhooks.port == 9000
    assert {settings.validating.service, settings.conversion.service} == {"watch-hookrunner-webhooks"}
    assert settings.webhooks.certs == CertificateSource("self", "watch-hookrunner-webhooks-certs")
    assert settings.validating.configuration == f"{namespace}-watch-hookrunner"


def test_the_pod_is_ready_when_its_webhooks_are(render: Render) -> None:
    (container,) = named(render(*WEBHOOKS))["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "webhooks", "scheme": "HTTPS"}
    assert container["livenessProbe"]["httpGet"]["port"] == "http-metrics"


def writes(manifests: str) -> set[tuple[str, str, str]]:
    """What the webhooks' ClusterRole allows beyond reading: verb, kind, and the name it is limited to."""
    rules = named(manifests)["ClusterRole/watch-hookrunner-webhooks"]["rules"]
    return {
        (verb, kind, name)
        for rule in rules
        for verb in set(rule["verbs"]) - READ
        for kind in rule["resources"]
        for name in rule.get("resourceNames", ["*"])
    }


def test_each_kind_of_webhook_may_write_only_its_registrations(render: Render, namespace: str) -> None:
    update = ("update", "customresourcedefinitions", "*")
    create = ("create", "mutatingwebhookconfigurations", "*")
    one, other = (writes(render("--set", f"webhooks.{kind}=true")) for kind in ("admission", "conversion"))
    assert (create in one, update in one) == (True, False)
    assert (create in other, update in other) == (False, True)
    named = {name for verb, kind, name in one if verb != "create"}
    assert named == {f"{namespace}-watch-hookrunner"}


@pytest.mark.parametrize(
    ("flag", "name"),
    [("compat=shell-operator", "-watch-hookrunner-hooks"), ("validating-webhook-configuration-name=mine", "mine")],
)
def test_rights_are_for_the_name_that_the_program_uses(flag: str, name: str, render: Render) -> None:
    found = {name for verb, _, name in writes(render(*WEBHOOKS, "--set", f"settings.{flag}")) if verb == "delete"}
    assert [text.endswith(name) for text in found] == [True]


@pytest.mark.parametrize(("certs", "verbs"), [("self", {"list", "watch", "update"}), ("secret", {"list", "watch"})])
def test_of_existing_secrets_only_the_certificates_one_is_open(certs: str, verbs: set[str], render: Render) -> None:
    role = named(render(*WEBHOOKS, "--set", f"webhooks.certs={certs}"))["Role/watch-hookrunner-webhooks"]
    of_names = [rule for rule in role["rules"] if rule["verbs"] != ["create"]]
    assert [(rule["resourceNames"], set(rule["verbs"])) for rule in of_names] == [
        (["watch-hookrunner-webhooks-certs"], verbs)
    ]


def test_cert_manager_is_asked_for_the_services_name(render: Render, namespace: str) -> None:
    issuer = "webhooks.issuerRef.kind=ClusterIssuer,webhooks.issuerRef.name=ca"
    found = named(render(*WEBHOOKS, "--set", f"webhooks.certs=cert-manager,{issuer}"))
    asked = found["Certificate/watch-hookrunner-webhooks"]["spec"]
    assert asked["dnsNames"] == [f"watch-hookrunner-webhooks.{namespace}.svc"]
    assert asked["issuerRef"] == {"kind": "ClusterIssuer", "name": "ca"}
    (container,) = found["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]["containers"]
    assert variables(container)["WEBHOOK_CERTS"] == f"secret:{asked['secretName']}"


@pytest.mark.parametrize(
    ("certs", "words"),
    [
        ("files", "at '/webhooks/certs': value must be one of 'self', 'secret', 'cert-manager'"),
        ("cert-manager", "needs webhooks.issuerRef"),
    ],
)
def test_certificates_that_cannot_come_are_refused(certs: str, words: str) -> None:
    assert words in read_refusal(*WEBHOOKS, "--set", f"webhooks.certs={certs}")


async def test_an_uninstall_begins_with_the_removal_job_and_leaves_nothing(
    helm: Path, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """The Job's Pod succeeds here without running; what it would do is tested below."""
    shutil.copytree(CHART, chart := tmp_path / "chart")
    text = (chart / "Chart.yaml").read_text()
    (chart / "Chart.yaml").write_text(text.replace("kubeVersion", "#"))  # this server does not know its own
    where = ["--namespace", namespace, "--kubeconfig", str(cluster.kubeconfig)]
    for command in (["install", "watch", str(chart), *WEBHOOKS], ["uninstall", "watch"]):
        await asyncio.to_thread(subprocess.run, [str(helm), *command, *where], check=True, capture_output=True)
    events = ("get", "events", "--namespace", namespace, "--output", "name", "--field-selector", OF_JOB)
    await until(lambda: cluster.kubectl(*events), "an Event of the Job, which may be written after its status")
    assert namespace not in cluster.kubectl("get", "clusterroles,clusterrolebindings", "--output", "name")


def test_the_removal_job_has_the_names_of_the_program_and_no_service_leads_to_it(render: Render) -> None:
    found = named(render(*WEBHOOKS, "--set", "settings.compat=shell-operator"))
    pod = found["Job/watch-hookrunner-webhooks-removal"]["spec"]["template"]
    (container,) = found["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]["containers"]
    assert pod["spec"]["containers"][0]["env"] == container["env"]
    assert (
        not found["Service/watch-hookrunner-webhooks"]["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    )


def test_names_of_the_longest_release_are_not_too_long() -> None:
    """Helm takes 53 characters; Jobs and Services 63."""
    kinds = {"Job", "Service", "Deployment", "ServiceAccount"}
    manifests = yaml.safe_load_all(render_chart(*WEBHOOKS, release="r" * 53))
    names = {obj["metadata"]["name"] for obj in manifests if obj["kind"] in kinds}
    assert max(map(len, names)) <= 63


def test_probes_have_no_certificate_to_show(render: Render) -> None:
    asking = ("--set", "settings.validating-webhook-client-ca=/clients/ca.crt")
    (container,) = named(render(*WEBHOOKS, *asking))["Deployment/watch-hookrunner"]["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http-metrics"}


@pytest.mark.parametrize("setting", ["webhooks.removeBeforeUninstall=false", "rbac.create=false"])
def test_there_is_no_removal_job_where_it_is_not_wanted_or_could_not_work(setting: str, render: Render) -> None:
    assert "pre-delete" not in render(*WEBHOOKS, "--set", setting)


@pytest.fixture
def installed(render: Render, cluster: Cluster, namespace: str) -> Iterator[Installation]:
    """The chart's objects, those of the removal included, in the cluster, and the names that they give the program."""
    manifests = render(*WEBHOOKS)
    cluster.kubectl("apply", "--server-side", "--filename", "-", input=manifests)
    found = Installation(cluster, namespace, f"{namespace}-watch-hookrunner", "watch-hookrunner-webhooks")
    found.define()
    yield found
    found.clean()
    cluster.kubectl("delete", "--ignore-not-found", "--wait=false", "--filename", "-", input=manifests)


def account(installed: Installation, name: str, tmp_path: Path) -> Path:
    """A kubeconfig of one of the chart's service accounts, whose rights the API server has heard of: it has of those
    of users that were made later."""
    cluster = installed.cluster
    for number, everywhere in enumerate((False, True)):
        later = f"later-{name}-{number}"
        cluster.user(later, installed.namespace, [SEE], everywhere=everywhere)
    names = f"{installed.namespace}-later-{name}-1"
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", names)
    token = cluster.kubectl("create", "token", name, "--namespace", installed.namespace).strip()
    return write_kubeconfig(tmp_path / name, Access(cluster.access.url, cluster.access.ca, token))


def test_the_program_may_register_itself_and_keep_its_certificate(installed: Installation, tmp_path: Path) -> None:
    kubeconfig = account(installed, "watch-hookrunner", tmp_path)
    assert installed.register(kubeconfig) == (True, "")
    assert len(installed.configurations()) == 2
    secret = asyncio.run(installed.certify(kubeconfig, f"{installed.service}-certs"))
    assert secret.certificate.startswith(b"-----BEGIN CERTIFICATE-----")


async def test_the_program_may_watch_its_own_registrations(installed: Installation, tmp_path: Path) -> None:
    """By rights to nothing but the objects of its name."""
    kubeconfig = account(installed, "watch-hookrunner", tmp_path)
    async with installed.running(kubeconfig), asyncio.timeout(60):
        await asyncio.to_thread(installed.cluster.kubectl, "delete", CONFIGURATIONS, installed.name)
        while len(await asyncio.to_thread(installed.configurations)) < 2:
            pass


@pytest.mark.usefixtures("launcher")
def test_the_removal_job_has_the_rights_for_its_commands(
    installed: Installation, render: Render, tmp_path: Path
) -> None:
    """Its containers' commands, run here, one after the other."""
    installed.register()
    kubeconfig = account(installed, "watch-hookrunner-webhooks-removal", tmp_path)
    pod = named(render(*WEBHOOKS))["Job/watch-hookrunner-webhooks-removal"]["spec"]["template"]["spec"]
    (rights,), (webhooks,) = pod["initContainers"], pod["containers"]
    installed.cluster.kubectl(*rights["command"][1:], kubeconfig=kubeconfig)
    given = {entry["name"]: entry.get("value", installed.namespace) for entry in webhooks["env"]}
    subprocess.run(
        [sys.executable, "-m", "hookrunner", *webhooks["args"]],
        env={**os.environ, **given, "KUBECONFIG": str(kubeconfig)},
        check=True,
    )
    assert installed.configurations() == []
    assert installed.conversion() == {"strategy": "None"}
    bindings = installed.cluster.kubectl("get", "clusterrolebindings", "--output", "name").splitlines()
    assert [name for name in bindings if name.endswith(f"{installed.namespace}-watch-hookrunner-webhooks")] == []

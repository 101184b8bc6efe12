"""The chart, rendered by the real helm and applied by the real API server. No container runs: see `test_image.py`."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.settings import CertificateSource, load, options
from tests.controlplane.cluster import Cluster

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "hookrunner"
RULES = """
rbac:
  rules:
    - {apiGroups: [""], resources: [namespaces], verbs: [get, list, watch, patch]}
"""

Render = Callable[..., str]


@pytest.fixture
def render(helm: Path, namespace: str, tmp_path: Path) -> Render:
    """`render(*flags)`: the manifests of a release in the test's namespace, with rules for the shipped hook."""
    (rights := tmp_path / "rights.yaml").write_text(RULES)

    def call(*flags: str) -> str:
        command = [
            str(helm),
            "template",
            "watch",
            str(CHART),
            "--namespace",
            namespace,
            "--values",
            str(rights),
            *flags,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def objects(manifests: str) -> dict[str, Any]:
    """Rendered objects by kind."""
    return {obj["kind"]: obj for obj in yaml.safe_load_all(manifests) if obj}


HOOK = ("--set-file", f"hooks.pod-security\\.sh={ROOT / 'hooks' / 'pod-security.sh'}")
VARIANTS = {
    "defaults": (),
    "own hooks": HOOK,
    "a ConfigMap of hooks": ("--set", "hooksConfigMap=mine"),
    "one namespace": ("--set", "rbac.clusterWide=false"),
    "settings": ("--set", "settings.log-level=debug,settings.kube-client-qps=5,settings.tmp-dir=/tmp/x,port=9650"),
    "webhooks": ("--set", "webhooks.admission=true,webhooks.conversion=true"),
    "webhooks with somebody's certificate": (
        "--set",
        "webhooks.conversion=true,webhooks.certs=secret,webhooks.secretName=theirs",
    ),
    "everything else": (
        "--set",
        "imagePullSecrets[0].name=pull,nodeSelector.disk=ssd,tolerations[0].operator=Exists,podAnnotations.a=b,"
        "serviceAccount.annotations.c=d,service.annotations.e=f,env[0].name=TEAM,env[0].value=blue",
    ),
}


def test_helm_finds_nothing_to_criticise(helm: Path) -> None:
    subprocess.run([helm, "lint", "--strict", CHART], check=True, capture_output=True)


@pytest.mark.parametrize("flags", VARIANTS.values(), ids=list(VARIANTS))
def test_the_api_server_takes_every_variant(
    flags: tuple[str, ...], render: Render, cluster: Cluster, namespace: str
) -> None:
    manifests = render(*flags)
    applied = cluster.kubectl(
        "apply", "--server-side", "--validate=strict", "--namespace", namespace, "--filename", "-", input=manifests
    )
    assert applied.count("serverside-applied") == manifests.count("\nkind: ")
    cluster.kubectl("delete", "--wait=false", "--namespace", namespace, "--filename", "-", input=manifests)


def test_the_deployment_becomes_available(render: Render, cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("apply", "--server-side", "--filename", "-", input=render("--set", "rbac.create=false"))
    cluster.kubectl("rollout", "status", "deployment/watch-hookrunner", "--timeout=60s", "--namespace", namespace)


def test_the_pod_has_no_more_rights_than_it_needs(render: Render) -> None:
    pod = objects(render())["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"]


def test_without_rules_there_is_no_role(helm: Path) -> None:
    plain = subprocess.run([helm, "template", "watch", CHART], capture_output=True, text=True, check=True).stdout
    assert set(objects(plain)) == {"ServiceAccount", "Service", "Deployment"}


def test_probes_and_service_lead_to_the_port(render: Render) -> None:
    rendered = objects(render("--set", "port=9650"))
    (container,) = rendered["Deployment"]["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    probes = [container[f"{probe}Probe"]["httpGet"] for probe in ("liveness", "readiness")]
    assert [(probe["path"], probe["port"]) for probe in probes] == [
        ("/healthz", port["name"]),
        ("/readyz", port["name"]),
    ]
    assert rendered["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    assert rendered["Service"]["metadata"]["annotations"]["prometheus.io/port"] == "9650"


def test_settings_become_variables_that_the_program_knows(render: Render) -> None:
    pod = objects(render("--set", "settings.log-level=debug,settings.tmp-dir=/tmp/x"))["Deployment"]["spec"]["template"]
    variables = [entry["name"] for entry in pod["spec"]["containers"][0]["env"]]
    assert set(variables) <= {name for option in options() for name in option.variables}
    assert len(variables) == len(set(variables))
    assert {"HOOKRUNNER_LOG_LEVEL", "HOOKRUNNER_LISTEN_PORT"} <= set(variables)


def test_hooks_from_values_are_mounted_as_executables_and_new_text_makes_a_new_pod(render: Render) -> None:
    deployment = objects(render(*HOOK))["Deployment"]["spec"]["template"]
    (volume,) = [volume for volume in deployment["spec"]["volumes"] if volume["name"] == "hooks"]
    assert volume["configMap"] == {"name": "watch-hookrunner-hooks", "defaultMode": 0o777}
    other = objects(render("--set", "hooks.a\\.sh=x"))["Deployment"]["spec"]["template"]
    assert deployment["metadata"]["annotations"] != other["metadata"]["annotations"]


READ = {"get", "list", "watch"}
OF_JOB = "involvedObject.kind=Job,reason=Completed"
WEBHOOKS = ("--set", "webhooks.admission=true,webhooks.conversion=true")


def named(manifests: str) -> dict[str, Any]:
    """Rendered objects by kind and name, without the namespace that names of cluster-wide objects begin with."""
    found = {}
    for obj in yaml.safe_load_all(manifests):
        name = obj["metadata"]["name"]
        found[f"{obj['kind']}/{name[name.index('watch') :]}"] = obj
    return found


def variables(container: Any) -> dict[str, str]:
    return {entry["name"].removeprefix("HOOKRUNNER_"): entry.get("value", "") for entry in container["env"]}


def test_without_webhooks_nothing_of_them_is_there(render: Render) -> None:
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


def test_a_kind_of_webhooks_may_write_what_it_is_registered_in_and_no_more(render: Render, namespace: str) -> None:
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


@pytest.mark.parametrize(("certs", "verbs"), [("self", {"get", "list", "watch", "update"}), ("secret", READ)])
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
    ("certs", "words"), [("files", "one of self, secret, cert-manager"), ("cert-manager", "needs webhooks.issuerRef")]
)
def test_certificates_that_cannot_come_are_refused(certs: str, words: str, helm: Path) -> None:
    command = [str(helm), "template", "watch", str(CHART), *WEBHOOKS, "--set", f"webhooks.certs={certs}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert words in done.stderr


def test_an_uninstall_begins_with_the_removal_job_and_leaves_nothing(
    helm: Path, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """The Job's Pod succeeds here without running; what it would do: `tests/cli/test_webhooks.py`."""
    shutil.copytree(CHART, chart := tmp_path / "chart")
    text = (chart / "Chart.yaml").read_text()
    (chart / "Chart.yaml").write_text(text.replace("kubeVersion", "#"))  # this server does not know its own
    where = ["--namespace", namespace, "--kubeconfig", str(cluster.kubeconfig)]
    subprocess.run([str(helm), "install", "watch", str(chart), *WEBHOOKS, *where], check=True, capture_output=True)
    subprocess.run([str(helm), "uninstall", "watch", *where, "--timeout", "60s"], check=True, capture_output=True)
    events = cluster.kubectl("get", "events", "--namespace", namespace, "--output", "name", "--field-selector", OF_JOB)
    assert events
    assert namespace not in cluster.kubectl("get", "clusterroles,clusterrolebindings", "--output", "name")


def test_the_removal_job_has_the_names_of_the_program_and_no_service_leads_to_it(render: Render) -> None:
    found = named(render(*WEBHOOKS, "--set", "settings.compat=shell-operator"))
    pod = found["Job/watch-hookrunner-webhooks-removal"]["spec"]["template"]
    (container,) = found["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]["containers"]
    assert pod["spec"]["containers"][0]["env"] == container["env"]
    assert (
        not found["Service/watch-hookrunner-webhooks"]["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    )


@pytest.mark.parametrize("setting", ["webhooks.removeBeforeUninstall=false", "rbac.create=false"])
def test_there_is_no_removal_job_where_it_is_not_wanted_or_could_not_work(setting: str, render: Render) -> None:
    assert "pre-delete" not in render(*WEBHOOKS, "--set", setting)

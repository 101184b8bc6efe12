"""The chart, rendered by the real helm and applied by the real API server. No container runs: see `test_image.py`.

Level: control plane."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from hookrunner.settings import load, options
from hookrunner.settings.groups import DEFAULT_HOOKS_DIR
from tests import test_chart_addons, test_chart_modules
from tests.controlplane.cluster import Cluster
from tests.fakes.chart import CHART, ROOT, Render, objects, render, render_chart

__all__ = ["render"]

HOOK = ("--set-file", f"hooks.pod-security\\.sh={ROOT / 'hooks' / 'pod-security.sh'}")
VARIANTS = {
    "defaults": (),
    "own hooks": HOOK,
    "a ConfigMap of hooks": ("--set", "hooksConfigMap=mine"),
    "one namespace": ("--set", "rbac.clusterWide=false"),
    "settings": ("--set", "settings.log-level=debug,settings.kube-client-qps=5,settings.tmp-dir=/tmp/x,port=9650"),
    "webhooks": ("--set", "webhooks.admission=true,webhooks.conversion=true"),
    "webhooks with the user's certificate": (
        "--set",
        "webhooks.conversion=true,webhooks.certs=secret,webhooks.secretName=theirs",
    ),
    "named neighbours": (
        "--set",
        "webhooks.admission=true,webhooks.clientCA.secret=clients,networkPolicy.apiServers={10.0.0.0/28,fd00::/64},"
        "networkPolicy.metricsFrom[0].team=monitoring,networkPolicy.extraIngress[0].ports[0].port=8080",
    ),
    "several replicas, limited ways out": (
        "--set",
        "replicas=2,webhooks.admission=true,priorityClassName=system-cluster-critical,"
        "networkPolicy.egress[0].ports[0].port=6443,networkPolicy.egress[1].to[0].ipBlock.cidr=10.0.0.0/28",
    ),
    "no policy": ("--set", "networkPolicy.enabled=false"),
    "everything else": (
        "--set",
        "imagePullSecrets[0].name=pull,nodeSelector.disk=ssd,tolerations[0].operator=Exists,podAnnotations.a=b,"
        "serviceAccount.annotations.c=d,service.annotations.e=f,env[0].name=TEAM,env[0].value=blue",
    ),
}


def test_helm_finds_nothing_to_criticise(helm: Path) -> None:
    subprocess.run([helm, "lint", "--strict", CHART], check=True, capture_output=True)


def test_the_api_server_accepts_every_variant(render: Render, cluster: Cluster) -> None:
    """All variants in one dry run: kubectl names the objects that are refused."""
    modules = [(*test_chart_modules.ON, *flags) for flags in test_chart_modules.VARIANTS.values()]
    addons = [(*test_chart_addons.ON, *flags) for flags in test_chart_addons.VARIANTS.values()]
    manifests = "\n---\n".join(render(*flags) for flags in (*VARIANTS.values(), *modules, *addons))
    how = ("--server-side", "--validate=strict", "--dry-run=server")
    applied = cluster.kubectl("apply", *how, "--filename", "-", input=manifests)  # some are in kube-system
    assert applied.count("serverside-applied") == manifests.count("\nkind: ")


def test_the_deployment_becomes_available(render: Render, cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("apply", "--server-side", "--filename", "-", input=render("--set", "rbac.create=false"))
    cluster.kubectl("rollout", "status", "deployment/watch-hookrunner", "--timeout=180s", "--namespace", namespace)


def test_the_pod_has_no_more_rights_than_it_needs(render: Render) -> None:
    pod = objects(render())["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"]


@pytest.mark.parametrize("program", ["hookrunner", "shell-operator", "addon-operator"])
@pytest.mark.parametrize("beside", [(), ("--set", "modules.enabled=true,addons.enabled=true")], ids=["alone", "beside"])
def test_the_charts_hooks_run_under_every_name(render: Render, program: str, beside: tuple[str, ...]) -> None:
    pod = objects(render(*HOOK, *beside))["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    environ = {entry["name"]: entry.get("value", "") for entry in pod["env"]}
    [mounted] = [mount["mountPath"] for mount in pod["volumeMounts"] if mount["name"] == "hooks"]
    assert load({}, program, environ).hooks.directory == Path(mounted)
    named = load({}, program, environ | {"HOOKRUNNER_HOOKS_DIR": "/mine"}).hooks.directory
    assert named == Path("/mine")


@pytest.mark.slow
def test_without_rules_there_is_no_role() -> None:
    assert set(objects(render_chart())) == {"ServiceAccount", "Service", "Deployment", "NetworkPolicy"}


def test_probes_and_service_lead_to_the_port(render: Render) -> None:
    rendered = objects(render("--set", "port=9650"))
    (container,) = rendered["Deployment"]["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    probes = [container[f"{probe}Probe"]["httpGet"] for probe in ("startup", "liveness", "readiness")]
    assert [(probe["path"], probe["port"]) for probe in probes] == [
        ("/healthz", port["name"]),
        ("/healthz", port["name"]),
        ("/readyz", port["name"]),
    ]
    assert rendered["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    assert rendered["Service"]["metadata"]["annotations"]["prometheus.io/port"] == "9650"


def test_settings_become_variables_that_the_program_knows(render: Render) -> None:
    pod = objects(render("--set", "settings.log-level=debug,settings.tmp-dir=/tmp/x"))["Deployment"]["spec"]["template"]
    variables = [entry["name"] for entry in pod["spec"]["containers"][0]["env"]]
    assert set(variables) <= {DEFAULT_HOOKS_DIR, *(name for option in options() for name in option.variables)}
    assert len(variables) == len(set(variables))
    assert {"HOOKRUNNER_LOG_LEVEL", "HOOKRUNNER_LISTEN_PORT"} <= set(variables)


def test_hooks_from_values_are_mounted_as_executables_and_new_text_makes_a_new_pod(render: Render) -> None:
    deployment = objects(render(*HOOK))["Deployment"]["spec"]["template"]
    (volume,) = [volume for volume in deployment["spec"]["volumes"] if volume["name"] == "hooks"]
    assert volume["configMap"] == {"name": "watch-hookrunner-hooks", "defaultMode": 0o777}
    other = objects(render("--set", "hooks.a\\.sh=x"))["Deployment"]["spec"]["template"]
    assert deployment["metadata"]["annotations"] != other["metadata"]["annotations"]


def test_rules_by_namespace_become_roles_there(render: Render) -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}
    manifests = render("--set-json", f'rbac={{"namespaces": {{"web": [{json.dumps(rule)}]}}}}')
    (role,) = [obj for obj in yaml.safe_load_all(manifests) if obj["kind"] == "Role"]
    (binding,) = [obj for obj in yaml.safe_load_all(manifests) if obj["kind"] == "RoleBinding"]
    assert (role["metadata"]["namespace"], role["rules"]) == ("web", [rule])
    assert (binding["metadata"]["namespace"], binding["roleRef"]["name"]) == ("web", role["metadata"]["name"])

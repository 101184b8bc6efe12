"""What the chart adds for modules: where they are, the first ConfigMap, and rights that are enough and no more.

Level: control plane."""

import asyncio
import subprocess
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from hookrunner.settings import ModulesSettings, load
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubeconfig import Access, write_kubeconfig
from tests.fakes.chart import CHART, Render, named, render
from tests.flows.operator import Operator, oops
from tests.flows.waiting import until

__all__ = ["render"]

ON = ("--set", "modules.enabled=true")
VARIANTS = {
    "plain": (),
    "with definitions and a Secret": ("--set", "modules.crds=true,settings.config-secret=passwords"),
    "all rights": ("--set", "modules.clusterAdmin=true"),
    "records in ConfigMaps": ("--set", "settings.helm-driver=configmap"),
    "a volume": ("--set", "modules.volumes[0].name=ours,modules.volumes[0].emptyDir.medium=Memory"),
    "an image": ("--set", "modules.volumes[0].name=ours,modules.volumes[0].image.reference=modules"),
    "a first configuration": ("--set", "modules.config.helloEnabled=true"),
}
VALUES = """
modules:
  enabled: true
  crds: true
  config: {helloEnabled: true, hello: {text: one}}
rbac:
  rules: [{apiGroups: [""], resources: [services], verbs: [get, list, watch, create, patch, delete]}]
"""
RECORDS = {"apiGroups": [""], "resources": ["configmaps"]}
FORMER = {"apiGroups": [""], "resources": ["secrets"]}
TEMPLATE = """
{apiVersion: v1, kind: Service, metadata: {name: hello, annotations: {text: "{{ .Values.hello.text }}"}},
  spec: {type: ExternalName, externalName: example.com}}
"""
DEFINITION = """
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.GROUP},
  spec: {group: GROUP, scope: Namespaced, names: {kind: Thing, plural: things},
    versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}
"""


def pod(manifests: str) -> Any:
    return named(manifests)["Deployment/watch-hookrunner"]["spec"]["template"]["spec"]


def settings(manifests: str) -> ModulesSettings:
    (container,) = pod(manifests)["containers"]
    return load({}, "hookrunner", {entry["name"]: entry.get("value", "") for entry in container["env"]}).modules


def test_without_modules_the_images_own_are_left_alone(render: Render) -> None:
    manifests = render("--set", "modules.config.aEnabled=true,modules.volumes[0].name=ours")
    assert settings(manifests).directories == ()
    assert not [name for name in named(manifests) if "module" in name]
    assert [volume["name"] for volume in pod(manifests)["volumes"]] == ["tmp"]


@pytest.mark.parametrize("said", ["port=9115", "settings.compat=addon-operator", "settings.config-map=mine"])
def test_the_rights_are_to_what_the_program_reads(said: str, render: Render) -> None:
    manifests = render(*ON, "--set", f"{said},settings.config-secret=s,settings.helm-driver=configmap")
    rules = named(manifests)["Role/watch-hookrunner-modules"]["rules"]
    named_in_rules = {(rule["resources"][0], *rule["resourceNames"]) for rule in rules if "resourceNames" in rule}
    found = settings(manifests)
    assert named_in_rules == {("configmaps", found.config_map), ("secrets", found.config_secret)}
    assert {"verbs": ["get", "list", "watch", "create", "update", "delete"], **RECORDS} in rules
    assert {"verbs": ["list"], **FORMER} in rules


def test_definitions_are_only_read_unless_a_switch_says_otherwise(render: Render) -> None:
    def writes(*flags: str) -> set[str]:
        rules = named(render(*ON, *flags))["ClusterRole/watch-hookrunner-modules"]["rules"]
        return {verb for rule in rules for verb in rule["verbs"]} - {"get", "list", "watch"}

    assert writes() == set()
    assert writes("--set", "modules.crds=true") == {"create", "update"}


def test_a_volumes_modules_come_before_those_of_the_image(render: Render) -> None:
    manifests = render(*ON, "--set", "modules.volumes[0].name=ours,modules.volumes[0].configMap.name=c")
    assert settings(manifests).directories == (Path("/volumes/ours"), Path("/modules"))
    (container,) = pod(manifests)["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    (volume,) = [volume for volume in pod(manifests)["volumes"] if volume.get("configMap") == {"name": "c"}]
    assert mounts[volume["name"]] == "/volumes/ours"


@pytest.mark.parametrize(
    ("value", "text"), [("true", "true"), ("{replicas: 2}", "replicas: 2"), ("'replicas: 2'", "replicas: 2")]
)
def test_a_first_configuration_may_be_yaml_or_text(value: str, text: str, render: Render, tmp_path: Path) -> None:
    (file := tmp_path / "values.yaml").write_text(f"modules: {{config: {{key: {value}}}}}")
    found = render(*ON, "--values", str(file), "--set", "settings.config-map=watch-config")
    assert named(found)["ConfigMap/watch-config"]["data"] == {"key": text}


@pytest.fixture
def installed(helm: Path, cluster: Cluster, namespace: str, tmp_path: Path) -> tuple[str, ...]:
    """Words for helm to bring the release about once more."""
    (values := tmp_path / "values.yaml").write_text(VALUES)
    where = ("--namespace", namespace, "--kubeconfig", str(cluster.kubeconfig))
    return str(helm), "upgrade", "--install", "watch", str(CHART), "--values", str(values), *where


def run(words: tuple[str, ...]) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def may(cluster: Cluster, namespace: str, question: str) -> bool:
    """`verb resource[/name] [namespace]`; no namespace is the release's."""
    verb, what, where = (*question.split(), namespace)[:3]
    resource, _, name = what.partition("/")
    plural, _, group = resource.partition(".")
    attributes = {"verb": verb, "resource": plural, "group": group, "name": name, "namespace": where}
    spec = {"user": f"system:serviceaccount:{namespace}:watch-hookrunner", "resourceAttributes": attributes}
    reply = cluster.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
    return bool(reply["status"]["allowed"])


NEEDED = [
    "patch configmaps/hookrunner",
    "watch configmaps/hookrunner",
    "create configmaps",
    "list secrets",
    "update secrets/sh.helm.release.v1.hello.v1",
    "patch events",
    "watch customresourcedefinitions.apiextensions.k8s.io",
    "watch apiservices.apiregistration.k8s.io",
    "update customresourcedefinitions.apiextensions.k8s.io",
    "create services",
]
REFUSED = [
    "patch configmaps/other",
    "list configmaps",
    "list secrets kube-system",
    "delete customresourcedefinitions.apiextensions.k8s.io",
    "create deployments.apps",
    "create clusterrolebindings.rbac.authorization.k8s.io",
]


@pytest.mark.usefixtures("launcher")
async def test_with_its_rights_a_module_is_installed_reconfigured_and_repaired_and_the_configuration_is_its_users(
    installed: tuple[str, ...], cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(run, installed)
    for question in NEEDED:  # the API server learns of rights a moment after they are granted
        await until(partial(may, cluster, namespace, question), question)
    assert [question for question in REFUSED if await asyncio.to_thread(may, cluster, namespace, question)] == []
    operator = Operator(tmp_path, _as_its_account(cluster, namespace, tmp_path), _modules(tmp_path, namespace))
    (tmp_path / "hooks").mkdir()
    definition = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{namespace}.example.com"
    operator.start()
    try:
        await _shows(cluster, namespace, "one")
        _edit(cluster, namespace)
        await _shows(cluster, namespace, "two")
        cluster.request("DELETE", _service(namespace))
        await _shows(cluster, namespace, "two")
        await asyncio.to_thread(run, installed)
        assert [record for record in operator.logs() if "forbidden" in str(record)] == []
        assert cluster.request("GET", definition).body["metadata"]["labels"]["heritage"] == "hookrunner"
    finally:
        await operator.stop()
        cluster.request("DELETE", definition)
    assert oops(operator.logs()) == []
    uninstall = (installed[0], "uninstall", "watch", *installed[-4:])
    await asyncio.to_thread(run, uninstall)
    assert cluster.request("GET", _config(namespace)).body["data"]["hello"] == "text: two"


def _modules(directory: Path, namespace: str) -> tuple[str, ...]:
    """A module as the kubelet brings it from a ConfigMap, with links."""
    module = directory / "volume" / "..2026" / "100-hello"
    for place, text in {"templates": TEMPLATE, "crds": DEFINITION.replace("GROUP", f"{namespace}.example.com")}.items():
        (module / place).mkdir(parents=True)
        (module / place / "one.yaml").write_text(text)
    (directory / "volume" / "..data").symlink_to("..2026")
    (directory / "volume" / "100-hello").symlink_to("..data/100-hello")
    return f"--modules-dir={directory / 'volume'}", f"--namespace={namespace}"


def _as_its_account(cluster: Cluster, namespace: str, directory: Path) -> Path:
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/watch-hookrunner/token"
    token = cluster.create(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
    return write_kubeconfig(directory / "kubeconfig", Access(cluster.url, cluster.ca, token))


def _config(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/hookrunner"


def _service(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/services/hello"


def _edit(cluster: Cluster, namespace: str) -> None:
    patch = yaml.safe_dump({"data": {"hello": "text: two"}})
    cluster.kubectl("patch", "configmap", "hookrunner", "--namespace", namespace, "--patch", patch)


async def _shows(cluster: Cluster, namespace: str, text: str) -> None:
    def shown() -> bool:
        reply = cluster.request("GET", _service(namespace))
        return reply.status == HTTPStatus.OK and reply.body["metadata"]["annotations"]["text"] == text

    await until(shown, f"a Service that says {text}")

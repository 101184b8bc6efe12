"""Modules, addons and a cloud, each run by the image as a Pod of a cluster of its own.

Level: image."""

import json
from http import HTTPStatus
from pathlib import Path

import yaml

from kubetypes.json_values import JSON
from tests.controlplane.cluster import OwnCluster
from tests.flows.waiting import until
from tests.image.build import ROOT, Image
from tests.image.conftest import StartPod, in_cluster, on_free_ports, records
from tests.image.pod import Container, Pod
from tests.trees import write_files

MODULES = {
    "modules/values.yaml": "helloEnabled: true\nhello: {text: hi}\n",
    "modules/010-hello/Chart.yaml": "name: hello\nversion: 0.1.0\n",
    "modules/010-hello/templates/map.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: hello}
data: {text: {{ .Values.hello.text | quote }}}
""",
}
MAP = "/api/v1/namespaces/default/configmaps/hello"
ADDONS = {
    "HOOKRUNNER_ADDONS_DIR": "/addons",
    "HOOKRUNNER_ADDONS": "metrics-server",
    "HOOKRUNNER_MODULES_DIR": "/modules",
}
INSTANCES = "/apis/addons.x-k8s.io/v1alpha1/namespaces/kube-system/metricsservers"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/metrics-server"
MACHINES = "machines: [{name: rack-1, zone: rack-a, addresses: {InternalIP: 10.0.0.11}}]\n"
NODE = {
    "metadata": {"name": "rack-1"},
    "spec": {"taints": [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}]},
}


async def test_modules_and_addons_are_installed(
    built_image: Image, own_cluster: OwnCluster, start: StartPod, tmp_path: Path
) -> None:
    write_files(tmp_path, MODULES)
    container = Container(built_image, environ=ADDONS, mounts={"/modules": tmp_path / "modules"})
    pod = start(on_free_ports(in_cluster(container, own_cluster, "default", tmp_path)))
    await until(
        lambda: own_cluster.request("GET", MAP).status == HTTPStatus.OK, lambda: f"the module's object {pod.story()}"
    )
    await until(lambda: own_cluster.request("GET", INSTANCES).status == HTTPStatus.OK, "the addon's kind")
    own_cluster.create(INSTANCES, yaml.safe_load((ROOT / "addons/metrics-server/example.yaml").read_text()))
    await until(lambda: own_cluster.request("GET", DEPLOYMENT).status == HTTPStatus.OK, "the addon's Deployment")
    await ends_well(pod)


async def test_a_cloud_initialises_nodes(
    built_image: Image, own_cluster: OwnCluster, start: StartPod, tmp_path: Path
) -> None:
    write_files(tmp_path, {"cloud/machines.yaml": MACHINES})
    words = ("cloud", "start", "--cloud-provider=inventory", "--cloud-config=/cloud/machines.yaml")
    command = (*built_image.config["Entrypoint"], *words)
    container = Container(built_image, command, mounts={"/cloud": tmp_path / "cloud"})
    own_cluster.create("/api/v1/nodes", NODE)
    pod = start(on_free_ports(in_cluster(container, own_cluster, "kube-system", tmp_path)))

    def spec() -> JSON:
        return own_cluster.request("GET", "/api/v1/nodes/rack-1").body["spec"]

    await until(lambda: spec().get("providerID") == "inventory://rack-1", "the providerID")
    await until(lambda: "uninitialized" not in json.dumps(spec()), "the taint is removed")
    await ends_well(pod)


async def ends_well(pod: Pod) -> None:
    pod.send()
    assert await pod.ended() == 0
    assert [record for record in records(pod) if record["level"] == "error"] == []

"""What a node makes of a Pod of the API server: the container that `pod.py` runs, its volumes, its probes.

A field that is not known here is refused, so that nothing of a Pod is left out unnoticed. Known and without effect are
limits of memory and processor, seccomp, the group of volumes (all files can be read here), the size of an emptyDir, and
what is for the scheduler. The image is the built one, whatever the Pod names.
"""

import json
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.controlplane.cluster import Cluster
from tests.flows.waiting import PATIENCE, until
from tests.image.build import Image
from tests.image.pod import Container

_POD = {"containers", "volumes", "securityContext", "serviceAccountName", "terminationGracePeriodSeconds"}
_CLUSTERS = {"serviceAccount", "enableServiceLinks", "nodeName", "tolerations", "priority", "preemptionPolicy"}
_DEFAULTS = {"restartPolicy", "dnsPolicy", "schedulerName"}
_CONTAINER = {"name", "image", "imagePullPolicy", "resources", "env", "ports", "securityContext", "volumeMounts"}
_PROBES = {"startupProbe", "livenessProbe", "readinessProbe"}
_MESSAGES = {"terminationMessagePath", "terminationMessagePolicy"}
_CONFINED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""How `pod.py` runs every container."""
ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount"
"""/var/run is a link to /run in images, and such a link would lead out of an unpacked one."""


@dataclass(frozen=True)
class Node:
    """A node of the cluster whose containers come from the image; volumes are below the directory."""

    cluster: Cluster
    image: Image
    directory: Path

    def container_of(self, pod: dict[str, Any]) -> Container:
        """The only container of a Pod. Raises ValueError for a field that is not known here."""
        spec = pod["spec"]
        [container] = spec["containers"]
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        _refuse(spec.keys() - _POD - _CLUSTERS - _DEFAULTS)
        _refuse(container.keys() - _CONTAINER - _PROBES - _MESSAGES)
        if container["securityContext"] != _CONFINED:
            raise ValueError(f"securityContext: {container['securityContext']}")
        named = [(volumes[mount["name"]], mount["mountPath"]) for mount in container["volumeMounts"]]
        user = spec["securityContext"]
        plain = Container(
            self.image,
            environ={entry["name"]: _value(entry, pod) for entry in container["env"]},
            mounts={path: self._write(volume, pod) for volume, path in named if "emptyDir" not in volume},
            memory=tuple(path for volume, path in named if "emptyDir" in volume),
            user=f"{user['runAsUser']}:{user['runAsGroup']}",
        )
        namespace = pod["metadata"]["namespace"]
        token = self.cluster.kubectl("create", "token", spec["serviceAccountName"], "--namespace", namespace)
        return with_account(plain, self.cluster, namespace, token, self.directory)

    def _write(self, volume: dict[str, Any], pod: dict[str, Any]) -> Path:
        """A volume with a ConfigMap, as a directory."""
        asked = volume["configMap"]
        words = ("get", "configmap", asked["name"], "--namespace", pod["metadata"]["namespace"], "--output=json")
        directory = self.directory / str(volume["name"])
        directory.mkdir()
        for name, text in json.loads(self.cluster.kubectl(*words))["data"].items():
            (file := directory / name).write_text(text)
            file.chmod(asked["defaultMode"])
        return directory


def with_account(container: Container, cluster: Cluster, namespace: str, token: str, directory: Path) -> Container:
    """The container with what an API server adds to a Pod for the token of its ServiceAccount, which that of the tests
    does not: files that are written below the directory, and the address of the API server."""
    (account := directory / "account").mkdir()
    for name, text in {"token": token, "namespace": namespace, "ca.crt": cluster.ca.read_text()}.items():
        (account / name).write_text(text)
    directory.chmod(0o755)
    host, _, port = cluster.url.removeprefix("https://").partition(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, **container.environ}
    return replace(container, environ=environ, mounts={ACCOUNT: account, **container.mounts})


async def pass_probe(pod: dict[str, Any], name: str) -> None:
    """Ask until a probe of the Pod succeeds, for as long as it may fail, at least a minute. Raises TimeoutError."""
    [container] = pod["spec"]["containers"]
    probe = container[name]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    url = f"http://127.0.0.1:{ports[probe['httpGet']['port']]}{probe['httpGet']['path']}"
    within = max(PATIENCE, probe["periodSeconds"] * probe["failureThreshold"])
    await until(lambda: _succeeds(url, probe["timeoutSeconds"]), f"{name} {url}", within)


def _succeeds(url: str, seconds: float) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=seconds):
            return True
    except OSError:  # HTTPError too: a status of 400 or more
        return False


def _value(entry: dict[str, Any], pod: dict[str, Any]) -> str:
    return _field(entry["valueFrom"]["fieldRef"], pod) if "valueFrom" in entry else entry.get("value", "")


def _field(reference: dict[str, str], pod: dict[str, Any]) -> str:
    section, _, name = reference["fieldPath"].partition(".")
    text: str = pod[section][name]
    return text


def _refuse(unknown: set[str]) -> None:
    if unknown:
        raise ValueError(f"this node does not know {sorted(unknown)}: let tests/image/kubelet.py heed them")

"""A ServiceAccount with exactly what `hookrunner cloud rbac` prints, or the module renders, and which of its rights a
manager has used."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from tests import launcher
from tests.cloud.scenarios.documents import Document
from tests.cloud.scenarios.managers import clean_environment
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.kubeconfig import Access, write_kubeconfig

NAMESPACE, ACCOUNT = "kube-system", "cloud-controller-manager"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PATH = re.compile(r"/api(?:s/[^/]+)?/v1(?:/namespaces/[^/]+)?/(?P<rest>.+)")
"""Discovery, which needs no right of its own, is not among these."""
_VERBS = {"GET": "read", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_READS = {"get", "list", "watch"}
_RARE = {("events", "patch")}
"""An Event that is repeated is patched after a minute."""
Rights = set[tuple[str, str]]
"""Resources, each with a verb; `read` stands for get, list and watch, of which a Node is read after a conflict only."""


def granted_rights(cluster: OwnCluster, directory: Path, flags: Sequence[str]) -> tuple[Path, Rights]:
    """Make the account; its kubeconfig, and the rights that it has. `flags` are those of `cloud start`."""
    words = ["cloud", "rbac", "-o", "json", f"--service-account={NAMESPACE}/{ACCOUNT}", *flags]
    printed = json.loads(launcher.run(words, cwd=directory, env=clean_environment()).stdout)["items"]
    rules = [rule for obj in printed for rule in obj.get("rules", ())]
    account = {"kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": NAMESPACE}}
    kubeconfig = log_in(cluster, directory, [account, *printed])
    granted = {(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]}
    return kubeconfig, {(resource, "read" if verb in _READS else verb) for resource, verb in granted} - _RARE


def log_in(cluster: OwnCluster, directory: Path, objects: Sequence[Document]) -> Path:
    """Make the account and its rights of these objects, the one to its Lease last; a kubeconfig with its token."""
    for obj in objects:
        within, kind = obj["metadata"].get("namespace"), f"{obj['kind'].lower()}s"
        api = "/api/v1" if kind == "serviceaccounts" else RBAC
        cluster.create(f"{api}/namespaces/{within}/{kind}" if within else f"{api}/{kind}", obj)
    lease = {"group": "coordination.k8s.io", "resource": "leases", "verb": "create", "namespace": NAMESPACE}
    cluster.wait_for_right(f"{NAMESPACE}:{ACCOUNT}", lease)
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
    token = cluster.create(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
    return write_kubeconfig(directory / f"{ACCOUNT}.kubeconfig", Access(cluster.access.url, cluster.access.ca, token))


def used_rights(log: Path) -> tuple[Rights, list[Document]]:
    """The rights that the requests in a log have used, and the requests that were refused."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    requests = [line for line in lines if line["msg"] == "request"]
    refused = [request for request in requests if request["code"] == "403"]
    found = [(request["method"], _PATH.fullmatch(request["path"])) for request in requests]
    used = {(_resource_in(path["rest"]), _VERBS[method]) for method, path in found if path}
    return used - _RARE, refused


def _resource_in(path: str) -> str:
    """With its subresource: `nodes/status` in `nodes/worker-1/status`."""
    resource, *name = path.split("/")
    return "/".join([resource, *name[1:]])

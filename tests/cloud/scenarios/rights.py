"""A ServiceAccount with exactly what `hookrunner cloud rbac` prints, and which of its rights a manager has used."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from tests import launcher
from tests.cloud.scenarios.documents import Document
from tests.cloud.scenarios.managers import clean_environment
from tests.controlplane.cluster import OwnCluster

NAMESPACE, ACCOUNT = "kube-system", "cloud-controller-manager"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PATH = re.compile(r"/api(?:s/[^/]+)?/v1(?:/namespaces/[^/]+)?/(?P<rest>.+)")
"""Discovery, which needs no right of its own, is not among these."""


def granted_rights(cluster: OwnCluster, directory: Path, flags: Sequence[str]) -> tuple[Path, set[str]]:
    """Make the account; its kubeconfig, and the resources that it has rights to. `flags` are those of `cloud start`."""
    words = ["cloud", "rbac", "-o", "json", f"--service-account={NAMESPACE}/{ACCOUNT}", *flags]
    printed = json.loads(launcher.run(words, cwd=directory, env=clean_environment()).stdout)["items"]
    everywhere, _, *of_lease = printed
    user = cluster.user(ACCOUNT, NAMESPACE, everywhere["rules"], everywhere=True)
    for obj in of_lease:
        cluster.create(f"{RBAC}/namespaces/{NAMESPACE}/{obj['kind'].lower()}s", obj)
    rules = [rule for obj in printed for rule in obj.get("rules", ())]
    return user.kubeconfig, {resource for rule in rules for resource in rule["resources"]}


def used_rights(log: Path) -> tuple[set[str], list[Document]]:
    """The resources that the requests in a log were about, and the requests that were refused. Not every verb is used
    in every run: a Node is read again after a conflict, a repeated Event is patched."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    requests = [line for line in lines if line["msg"] == "request"]
    refused = [request for request in requests if request["code"] == "403"]
    paths = [found["rest"].split("/") for request in requests if (found := _PATH.fullmatch(request["path"]))]
    return {"/".join([resource, *name[1:]]) for resource, *name in paths}, refused

"""CoreDNS is installed under the chart's ServiceAccount, with the values that docs/operations.md has. Without one
rule the instance names it and nothing is installed; it goes on when the rule is granted. Rules that are lost later:
flows/test_rights_revoked.py.

Level: control plane."""

import asyncio
import re
import subprocess
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.cluster import OwnCluster
from tests.controlplane.kubeconfig import Access, write_kubeconfig
from tests.fakes.chart import CHART, ROOT
from tests.flows.operator import Operator, oops
from tests.flows.waiting import until

PAGE = (ROOT / "docs" / "operations.md").read_text()
INSTANCE = "/apis/addons.x-k8s.io/v1alpha1/namespaces/kube-system/coredns/default"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = tuple(
    f"{RBAC}/{place}/default-watch-hookrunner-addons" for place in ("clusterroles", "namespaces/kube-system/roles")
)
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/watch-hookrunner/token"


def page_values() -> Any:
    """The values that the page has for CoreDNS."""
    (block,) = re.findall(r"^```yaml\n(addons: .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return yaml.safe_load(block)


def install(helm: Path, cluster: OwnCluster, directory: Path, values: Any) -> None:
    (file := directory / "values.yaml").write_text(yaml.safe_dump(values))
    where = ("--namespace", "default", "--kubeconfig", str(cluster.kubeconfig), "--values", str(file))
    done = subprocess.run(
        [str(helm), "upgrade", "--install", "watch", str(CHART), *where], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def grant(cluster: OwnCluster, rules: Sequence[Any]) -> None:
    """Give the roles of the release these rules."""
    for path, new in zip(ROLES, rules, strict=True):
        cluster.request("PATCH", path, {"rules": new})


@pytest.mark.usefixtures("launcher")
async def test_coredns_needs_the_rights_that_the_page_names(
    helm: Path, own_cluster: OwnCluster, tmp_path: Path
) -> None:
    values = page_values()
    assert values == {"addons": {"enabled": True, "names": ["coredns"]}}
    await asyncio.to_thread(install, helm, own_cluster, tmp_path, values)
    given = [own_cluster.request("GET", path).body["rules"] for path in ROLES]
    grant(own_cluster, [[rule for rule in rules if rule["apiGroups"] != ["policy"]] for rules in given])
    token = own_cluster.create(ACCOUNT, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
    account = write_kubeconfig(tmp_path / "account", Access(own_cluster.url, own_cluster.ca, token))
    flags = (f"--addons-dir={ROOT / 'addons'}", "--addons=coredns", "--namespace=default", "--modules-dir=:")
    operator = Operator(tmp_path, account, flags)
    (tmp_path / "hooks").mkdir()
    operator.start()
    try:
        await _offered(own_cluster)
        example = yaml.safe_load((ROOT / "addons" / "coredns" / "example.yaml").read_text())
        own_cluster.create(INSTANCE.rpartition("/")[0], example)  # kubectl may not have heard of the kind yet
        await until(lambda: "poddisruptionbudgets" in _errors(own_cluster), "the missing right")
        assert own_cluster.request("GET", DEPLOYMENT).status == HTTPStatus.NOT_FOUND
        grant(own_cluster, given)
        await until(lambda: _status(own_cluster).get("phase") == "InProgress", "CoreDNS, which has no nodes here")
        assert own_cluster.request("GET", DEPLOYMENT).status == HTTPStatus.OK
        assert "right" not in _errors(own_cluster)
        refused = [record for record in operator.logs() if "forbidden" in str(record)]
        assert [record for record in refused if "poddisruptionbudgets" not in str(record)] == []
    finally:
        await operator.stop()
    assert oops(operator.logs()) == []


async def _offered(cluster: OwnCluster) -> None:
    path = INSTANCE.rpartition("/")[0]
    await until(lambda: cluster.request("GET", path).status == HTTPStatus.OK, "the kind")


def _status(cluster: OwnCluster) -> Any:
    return cluster.request("GET", INSTANCE).body.get("status") or {}


def _errors(cluster: OwnCluster) -> str:
    return " ".join(_status(cluster).get("errors") or ())

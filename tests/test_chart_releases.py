"""The chart's life in a cluster: installed, upgraded from the version before and removed by stock helm or by kubectl,
and what users read when that cannot be. No container runs: Pods become ready by the test bed's nodes.

Level: control plane."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import DEVNULL

import pytest
import yaml

from tests.chart_renderings import PLAIN, files
from tests.controlplane.cluster import Cluster
from tests.fakes.chart import CHART
from tests.flows.waiting import until

RELEASED = Path(__file__).parent / "released_charts"
OPERATOR = Path(__file__).parent / "foreign_kinds" / "prometheus_operator.yaml"
MONITORED = "podMonitor.enabled=true,podMonitor.labels.release=prom,rules.enabled=true,dashboard.enabled=true"
LEFT = (
    "deployments,replicasets,pods,services,configmaps,secrets,serviceaccounts,roles,rolebindings,networkpolicies,jobs,"
    "poddisruptionbudgets"
)
EVERYTHING = (
    "webhooks.admission=true,modules.enabled=true,modules.crds=true,addons.enabled=true,addons.names={coredns},"
    "rbac.rules[0].apiGroups={},rbac.rules[0].resources={pods},rbac.rules[0].verbs={list,watch}"
)

Helm = Callable[..., subprocess.CompletedProcess[str]]


def unknown_version(chart: Path) -> Path:
    """The chart for a server that does not know its own version, which the test bed's does not."""
    text = (chart / "Chart.yaml").read_text()
    (chart / "Chart.yaml").write_text(text.replace("kubeVersion", "#"))
    return chart


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    shutil.copytree(CHART, tmp_path / "chart")
    return unknown_version(tmp_path / "chart")


@pytest.fixture
def run_helm(helm: Path, cluster: Cluster, namespace: str) -> Helm:
    """`run_helm(*arguments)`: in the test's namespace; output and errors in `stdout`."""

    def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        where = ("--namespace", namespace, "--kubeconfig", cluster.kubeconfig)
        return subprocess.run([helm, *arguments, *where], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    return call


def succeed(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout
    return done.stdout


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stdout
    return done.stdout


def present(cluster: Cluster, namespace: str) -> set[str]:
    """The objects in the namespace, and those without one that are named after it."""
    own = cluster.kubectl("get", LEFT, "--namespace", namespace, "--output", "name").split()
    wide = cluster.kubectl("get", "clusterroles,clusterrolebindings", "--output", "name").split()
    of_any_namespace = {"serviceaccount/default", "configmap/kube-root-ca.crt"}  # controllers create them, some time
    return {*own, *(name for name in wide if namespace in name)} - of_any_namespace


@pytest.mark.slow
def test_written_manifests_are_those_of_the_chart() -> None:
    """`python -m tests.chart_renderings` writes them."""
    assert [path.name for path, text in files().items() if path.read_text() != text] == []


@pytest.mark.parametrize("released", sorted(path.name for path in RELEASED.glob("*.tgz")))
def test_a_release_of_an_earlier_chart_is_upgraded_and_leaves_nothing(
    released: str, run_helm: Helm, chart: Path, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    shutil.unpack_archive(RELEASED / released, tmp_path / "earlier")
    earlier = unknown_version(tmp_path / "earlier" / "hookrunner")
    before = present(cluster, namespace)
    succeed(run_helm("install", "watch", earlier, "--set", "modules.enabled=true,webhooks.admission=true", "--wait"))
    notes = succeed(run_helm("upgrade", "watch", chart, "--set", EVERYTHING, "--wait"))
    assert "rollout status" in notes
    image = cluster.kubectl(
        *("get", "deployment", "watch-hookrunner", "--namespace", namespace),
        *("--output", "jsonpath={.spec.template.spec.containers[0].image}"),
    )
    assert image == "hookrunner:0.3.0"
    succeed(run_helm("uninstall", "watch", "--wait"))
    assert present(cluster, namespace) - before == set()


def test_monitoring_is_accepted_by_the_prometheus_operators_own_kinds(
    run_helm: Helm, chart: Path, cluster: Cluster, namespace: str
) -> None:
    cluster.kubectl("apply", "--server-side", "--filename", str(OPERATOR))
    for definition in yaml.safe_load_all(OPERATOR.read_text()):
        cluster.wait_for_definition(definition["metadata"]["name"])
    flags = ("--set", ",".join(f"monitoring.{flag}" for flag in MONITORED.split(",")))
    rendered = succeed(run_helm("template", "watch", chart, *flags))
    strictly = ("--server-side", "--validate=strict", "--dry-run=server", "--filename", "-")
    cluster.kubectl("apply", *strictly, "--namespace", namespace, input=rendered)
    succeed(run_helm("install", "watch", chart, *flags))
    kinds = ("get", "podmonitors,prometheusrules", "--namespace", namespace, "--output", "name")
    assert set(cluster.kubectl(*kinds).split()) == {
        "podmonitor.monitoring.coreos.com/watch-hookrunner",
        "prometheusrule.monitoring.coreos.com/watch-hookrunner",
    }
    succeed(run_helm("uninstall", "watch", "--wait"))
    assert cluster.kubectl(*kinds) == ""


def test_manifests_without_helm_are_applied_and_deleted(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """In a namespace of another name: its deletion would keep other tests waiting."""
    (file := tmp_path / "hookrunner.yaml").write_text(
        PLAIN.read_text().replace("name: hookrunner\n---", f"name: {namespace}\n---", 1)
        .replace("namespace: hookrunner", f"namespace: {namespace}")
    )  # fmt: skip
    before = present(cluster, namespace)
    cluster.kubectl("apply", "--filename", str(file))
    cluster.kubectl("rollout", "status", "deployment/hookrunner", "--timeout=180s", "--namespace", namespace)
    assert "unchanged" in cluster.kubectl("apply", "--filename", str(file))
    cluster.kubectl("delete", "--filename", str(file), "--wait=true")
    assert cluster.kubectl("get", "namespace", namespace, "--ignore-not-found") == ""
    assert present(cluster, namespace) - before == set()


def test_two_releases_with_modules_do_not_share_a_namespace(run_helm: Helm, chart: Path, namespace: str) -> None:
    succeed(run_helm("install", "one", chart))
    succeed(run_helm("install", "two", chart, "--set", "modules.enabled=true"))
    said = refused(run_helm("install", "three", chart, "--set", "addons.enabled=true"))
    assert f"release 'two' in namespace '{namespace}' has modules or addons too" in said
    assert "install this one in another namespace" in said
    succeed(run_helm("upgrade", "two", chart, "--set", "modules.enabled=true"))


def test_two_releases_of_one_name_for_their_objects_are_refused(run_helm: Helm, chart: Path) -> None:
    succeed(run_helm("install", "one", chart, "--set", "serviceAccount.name=shared"))
    said = refused(run_helm("install", "two", chart, "--set", "serviceAccount.name=shared"))
    assert 'ServiceAccount "shared"' in said
    assert 'must equal "two": current value is "one"' in said


def test_a_value_of_the_wrong_type_changes_nothing(
    run_helm: Helm, chart: Path, cluster: Cluster, namespace: str
) -> None:
    succeed(run_helm("install", "watch", chart))
    before = present(cluster, namespace)
    assert "at '/port': got string, want integer" in refused(run_helm("upgrade", "watch", chart, "--set", "port=http"))
    assert present(cluster, namespace) == before


async def test_an_upgrade_that_was_killed_is_rolled_back_and_repeated(
    run_helm: Helm, helm: Path, chart: Path, cluster: Cluster, namespace: str
) -> None:
    """docs/chart.md names these commands."""
    succeed(run_helm("install", "watch", chart, "--wait"))
    where = ("--namespace", namespace, "--kubeconfig", cluster.kubeconfig)
    never = ("upgrade", "watch", chart, "--set", "nodeSelector.there-is=none", "--wait")
    killed = await asyncio.create_subprocess_exec(helm, *never, *where, stdout=DEVNULL, stderr=DEVNULL)
    await until(lambda: "pending-upgrade" in run_helm("list", "--output", "json").stdout, "the upgrade has begun")
    killed.kill()
    await killed.wait()
    assert "another operation (install/upgrade/rollback) is in progress" in refused(run_helm("upgrade", "watch", chart))
    succeed(run_helm("rollback", "watch", "--wait"))
    succeed(run_helm("upgrade", "watch", chart, "--wait"))
    [release] = json.loads(succeed(run_helm("list", "--output", "json")))
    assert release["status"] == "deployed"


@pytest.fixture
def dying(cluster: Cluster, namespace: str) -> Iterator[str]:
    """A namespace that is being deleted and stays so until the test ends."""
    kept = {"metadata": {"name": "kept", "finalizers": ["example.com/kept"]}}
    cluster.create(f"/api/v1/namespaces/{namespace}/configmaps", kept)
    cluster.request("DELETE", f"/api/v1/namespaces/{namespace}")
    yield namespace
    cluster.kubectl(
        *("patch", "configmap", "kept", "--namespace", namespace, "--type=merge"),
        *("--patch", '{"metadata": {"finalizers": null}}'),
    )


def test_nothing_is_installed_in_a_namespace_that_is_being_deleted(dying: str, run_helm: Helm, chart: Path) -> None:
    said = refused(run_helm("install", "watch", chart))
    assert f"unable to create new content in namespace {dying} because it is being terminated" in said

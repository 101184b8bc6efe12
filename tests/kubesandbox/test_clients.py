"""Client programs as people use them, on a sandbox in another process: the `kubernetes` package and helm.

What both servers must do alike for the package is in `contract/test_python_client.py`; here is what else it can do.

Level: sandbox.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client as typed_client
from kubernetes import config as typed_config
from kubernetes import dynamic, utils, watch

from tests.controlplane.tools import find_tool
from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.conftest import sandbox
from tests.kubesandbox.contract.objects import config_map, deployment

# The package's types are only half there.
client: Any = typed_client
config: Any = typed_config
create_from_dict: Any = utils.create_from_dict
Watch: Any = watch.Watch
DynamicClient: Any = dynamic.DynamicClient

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.usefixtures("launcher")


@pytest.fixture(scope="module")
def served(launcher: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A sandbox of this file's own."""
    with sandbox(tmp_path_factory.mktemp("sandbox")) as served:
        yield served


@pytest.fixture
def connected(served: Api) -> Iterator[Any]:
    """The package's client of it."""
    with config.new_client_from_config(str(served.kubeconfig)) as connected:
        yield connected


@pytest.fixture
def core(connected: Any) -> Any:
    return client.CoreV1Api(connected)


@pytest.fixture
def dynamically(connected: Any) -> Any:
    return DynamicClient(connected)


@pytest.fixture
def ns(served: Api) -> str:
    """An empty namespace."""
    return served.namespace()


def refusal(call: Any, *arguments: Any, **options: Any) -> tuple[int, str]:
    """The code and the reason with which a call must be refused."""
    with pytest.raises(client.ApiException) as refused:
        call(*arguments, **options)
    return refused.value.status, json.loads(refused.value.body)["reason"]


# ── the kubernetes package ────────────────────────────────────────────────────────────────────────────────────────


def test_a_list_of_changes_is_a_json_patch(core: Any, ns: str) -> None:
    core.create_namespaced_config_map(ns, config_map("a", {"x": "1"}))
    patch = [{"op": "test", "path": "/data/x", "value": "1"}, {"op": "replace", "path": "/data/x", "value": "2"}]
    assert core.patch_namespaced_config_map("a", ns, patch).data == {"x": "2"}
    assert refusal(core.patch_namespaced_config_map, "a", ns, patch) == (422, "Invalid")


@pytest.mark.parametrize(
    ("patch_type", "containers"),
    [("application/strategic-merge-patch+json", ["d", "main"]), ("application/merge-patch+json", ["d"])],
)
def test_patch_types_of_the_dynamic_client(dynamically: Any, ns: str, patch_type: str, containers: list[str]) -> None:
    kind = dynamically.resources.get(api_version="apps/v1", kind="Deployment")
    kind.create(body=deployment("d"), namespace=ns)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "x"}]}}}}
    patched = kind.patch(body=patch, name="d", namespace=ns, content_type=patch_type)
    assert sorted(container.name for container in patched.spec.template.spec.containers) == containers


def test_conflicts_of_managers_are_refused_unless_forced(dynamically: Any, ns: str) -> None:
    kind = dynamically.resources.get(api_version="v1", kind="ConfigMap")
    apply = {"name": "a", "namespace": ns}
    kind.server_side_apply(body=config_map("a", {"x": "1"}), field_manager="one", **apply)
    theirs = config_map("a", {"x": "2"})
    with pytest.raises(dynamic.exceptions.ConflictError, match=r"conflict with .*one"):
        kind.server_side_apply(body=theirs, field_manager="two", **apply)
    forced = kind.server_side_apply(body=theirs, field_manager="two", force_conflicts=True, **apply)
    assert [entry.manager for entry in forced.metadata.managedFields] == ["two"]


def test_a_dry_run_leaves_no_trace(core: Any, ns: str) -> None:
    made = core.create_namespaced_config_map(ns, config_map("a"), dry_run="All")
    assert made.metadata.uid
    assert core.list_namespaced_config_map(ns).items == []
    core.create_namespaced_config_map(ns, config_map("a", {"x": "1"}))
    assert core.patch_namespaced_config_map("a", ns, {"data": {"x": "2"}}, dry_run="All").data == {"x": "2"}
    core.delete_namespaced_config_map("a", ns, dry_run="All")
    assert core.read_namespaced_config_map("a", ns).data == {"x": "1"}


def test_a_deletion_may_have_conditions(core: Any, ns: str) -> None:
    uid = core.create_namespaced_config_map(ns, config_map("a")).metadata.uid
    other = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another"))
    assert refusal(core.delete_namespaced_config_map, "a", ns, body=other) == (409, "Conflict")
    own = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=uid), propagation_policy="Background")
    core.delete_namespaced_config_map("a", ns, body=own)
    assert refusal(core.read_namespaced_config_map, "a", ns) == (404, "NotFound")


@pytest.mark.slow
def test_a_collection_is_deleted_by_selector(core: Any, ns: str) -> None:
    for name in "abc":
        core.create_namespaced_config_map(ns, config_map(name, labels={"keep": str(name == "b")}))
    core.delete_collection_namespaced_config_map(ns, label_selector="keep!=True")
    assert [item.metadata.name for item in core.list_namespaced_config_map(ns).items] == ["b"]


def test_a_watch_of_forgotten_history_is_expired(served: Api, core: Any, ns: str) -> None:
    start = core.list_namespaced_config_map(ns).metadata.resource_version
    core.create_namespaced_config_map(ns, config_map("a"))
    served.request("POST", "/_sandbox/compact")
    with pytest.raises(client.ApiException) as refused:
        list(Watch().stream(core.list_namespaced_config_map, ns, resource_version=start, timeout_seconds=5))
    assert (refused.value.status, refused.value.reason.partition(":")[0]) == (410, "Expired")


def test_a_page_of_forgotten_history_is_expired(served: Api, core: Any, ns: str) -> None:
    for name in "abc":
        core.create_namespaced_config_map(ns, config_map(name))
    more = core.list_namespaced_config_map(ns, limit=1).metadata._continue
    core.create_namespaced_config_map(ns, config_map("d"))
    served.request("POST", "/_sandbox/compact")
    assert refusal(core.list_namespaced_config_map, ns, limit=1, _continue=more) == (410, "Expired")


def test_the_dynamic_client_watches_from_a_revision(dynamically: Any, ns: str) -> None:
    kind = dynamically.resources.get(api_version="v1", kind="ConfigMap")
    start = kind.get(namespace=ns).metadata.resourceVersion
    kind.create(body=config_map("a"), namespace=ns)
    kind.delete(name="a", namespace=ns)
    events = kind.watch(namespace=ns, resource_version=start, timeout=1)
    assert [(event["type"], event["object"].metadata.name) for event in events] == [("ADDED", "a"), ("DELETED", "a")]


def test_a_definition_is_made_and_its_kind_used(connected: Any, dynamically: Any, ns: str) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    version = client.V1CustomResourceDefinitionVersion(
        name="v1", served=True, storage=True, schema=client.V1CustomResourceValidation(open_apiv3_schema=schema)
    )
    names = client.V1CustomResourceDefinitionNames(plural="boxes", singular="box", kind="Box")
    definition = client.V1CustomResourceDefinition(
        metadata=client.V1ObjectMeta(name="boxes.clients.example.com"),
        spec=client.V1CustomResourceDefinitionSpec(
            group="clients.example.com", scope="Namespaced", names=names, versions=[version]
        ),
    )
    client.ApiextensionsV1Api(connected).create_custom_resource_definition(definition)
    boxes = dynamically.resources.get(api_version="clients.example.com/v1", kind="Box")
    box = {"apiVersion": "clients.example.com/v1", "kind": "Box", "metadata": {"name": "a"}, "spec": {"size": 1}}
    assert boxes.create(body=box, namespace=ns).spec.size == 1
    custom = client.CustomObjectsApi(connected)
    place = ("clients.example.com", "v1", ns, "boxes")
    wrong = {**box, "metadata": {"name": "b"}, "spec": {"size": "large"}}
    assert refusal(custom.create_namespaced_custom_object, *place, wrong) == (422, "Invalid")
    assert [item["metadata"]["name"] for item in custom.list_namespaced_custom_object(*place)["items"]] == ["a"]


@pytest.mark.slow
def test_manifests_are_created_by_the_packages_tools(connected: Any, ns: str) -> None:
    items = [config_map("a"), deployment("d")]
    create_from_dict(connected, {"apiVersion": "v1", "kind": "List", "items": items}, namespace=ns)
    found = client.AppsV1Api(connected).list_namespaced_deployment(ns).items
    assert [each.metadata.name for each in found] == ["d"]


def test_a_scale_is_read_and_set(connected: Any, ns: str) -> None:
    apps = client.AppsV1Api(connected)
    apps.create_namespaced_deployment(ns, deployment("d"))
    apps.patch_namespaced_deployment_scale("d", ns, {"spec": {"replicas": 3}})
    assert apps.read_namespaced_deployment_scale("d", ns).spec.replicas == 3
    assert apps.read_namespaced_deployment("d", ns).spec.replicas == 3


def test_the_status_is_written_apart(core: Any, ns: str) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    core.create_namespaced_pod(ns, {**pod, "status": {"phase": "Running"}})
    assert core.read_namespaced_pod("p", ns).status.phase == "Pending"
    core.patch_namespaced_pod_status("p", ns, {"status": {"phase": "Running"}})
    assert core.read_namespaced_pod("p", ns).status.phase == "Running"


# ── helm ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def helm(served: Api, ns: str, *words: str) -> str:
    """What helm prints."""
    places = {place: str(served.kubeconfig.parent / "helm") for place in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME")}
    environ = {**os.environ, **places, "KUBECONFIG": str(served.kubeconfig)}
    command = [str(find_tool("helm")), "--namespace", ns, *words]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_helm_brings_the_chart_to_life_changes_it_and_takes_it_away(served: Api, core: Any, ns: str) -> None:
    """The whole life of a release of our own chart, as an operator's author would try it."""
    chart, apps = str(ROOT / "charts" / "hookrunner"), client.AppsV1Api(core.api_client)
    hook = f"hooks.pod-security\\.sh={ROOT / 'hooks' / 'pod-security.sh'}"

    def levels() -> list[str]:
        """The log levels in the one Deployment."""
        (deployed,) = apps.list_namespaced_deployment(ns).items
        told = deployed.spec.template.spec.containers[0].env
        return [variable.value for variable in told if variable.name == "HOOKRUNNER_LOG_LEVEL"]

    helm(served, ns, "install", "ours", chart, "--set-file", hook)
    assert json.loads(helm(served, ns, "list", "-o", "json"))[0]["status"] == "deployed"
    helm(served, ns, "upgrade", "ours", chart, "--reuse-values", "--set", "settings.log-level=debug")

    assert levels() == ["debug"]
    helm(served, ns, "rollback", "ours", "1")
    assert levels() == []
    history = json.loads(helm(served, ns, "history", "ours", "-o", "json"))
    assert [revision["revision"] for revision in history] == [1, 2, 3]
    assert "kind: Deployment" in helm(served, ns, "get", "manifest", "ours")
    assert "STATUS: deployed" in helm(served, ns, "status", "ours")
    helm(served, ns, "uninstall", "ours")
    assert json.loads(helm(served, ns, "list", "-o", "json")) == []
    assert apps.list_namespaced_deployment(ns).items == []


def test_helm_waits_only_for_what_the_sandbox_does(served: Api, ns: str) -> None:
    """Without `--simulate` no Pod becomes ready: `--wait` ends with its timeout, as on a cluster without nodes."""
    with pytest.raises(AssertionError, match=r"(?s)deadline|timed out|not ready"):
        helm(served, ns, "install", "waits", str(ROOT / "charts" / "hookrunner"), "--wait", "--timeout", "1s")

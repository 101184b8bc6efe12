"""The `kubernetes` package, as a hook's author may use it, works on each server alike. Level: control plane."""

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client as typed_client
from kubernetes import config as typed_config
from kubernetes import dynamic, utils, watch

from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.contract.objects import config_map, deployment

# The package's types are only half there.
client: Any = typed_client
config: Any = typed_config
create_from_dict: Any = utils.create_from_dict
Watch: Any = watch.Watch
DynamicClient: Any = dynamic.DynamicClient


@pytest.fixture
def connected(api: Api) -> Iterator[Any]:
    """The package's client of the server."""
    with config.new_client_from_config(str(api.kubeconfig)) as connected:
        yield connected


@pytest.fixture
def core(connected: Any) -> Any:
    return client.CoreV1Api(connected)


def test_an_object_is_created_read_patched_and_deleted(core: Any, ns: str, name: str) -> None:
    made = core.create_namespaced_config_map(ns, config_map(name, {"a": "1"}))
    assert made.metadata.uid
    core.patch_namespaced_config_map(name, ns, {"data": {"b": "2"}})
    assert core.read_namespaced_config_map(name, ns).data == {"a": "1", "b": "2"}
    core.delete_namespaced_config_map(name, ns)
    with pytest.raises(client.ApiException) as refused:
        core.read_namespaced_config_map(name, ns)
    assert (refused.value.status, refused.value.reason) == (404, "Not Found")


def test_a_list_of_changes_is_a_json_patch(core: Any, ns: str, name: str) -> None:
    core.create_namespaced_config_map(ns, config_map(name, {"x": "1"}))
    patch = [{"op": "test", "path": "/data/x", "value": "1"}, {"op": "replace", "path": "/data/x", "value": "2"}]
    assert core.patch_namespaced_config_map(name, ns, patch).data == {"x": "2"}


def test_a_stale_replacement_is_a_conflict(core: Any, ns: str, name: str) -> None:
    stale = core.create_namespaced_config_map(ns, config_map(name))
    core.patch_namespaced_config_map(name, ns, {"data": {"a": "b"}})
    with pytest.raises(client.ApiException) as refused:
        core.replace_namespaced_config_map(name, ns, stale)
    assert refused.value.status == 409


def test_a_built_in_object_of_a_group_becomes_its_model(connected: Any, ns: str, name: str) -> None:
    made: Any = client.AppsV1Api(connected).create_namespaced_deployment(ns, deployment(name))
    assert (made.kind, made.spec.strategy.type, made.spec.template.spec.containers[0].image) == (
        "Deployment",
        "RollingUpdate",
        "busybox",
    )


def test_manifests_are_created_by_the_packages_tools(connected: Any, ns: str, name: str) -> None:
    items = [config_map(name), deployment(name)]
    create_from_dict(connected, {"apiVersion": "v1", "kind": "List", "items": items}, namespace=ns)
    assert client.AppsV1Api(connected).read_namespaced_deployment(name, ns).metadata.name == name


def test_a_list_comes_in_pages(api: Api, core: Any) -> None:
    namespace = api.namespace()
    for each in "abc":
        core.create_namespaced_config_map(namespace, config_map(each))
    first = core.list_namespaced_config_map(namespace, limit=2)
    rest = core.list_namespaced_config_map(namespace, limit=2, _continue=first.metadata._continue)
    assert [item.metadata.name for item in first.items + rest.items] == ["a", "b", "c"]


def test_a_watch_streams_events(api: Api, core: Any) -> None:
    namespace = api.namespace()
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    for each in "ab":
        core.create_namespaced_config_map(namespace, config_map(each))
    watching = Watch()
    seen = []
    for event in watching.stream(core.list_namespaced_config_map, namespace, resource_version=start):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 2:
            watching.stop()
    assert seen == [("ADDED", "a"), ("ADDED", "b")]


def test_custom_objects_by_their_group(api: Api, connected: Any, ns: str, name: str) -> None:
    kind = api.kind()
    custom = client.CustomObjectsApi(connected)
    custom.create_namespaced_custom_object(kind.group, "v1", ns, kind.plural, kind.object(name, spec={"a": 1}))
    custom.patch_namespaced_custom_object(kind.group, "v1", ns, kind.plural, name, {"spec": {"b": 2}})
    found: Any = custom.get_namespaced_custom_object(kind.group, "v1", ns, kind.plural, name)
    assert found["spec"] == {"a": 1, "b": 2}
    defined = client.ApiextensionsV1Api(connected).read_custom_resource_definition(kind.name)
    assert "Established" in {condition.type for condition in defined.status.conditions}


def test_the_dynamic_client_finds_kinds_by_discovery(api: Api, connected: Any, ns: str, name: str) -> None:
    kind = api.kind()
    found: Any = DynamicClient(connected).resources.get(api_version=f"{kind.group}/v1", kind=kind.kind)
    made = found.create(body=kind.object(name), namespace=ns)
    applied = found.server_side_apply(
        body=kind.object(name, spec={"a": 1}), namespace=ns, name=name, field_manager="tester"
    )
    assert applied.spec.a == 1
    assert found.get(name=name, namespace=ns).metadata.name == name
    events = found.watch(namespace=ns, name=name, resource_version=made.metadata.resourceVersion, timeout=1)
    assert [(event["type"], event["object"].spec.a) for event in events] == [("MODIFIED", 1)]

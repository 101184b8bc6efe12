"""Namespaces: what a new one has, what a terminating one refuses, how one goes. Level: control plane."""

import pytest

from tests.kubesandbox.contract.api import Api, until
from tests.kubesandbox.contract.objects import at, config_map

HOLD = {"finalizers": ["example.com/hold"]}


def gone(api: Api, namespace: str) -> bool:
    return api.request("GET", at("namespaces", name=namespace)).status == 404


def held(api: Api) -> str:
    """A terminating namespace, which a ConfigMap's finalizer keeps."""
    namespace = api.namespace()
    api.post(at("configmaps", namespace), config_map("held", finalizers=HOLD["finalizers"]))
    api.delete(at("namespaces", name=namespace))
    return namespace


def release(api: Api, namespace: str) -> None:
    api.patch(at("configmaps", namespace, "held"), {"metadata": {"finalizers": None}})


def test_a_new_one_is_active_labelled_and_has_a_finalizer(api: Api) -> None:
    made = api.get(at("namespaces", name=(name := api.namespace())))
    assert made["status"] == {"phase": "Active"}
    assert made["spec"] == {"finalizers": ["kubernetes"]}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}


def test_the_label_of_its_name_cannot_be_lost(api: Api) -> None:
    path = at("namespaces", name=(name := api.namespace()))
    changed = api.patch(path, {"metadata": {"labels": {"kubernetes.io/metadata.name": None}}})
    assert changed["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease"])
def test_every_cluster_has(api: Api, name: str) -> None:
    assert api.get(at("namespaces", name=name))["status"]["phase"] == "Active"


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_cannot_be_deleted(api: Api, name: str) -> None:
    reply = api.request("DELETE", at("namespaces", name=name))
    assert (reply.status, reply.body["reason"]) == (403, "Forbidden")
    assert reply.body["message"] == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_a_deletion_is_answered_with_the_terminating_namespace(api: Api) -> None:
    answer = api.delete(at("namespaces", name=api.namespace()))
    assert answer["kind"] == "Namespace"
    assert answer["status"]["phase"] == "Terminating"
    assert answer["metadata"]["deletionTimestamp"]


def test_a_deleted_one_goes_with_all_that_is_in_it(api: Api) -> None:
    namespace = api.namespace()
    api.post(at("configmaps", namespace), config_map("a"))
    api.post(at("leases", namespace), {"metadata": {"name": "a"}, "spec": {}})
    api.delete(at("namespaces", name=namespace))
    until(lambda: gone(api, namespace))
    assert api.get(at("configmaps", namespace))["items"] == []
    assert api.get(at("leases", namespace))["items"] == []


def test_custom_objects_go_too(api: Api) -> None:
    kind, namespace = api.kind(), api.namespace()
    api.post(kind.path(namespace), kind.object("a"))
    api.delete(at("namespaces", name=namespace))
    until(lambda: gone(api, namespace))
    assert api.get(kind.path(namespace))["items"] == []


def test_a_finalizer_inside_holds_it(api: Api) -> None:
    namespace = held(api)
    until(lambda: "deletionTimestamp" in api.get(at("configmaps", namespace, "held"))["metadata"])
    assert api.get(at("namespaces", name=namespace))["status"]["phase"] == "Terminating"
    release(api, namespace)
    until(lambda: gone(api, namespace))


def test_nothing_can_be_made_in_a_terminating_one(api: Api) -> None:
    namespace = held(api)
    reply = api.request("POST", at("configmaps", namespace), config_map("new"))
    release(api, namespace)
    assert (reply.status, reply.body["reason"]) == (403, "Forbidden")
    assert reply.body["message"] == (
        f'configmaps "new" is forbidden: unable to create new content in namespace {namespace}'
        " because it is being terminated"
    )
    assert reply.body["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]


def test_what_is_in_a_terminating_one_can_be_changed(api: Api) -> None:
    namespace = held(api)
    changed = api.patch(at("configmaps", namespace, "held"), {"data": {"a": "b"}})
    release(api, namespace)
    assert changed["data"] == {"a": "b"}


def test_deleting_a_terminating_one_is_answered_again(api: Api) -> None:
    namespace = held(api)
    answer = api.delete(at("namespaces", name=namespace))
    release(api, namespace)
    assert answer["status"]["phase"] == "Terminating"


def test_a_finalizer_of_its_own_holds_it(api: Api) -> None:
    namespace = api.namespace()
    path = at("namespaces", name=namespace)
    api.patch(path, {"metadata": HOLD})
    api.delete(path)
    until(lambda: "finalizers" not in api.get(path)["spec"])
    api.patch(path, {"metadata": {"finalizers": None}})
    until(lambda: gone(api, namespace))


def test_its_spec_is_finalized_by_the_subresource_alone(api: Api) -> None:
    path = at("namespaces", name=api.namespace())
    kept = api.patch(path, {"spec": {"finalizers": []}})
    assert kept["spec"] == {"finalizers": ["kubernetes"]}
    finalized = api.put(f"{path}/finalize", {"metadata": kept["metadata"], "spec": {"finalizers": ["example.com/a"]}})
    assert finalized["spec"] == {"finalizers": ["example.com/a"]}
    api.put(
        f"{path}/finalize", {"metadata": {"name": kept["metadata"]["name"]}, "spec": {"finalizers": ["kubernetes"]}}
    )


def test_a_namespace_again_is_another(api: Api) -> None:
    namespace = api.namespace()
    first = api.get(at("namespaces", name=namespace))
    api.delete(at("namespaces", name=namespace))
    until(lambda: gone(api, namespace))
    again = api.post(at("namespaces"), {"metadata": {"name": namespace}})
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
    assert api.get(at("configmaps", namespace))["items"] == []

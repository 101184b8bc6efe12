"""Object operations on the real API server; those that need a look at requests, a rival or other time, on a sandbox.

Level: control plane."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import pytest

from hookrunner.errors import AlreadyExists, ApiError, Conflict, Denied, FilterFailed, KubeError, NotFound, UnknownKind
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.objects import _RIGHTS, Objects
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.operations import ObjectOperation, Verb
from hookrunner.settings import KubeSettings
from kubesandbox.faults import Fault
from tests.controlplane.cluster import Cluster
from tests.fakes.objects import config_map, definition
from tests.flows.waiting import until
from tests.kube.real import credentials_of
from tests.kube.server import ApiServer


@pytest.fixture
async def real(cluster: Cluster) -> AsyncIterator[Client]:
    connection = Connection(cluster.url, ca=cluster.ca.read_text(), authorization=f"Bearer {cluster.token}")
    async with Client(Credentials(KubeSettings(), connection), Requests(Metrics(""))) as client:
        yield client


@pytest.fixture
async def jq() -> AsyncIterator[Jq]:
    async with Jq() as jq:
        yield jq


@pytest.fixture
def objects(real: Client, jq: Jq) -> Objects:
    return Objects(real, Discovery(real), jq)


@pytest.fixture
def boxed(client: Client, discovery: Discovery, jq: Jq) -> Objects:
    return Objects(client, discovery, jq)


def operation(verb: Verb, namespace: str, body: Any = None, **more: Any) -> ObjectOperation:
    """About the ConfigMap `a`, unless said otherwise."""
    about = {"kind": "ConfigMap", "name": "a", "api_version": "v1"} | more
    return ObjectOperation(verb, namespace=namespace, body=body, **about)


async def read(client: Client, namespace: str, name: str = "a") -> Any:
    return await client.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")


async def test_create_creates_an_object_and_refuses_a_second(objects: Objects, real: Client, namespace: str) -> None:
    create = operation(Verb.CREATE, namespace, config_map("a", namespace, color="red"))
    await objects.carry_out(create)
    assert (await read(real, namespace))["data"] == {"color": "red"}
    with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
        await objects.carry_out(create)


async def test_create_finds_the_version_of_a_kind_and_takes_plurals(
    objects: Objects, real: Client, namespace: str
) -> None:
    body = {"kind": "cm", "metadata": {"name": "a", "namespace": namespace}}
    await objects.carry_out(operation(Verb.CREATE, namespace, body, api_version="", kind="cm"))
    assert (await read(real, namespace))["kind"] == "ConfigMap"


async def test_create_accepts_a_generated_name(objects: Objects, real: Client, namespace: str) -> None:
    body = {"kind": "ConfigMap", "metadata": {"generateName": "made-", "namespace": namespace}}
    await objects.carry_out(operation(Verb.CREATE, namespace, body, name=""))
    listed = await real.get(f"/api/v1/namespaces/{namespace}/configmaps")
    assert [item["metadata"]["name"][:5] for item in listed["items"]] == ["made-"]


async def test_create_if_not_exists_leaves_an_existing_object(objects: Objects, real: Client, namespace: str) -> None:
    for color in ("red", "blue"):
        body = config_map("a", namespace, color=color)
        await objects.carry_out(operation(Verb.CREATE_IF_NOT_EXISTS, namespace, body))
    assert (await read(real, namespace))["data"] == {"color": "red"}


async def test_create_or_update_replaces_the_whole_object(objects: Objects, real: Client, namespace: str) -> None:
    await objects.carry_out(operation(Verb.CREATE_OR_UPDATE, namespace, config_map("a", namespace, color="red")))
    await objects.carry_out(operation(Verb.CREATE_OR_UPDATE, namespace, config_map("a", namespace, size="9")))
    assert (await read(real, namespace))["data"] == {"size": "9"}


async def test_an_old_snapshot_can_be_written_back(objects: Objects, real: Client, namespace: str) -> None:
    await objects.carry_out(operation(Verb.CREATE, namespace, config_map("a", namespace, color="red")))
    old = await read(real, namespace)
    await objects.carry_out(operation(Verb.MERGE_PATCH, namespace, {"data": {"color": "blue"}}))
    await objects.carry_out(operation(Verb.CREATE_OR_UPDATE, namespace, old))
    assert (await read(real, namespace))["data"] == {"color": "red"}
    await objects.carry_out(operation(Verb.DELETE, namespace))
    await objects.carry_out(operation(Verb.CREATE, namespace, old))
    await objects.carry_out(operation(Verb.APPLY, namespace, old))


async def test_apply_owns_only_the_fields_that_it_has(objects: Objects, real: Client, namespace: str) -> None:
    await objects.carry_out(operation(Verb.CREATE, namespace, config_map("a", namespace, color="red", size="9")))
    await objects.carry_out(operation(Verb.APPLY, namespace, config_map("a", namespace, color="blue")))
    found = await read(real, namespace)
    assert found["data"] == {"color": "blue", "size": "9"}
    assert "hookrunner" in [entry["manager"] for entry in found["metadata"]["managedFields"]]


async def test_apply_creates_a_missing_object(objects: Objects, real: Client, namespace: str) -> None:
    await objects.carry_out(operation(Verb.APPLY, namespace, config_map("a", namespace, color="blue")))
    assert (await read(real, namespace))["data"] == {"color": "blue"}


PATCHES = [
    (Verb.MERGE_PATCH, {"data": {"color": None, "size": "9"}}, ""),
    (Verb.JSON_PATCH, [{"op": "remove", "path": "/data/color"}, {"op": "add", "path": "/data/size", "value": "9"}], ""),
    (Verb.JQ_PATCH, None, '.data = {"size": "9"}'),
]


@pytest.mark.parametrize(("verb", "body", "program"), PATCHES)
async def test_patches_change_an_object(
    objects: Objects, real: Client, namespace: str, verb: Verb, body: Any, program: str
) -> None:
    await objects.carry_out(operation(Verb.CREATE, namespace, config_map("a", namespace, color="red")))
    await objects.carry_out(operation(verb, namespace, body, jq_filter=program))
    assert (await read(real, namespace))["data"] == {"size": "9"}


@pytest.mark.parametrize(("verb", "body", "program"), PATCHES)
async def test_a_missing_object_is_an_error_unless_ignored(
    objects: Objects, namespace: str, verb: Verb, body: Any, program: str
) -> None:
    with pytest.raises(NotFound):
        await objects.carry_out(operation(verb, namespace, body, jq_filter=program))
    await objects.carry_out(operation(verb, namespace, body, jq_filter=program, ignore_missing=True))


BALANCED = {"ingress": [{"ip": "10.0.0.1"}]}


SERVICE = {"metadata": {"name": "web"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}


@pytest.mark.parametrize("subresource", ["status", "/status"])
@pytest.mark.parametrize(
    ("verb", "body", "program"),
    [
        (Verb.MERGE_PATCH, {"status": {"loadBalancer": BALANCED}}, ""),
        (Verb.JSON_PATCH, [{"op": "add", "path": "/status/loadBalancer", "value": BALANCED}], ""),
        (Verb.JQ_PATCH, None, '.status.loadBalancer.ingress = [{"ip": "10.0.0.1"}]'),
        (Verb.APPLY, {"metadata": {"name": "web"}, "status": {"loadBalancer": BALANCED}}, ""),
        (Verb.CREATE_OR_UPDATE, SERVICE | {"status": {"loadBalancer": BALANCED}}, ""),
    ],
)
async def test_operations_reach_a_status(
    objects: Objects, real: Client, namespace: str, subresource: str, verb: Verb, body: Any, program: str
) -> None:
    web = {"kind": "Service", "name": "web"}
    await objects.carry_out(operation(Verb.CREATE, namespace, SERVICE, **web))
    await objects.carry_out(operation(verb, namespace, body, jq_filter=program, **web, subresource=subresource))
    status = (await real.get(f"/api/v1/namespaces/{namespace}/services/web"))["status"]
    assert status["loadBalancer"]["ingress"][0]["ip"] == "10.0.0.1"


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "none"}]},
}


async def test_create_posts_to_a_subresource(api: ApiServer, boxed: Objects) -> None:
    api.put(POD)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    await boxed.carry_out(operation(Verb.CREATE, "default", eviction, kind="Pod", subresource="eviction"))
    assert [request.path for request in api.asked("POST")] == ["/api/v1/namespaces/default/pods/a/eviction"]
    assert api.get(POD) is None, "it was an eviction"


async def test_a_jq_patch_that_changes_nothing_sends_nothing(api: ApiServer, boxed: Objects) -> None:
    api.put(config_map("a"))
    await boxed.carry_out(operation(Verb.JQ_PATCH, "default", jq_filter="."))
    assert not api.asked("PUT")


@pytest.mark.slow
async def test_a_jq_patch_from_one_to_true_is_a_change(api: ApiServer, boxed: Objects) -> None:
    api.put(definition("example.com", "Widget", "v1"))
    await until(lambda: api.sandbox.kinds.of_kind("example.com/v1", "Widget"), "it is served")
    widget = config_map("a") | {"apiVersion": "example.com/v1", "kind": "Widget", "flag": 1}
    api.put(widget)
    about = {"kind": "Widget", "api_version": "example.com/v1"}
    await boxed.carry_out(operation(Verb.JQ_PATCH, "default", jq_filter=".flag = true", **about))
    assert (len(api.asked("PUT")), api.get(widget)["flag"]) == (1, True)


@pytest.mark.parametrize("program", ["empty", ".,.", ".data", "del(.kind)", "1"])
async def test_a_jq_patch_must_yield_one_whole_object(api: ApiServer, boxed: Objects, program: str) -> None:
    api.put(config_map("a", color="red"))
    with pytest.raises(FilterFailed, match="jqFilter of a JQPatch must yield"):
        await boxed.carry_out(operation(Verb.JQ_PATCH, "default", jq_filter=program))


@pytest.mark.slow
@pytest.mark.parametrize(("times", "comes_through"), [(3, True), (4, False)])
@pytest.mark.parametrize("verb", [Verb.CREATE_OR_UPDATE, Verb.JQ_PATCH])
async def test_writes_are_repeated_on_conflict_four_times(
    api: ApiServer, boxed: Objects, verb: Verb, times: int, comes_through: bool
) -> None:
    api.put(config_map("a"))
    wanted = operation(verb, "default", config_map("a", color="red"), jq_filter='.data.color = "red"')
    rival = asyncio.create_task(be_faster(api, times))
    with nullcontext() if comes_through else pytest.raises(Conflict):
        await boxed.carry_out(wanted)
    await rival
    assert len(api.asked("PUT")) == 4
    assert (api.get(config_map("a"))["data"].get("color") == "red") is comes_through


async def be_faster(api: ApiServer, times: int) -> None:
    """Write just before so many others, which come too late then. It looks in each turn of the loop, which is the API
    server's too: a delayed request cannot go on before it was seen."""
    api.faults.add(Fault("delay", "PUT ", seconds=0.01))
    for number in range(times):
        while len(api.asked("PUT")) <= number:  # noqa: ASYNC110  # nothing else tells in time
            await asyncio.sleep(0)
        api.put(config_map("a", number=str(number)))


async def test_delete_waits_until_the_object_is_gone(objects: Objects, real: Client, namespace: str) -> None:
    body = config_map("a", namespace)
    body["metadata"]["finalizers"] = ["example.com/wait"]
    await objects.carry_out(operation(Verb.CREATE, namespace, body))
    await objects.carry_out(operation(Verb.DELETE_IN_BACKGROUND, namespace))
    assert (await read(real, namespace))["metadata"]["deletionTimestamp"]
    await objects.carry_out(operation(Verb.MERGE_PATCH, namespace, {"metadata": {"finalizers": None}}))
    await objects.carry_out(operation(Verb.DELETE, namespace))
    with pytest.raises(NotFound):
        await read(real, namespace)


def held() -> Any:
    """A ConfigMap that cannot go."""
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    return body


@pytest.mark.looptime
async def test_delete_waits_for_finalizers_and_not_long_after_they_are_gone(api: ApiServer, boxed: Objects) -> None:
    api.put(held())
    asyncio.get_running_loop().call_later(3, api.put, config_map("a"))
    await boxed.carry_out(operation(Verb.DELETE, "default"))
    assert 3 <= asyncio.get_running_loop().time() < 4.5


@pytest.mark.looptime
async def test_delete_names_the_finalizers_that_hold_an_object(api: ApiServer, boxed: Objects) -> None:
    api.put(held())
    with pytest.raises(KubeError, match=r"still there 20 s after .* example.com/wait"):
        await boxed.carry_out(operation(Verb.DELETE, "default"))


@pytest.mark.parametrize("verb", [Verb.DELETE, Verb.DELETE_IN_BACKGROUND, Verb.DELETE_NON_CASCADING])
async def test_deleting_an_absent_object_succeeds(objects: Objects, namespace: str, verb: Verb) -> None:
    await objects.carry_out(operation(verb, namespace))


DELETES = [Verb.DELETE, Verb.DELETE_IN_BACKGROUND, Verb.DELETE_NON_CASCADING]


@pytest.mark.parametrize(
    ("verb", "gone"),
    [
        (Verb.DELETE, ["dependent", "a"]),
        (Verb.DELETE_IN_BACKGROUND, ["a", "dependent"]),
        (Verb.DELETE_NON_CASCADING, ["a"]),
    ],
)
async def test_each_delete_has_its_propagation_policy(
    api: ApiServer, boxed: Objects, verb: Verb, gone: list[str]
) -> None:
    uid = api.put(config_map("a"))["metadata"]["uid"]
    dependent = config_map("dependent")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": uid, "blockOwnerDeletion": True}
    dependent["metadata"]["ownerReferences"] = [owner]
    api.put(dependent)
    before = api.sandbox.store.revision
    await boxed.carry_out(operation(verb, "default"))
    await until(lambda: deleted(api, before) == gone, f"{gone} are deleted, in this order")
    assert (api.get(dependent) is None) is ("dependent" in gone)


def deleted(api: ApiServer, since: int) -> list[str]:
    """Names of what was deleted after a revision, in order."""
    return [change.key.name for change in api.sandbox.store.changes(since) if change.after is None]


async def test_a_namespaced_kind_needs_a_namespace(boxed: Objects) -> None:
    with pytest.raises(KubeError, match="ConfigMap lives in a namespace"):
        await boxed.carry_out(operation(Verb.DELETE, ""))


async def test_an_unknown_kind_is_an_error_even_where_missing_objects_are_not(boxed: Objects) -> None:
    with pytest.raises(UnknownKind):
        await boxed.carry_out(operation(Verb.MERGE_PATCH, "default", {}, kind="Widget", ignore_missing=True))


async def test_removed_version_is_reported_with_served_versions(boxed: Objects) -> None:
    wanted = operation(Verb.MERGE_PATCH, "default", {}, kind="CronJob", api_version="batch/v1beta1")
    with pytest.raises(UnknownKind, match="CronJob is served as batch/v1"):
        await boxed.carry_out(wanted)


@pytest.mark.parametrize("name", ["a?pretty=false", "a#", "a%2F"])
async def test_names_are_quoted_in_paths(api: ApiServer, boxed: Objects, name: str) -> None:
    api.put(config_map("a"))
    await boxed.carry_out(operation(Verb.DELETE, "default", name=name))
    assert api.get(config_map("a"))
    assert len(api.asked("DELETE")) == 1


@pytest.mark.parametrize(("namespace", "name"), [("default", "a/"), ("default/configmaps/a", "b"), ("..", "a")])
async def test_impossible_names_are_not_sent(api: ApiServer, boxed: Objects, namespace: str, name: str) -> None:
    """An API server reads `a%2F` as `a/`, and that as `a`."""
    api.put(config_map("a"))
    with pytest.raises(ApiError, match="is no name: correct the one in the operation"):
        await boxed.carry_out(operation(Verb.DELETE, namespace, name=name))
    assert not api.asked("DELETE")


@pytest.mark.parametrize(
    ("verb", "uid", "needed"),
    [
        (Verb.CREATE_OR_UPDATE, "", "create, get, update"),
        (Verb.JQ_PATCH, "", "get, update"),
        (Verb.DELETE, "", "delete, get"),
        (Verb.DELETE_IN_BACKGROUND, "", "delete"),
        (Verb.DELETE_IN_BACKGROUND, "u-1", "delete, get"),
    ],
)
async def test_missing_rights_are_named_with_all_that_the_operation_needs(
    cluster: Cluster, jq: Jq, namespace: str, verb: Verb, uid: str, needed: str
) -> None:
    user = await asyncio.to_thread(cluster.user, "powerless", namespace)
    credentials = credentials_of(user.kubeconfig)
    asked = operation(verb, namespace, config_map("a", namespace), jq_filter=".", uid=uid)
    async with Client(credentials, Requests(Metrics(""))) as client:
        objects = Objects(client, Discovery(client), jq)
        with pytest.raises(Denied) as caught:
            await objects.carry_out(asked)
    assert f'add {{apiGroups: [""], resources: [configmaps], verbs: [{needed}]}} to the role' in str(caught.value)


def test_each_operation_has_the_rights_that_a_refusal_names() -> None:
    assert _RIGHTS.keys() == {*Verb}

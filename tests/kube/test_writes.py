"""Requests about objects as they are sent: what is in them, and how long a deletion is awaited. Level: pure."""

import asyncio
import re
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from hookrunner.errors import AlreadyExists, Conflict, KubeError, NotFound
from hookrunner.kube import writes
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.writes import DeleteOptions, ListOptions, ObjectRef, WriteOptions
from hookrunner.model.resources import Resource
from tests.tables import each

PODS = Resource("v1", "Pod", "pods", True)
POD = ObjectRef(PODS, "default", "web-0")
HOOKRUNNER = Path(writes.__file__).parents[1]


class Server:
    """Answers each request with the next of `answers`; the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [*(answers or ({},))]
        self.calls: list[ApiCall] = []
        self.lists: list[tuple[str, dict[str, str]]] = []
        self.reads = 0

    async def send(self, call: ApiCall) -> bytes:
        self.calls.append(call)
        return orjson.dumps(self.answers[0])

    async def get(self, path: str, params: Any = None, accept: str = "", timeout: float = 60.0) -> Any:
        self.reads += 1
        self.lists.append((path, dict(params or {})))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, KubeError):
            raise answer
        return answer

    @property
    def client(self) -> Client:
        return cast(Client, self)


def pod(uid: str = "u1", **metadata: Any) -> Any:
    return {"metadata": {"name": "web-0", "uid": uid} | metadata}


async def test_each_way_to_write_has_its_method_and_content_type() -> None:
    server = Server()
    for write in (writes.create, writes.replace, writes.apply, writes.merge_patch, writes.json_patch):
        await write(server.client, POD, {})
    await writes.delete(server.client, POD)
    assert [(call.method, call.content_type) for call in server.calls] == [
        ("POST", "application/json"),
        ("PUT", "application/json"),
        ("PATCH", "application/apply-patch+yaml"),
        ("PATCH", "application/merge-patch+json"),
        ("PATCH", "application/json-patch+json"),
        ("DELETE", "application/json"),
    ]


async def test_pages_are_read_until_the_server_names_no_other() -> None:
    server = Server({"metadata": {"continue": "t"}, "items": [pod("u1")]}, {"metadata": {}, "items": None})
    pages = [page async for page in writes.read_pages(server.client, POD, ListOptions("app=web", limit=1))]
    assert pages == [[pod("u1")], []]
    assert [params for _, params in server.lists] == [
        {"labelSelector": "app=web", "limit": "1"},
        {"labelSelector": "app=web", "limit": "1", "continue": "t"},
    ]


class Contested(Server):
    """Refuses the first `conflicts` patches, as another client was quicker."""

    conflicts = 0

    async def send(self, call: ApiCall) -> bytes:
        self.calls.append(call)
        if len(self.calls) <= self.conflicts:
            raise Conflict(409, "Conflict", "the object has been modified")
        return b"{}"


@each(("conflicts", "is_patched"), [(0, True), (4, True), (5, False)])
async def test_metadata_is_patched_as_it_is_now_at_most_five_times(conflicts: int, is_patched: bool) -> None:
    server = Contested(*(pod(resourceVersion=str(number)) for number in range(10)))
    server.conflicts = conflicts
    patching = writes.patch_metadata(server.client, POD, lambda metadata: metadata["resourceVersion"])
    if is_patched:
        assert await patching
    else:
        with pytest.raises(Conflict):
            await patching
    assert [call.body for call in server.calls] == [str(number) for number in range(min(conflicts + 1, 5))]


async def test_write_is_repeated_while_other_clients_are_quicker() -> None:
    quicker = [AlreadyExists(409, "AlreadyExists", "it exists"), Conflict(409, "Conflict", "it has changed")]

    async def attempt() -> str:
        if quicker:
            raise quicker.pop()
        return "written"

    assert await writes.retry_on_conflict(attempt, attempts=3) == "written"


async def test_metadata_that_is_known_is_patched_without_a_read() -> None:
    server = Contested(pod(resourceVersion="2"))
    server.conflicts = 1
    known = {"resourceVersion": "1"}
    assert await writes.patch_metadata(server.client, POD, lambda metadata: metadata["resourceVersion"], known=known)
    assert ([call.body for call in server.calls], server.reads) == (["1", "2"], 1)


async def test_metadata_without_a_patch_is_only_read() -> None:
    server = Server(pod())
    assert not await writes.patch_metadata(server.client, POD, lambda _: None)
    assert (server.reads, server.calls) == (1, [])


async def test_options_become_parameters() -> None:
    server = Server()
    await writes.apply(server.client, POD, {}, WriteOptions("helm", force=False, strict=True, dry_run=True))
    await writes.apply(server.client, POD, {})
    assert [dict(call.params) for call in server.calls] == [
        {"fieldManager": "helm", "force": "false", "fieldValidation": "Strict", "dryRun": "All"},
        {},
    ]


async def test_deletion_names_the_object_that_is_meant() -> None:
    server = Server()
    await writes.delete(server.client, POD, DeleteOptions("Background", uid="u1", version="7"))
    await writes.delete(server.client, POD)
    conditions = {"preconditions": {"uid": "u1", "resourceVersion": "7"}}
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"} | conditions
    assert [call.body for call in server.calls] == [options, None]


@each(
    ("ref", "path"),
    [
        (POD, "/api/v1/namespaces/default/pods/web-0"),
        (ObjectRef(PODS, "default"), "/api/v1/namespaces/default/pods"),
        (ObjectRef(PODS, "default", "a", "/status"), "/api/v1/namespaces/default/pods/a/status"),
        (ObjectRef(PODS, "default", "system:a?b"), "/api/v1/namespaces/default/pods/system:a%3Fb"),
        (ObjectRef(PODS, "a/b"), "/api/v1/namespaces/a%2Fb/pods"),
    ],
)
def test_paths_are_quoted(ref: ObjectRef, path: str) -> None:
    assert ref.path == path


async def test_a_list_without_items_is_a_list_of_none() -> None:
    """An API server sends `null` for the metadata of no objects; a server behind an APIService may leave it out."""
    head = {"kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "1"}}
    server = Server(head | {"items": None}, head, head | {"items": [pod()]})
    read = [await writes.read_list(server.client, ObjectRef(PODS), ListOptions(metadata_only=True)) for _ in range(3)]
    assert read == [head | {"items": []}, head | {"items": []}, head | {"items": [pod()]}]


def test_lists_of_objects_are_read_in_one_place() -> None:
    readers = [file.name for file in HOOKRUNNER.rglob("*.py") if "METADATA_LIST" in file.read_text()]
    assert readers == ["client.py"]


async def test_lists_carry_only_the_selectors_and_the_page_that_are_asked_for() -> None:
    server, pods = Server({"items": []}), ObjectRef(PODS, "default")
    await writes.read_list(server.client, pods)
    await writes.read_list(server.client, pods, ListOptions(labels="a=b", fields="type=c"))
    await writes.read_list(server.client, pods, ListOptions(limit=500, page_token="t"))
    assert server.lists == [
        (pods.path, {}),
        (pods.path, {"labelSelector": "a=b", "fieldSelector": "type=c"}),
        (pods.path, {"limit": "500", "continue": "t"}),
    ]


async def test_answer_is_parsed_only_if_asked_for() -> None:
    answer = writes.WriteAnswer(b"pong")
    with pytest.raises(KubeError, match="cannot be read as JSON"):
        assert answer.json


@pytest.mark.looptime
@each("end", [NotFound(404, "NotFound", ""), pod("u2")], ids=["gone", "another"])
async def test_deletion_is_over_when_the_object_is_gone_or_another(end: Any) -> None:
    server = Server(pod(), pod(), end)
    assert await writes.wait_for_deletion(server.client, POD, "u1", within=20.0) == ""
    assert server.reads == 3


@pytest.mark.looptime
async def test_blockers_of_a_deletion_are_named() -> None:
    server = Server(pod(finalizers=["a/b", "c/d"]))
    began = asyncio.get_running_loop().time()
    reason = await writes.wait_for_deletion(server.client, POD, "u1", within=20.0)
    assert reason == "its finalizers have not been removed: a/b, c/d"
    assert asyncio.get_running_loop().time() - began == 20.0
    assert server.reads < 40, "looks come at longer and longer intervals"


def test_only_the_room_kube_builds_requests() -> None:
    builders = re.compile(
        r"from hookrunner\.kube\.client import .*\bApiCall\b|application/[a-z-]*patch\+|client\.get\("
    )
    files = (file for file in HOOKRUNNER.rglob("*.py") if file.parent.name != "kube")
    assert [str(file) for file in files if builders.search(file.read_text())] == []

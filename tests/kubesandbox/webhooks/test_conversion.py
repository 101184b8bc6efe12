"""Conversion in the sandbox alone: what is remembered, what controllers do, storage versions that change, restarts.

Level: sandbox."""

import json
from pathlib import Path

import aiohttp
import pytest

from kubesandbox.errors import BadFile
from kubesandbox.sandbox import Options, serving
from tests.kubesandbox.conftest import Client
from tests.kubesandbox.contract.webhook import JSON, Raw, Webhook
from tests.kubesandbox.webhooks.register import CATS, DEFINITIONS, cat, definition

V1, V2 = CATS.format("v1"), CATS.format("v2")


@pytest.fixture(autouse=True)
def _converting(webhook: Webhook) -> None:
    def convert(review: JSON) -> JSON:
        request = review["request"]
        objects = [obj | {"apiVersion": request["desiredAPIVersion"]} for obj in request["objects"]]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}

    webhook.answers["/convert"] = convert


async def test_what_is_unchanged_is_not_converted_again(client: Client, webhook: Webhook) -> None:
    await client.create(DEFINITIONS, definition(webhook))
    for name in ("a", "b", "c"):
        await client.create(V1, cat(name))
    for _ in range(2):
        await client.send("GET", V2)
        await client.send("GET", f"{V2}/a")
    await client.send("PATCH", f"{V1}/b", {"spec": {"x": 1}}, Content_Type="application/merge-patch+json")
    await client.send("GET", V2)
    sent = [[obj["metadata"]["name"] for obj in one["objects"]] for one in webhook.at("/convert")]
    assert sent == [["a", "b", "c"], ["b"]]


async def test_only_a_page_is_converted_unless_a_selector_has_to_see_all(client: Client, webhook: Webhook) -> None:
    await client.create(DEFINITIONS, definition(webhook))
    for name in ("a", "b", "c"):
        await client.create(V1, cat(name))
    page = await client.send("GET", f"{V2}?limit=2")
    assert len(page.body["items"]) == 2
    await client.send("GET", f"{V2}?labelSelector=x=y&limit=1")
    assert [len(one["objects"]) for one in webhook.at("/convert")] == [2, 1]


async def test_what_is_stored_is_read_by_the_storage_version_of_its_time(client: Client, webhook: Webhook) -> None:
    await client.create(DEFINITIONS, definition(webhook))
    await client.create(V1, cat())
    path = f"{DEFINITIONS}/cats.example.com"
    there = (await client.send("GET", path)).body
    for one in there["spec"]["versions"]:
        one["storage"] = one["name"] == "v2"
    assert (await client.send("PUT", path, there)).status == 200
    while client.sandbox.kinds.get("example.com", "v1", "cats").storage != "v2":  # type: ignore[union-attr]
        await client.send("GET", "/version")
    assert (await client.send("GET", f"{V2}/tom")).body["apiVersion"] == "example.com/v2"
    webhook.asked.clear()
    patched = {"spec": {"x": 1}}
    await client.send("PATCH", f"{V1}/tom", patched, Content_Type="application/merge-patch+json")
    assert [one["desiredAPIVersion"] for one in webhook.at("/convert")] == ["example.com/v2", "example.com/v1"]
    (stored,) = client.sandbox.store.select("cats.example.com")
    assert stored.json()["apiVersion"] == "example.com/v2"


async def test_controllers_need_no_webhook(client: Client, webhook: Webhook) -> None:
    """A definition goes with all of its objects, though no webhook converts them; one waits for its dependents
    first."""
    await client.create(DEFINITIONS, definition(webhook))
    await client.create(V1, cat())
    held = cat("held")
    held["metadata"]["finalizers"] = ["foregroundDeletion"]
    await client.create(V1, held)
    webhook.answers["/convert"] = Raw(b"", 500)
    await client.send("DELETE", f"{V1}/held?propagationPolicy=Foreground")
    await client.send("DELETE", f"{DEFINITIONS}/cats.example.com")
    while (await client.send("GET", f"{DEFINITIONS}/cats.example.com")).status == 200:
        pass
    assert client.sandbox.store.select("cats.example.com") == []


async def test_a_watch_that_cannot_go_on_says_so(client: Client, webhook: Webhook) -> None:
    await client.create(DEFINITIONS, definition(webhook))
    await client.create(V1, cat())
    async with client.session.get(client.sandbox.url + V2 + "?watch=1") as events:
        assert json.loads(await events.content.readline())["type"] == "ADDED"
        webhook.answers["/convert"] = Raw(b"", 500)
        await client.create(V1, cat("other"))
        last = json.loads(await events.content.readline())
        assert (last["type"], last["object"]["code"]) == ("ERROR", 500)
        assert "conversion webhook for example.com/v1, Kind=Cat failed" in last["object"]["message"]
        assert await events.content.readline() == b""


async def test_seeds_must_be_in_the_storage_version(webhook: Webhook, tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [definition(webhook), cat("tom", "v2")]}))
    with pytest.raises(BadFile, match="write it in version v1"):
        async with serving(Options(seed=[seed])):
            pass


async def test_a_restart_converts_again(webhook: Webhook, tmp_path: Path) -> None:
    options = Options(data=tmp_path / "data")
    async with serving(options) as sandbox, aiohttp.ClientSession() as session:
        client = Client(sandbox, session)
        await client.create(DEFINITIONS, definition(webhook))
        await client.create(V2, cat(version="v2", x=1))
    async with serving(options) as sandbox, aiohttp.ClientSession() as session:
        shown = await Client(sandbox, session).send("GET", f"{V2}/tom")
        assert (shown.body["apiVersion"], shown.body["spec"]) == ("example.com/v2", {"x": 1})
        (stored,) = sandbox.store.select("cats.example.com")
        assert stored.json()["apiVersion"] == "example.com/v1"

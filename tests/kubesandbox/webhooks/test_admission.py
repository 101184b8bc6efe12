"""Admission in the sandbox alone: what passes by, who asks, Services, a missing library. Level: sandbox."""

import asyncio
from urllib.request import Request, urlopen

import pytest

from kubetypes import cel
from tests.kubesandbox.conftest import Client
from tests.kubesandbox.contract.webhook import JSON, Webhook, allowed, denied, patching, reviewed
from tests.kubesandbox.webhooks.register import MAPS, config_map, configure

CONDITION = [{"name": "a", "expression": "true"}]


async def test_who_asks_is_an_administrator(client: Client, webhook: Webhook) -> None:
    await configure(client, "validating", webhook)
    await client.create(MAPS, config_map())
    (asked,) = webhook.at("/hook")
    groups = ["system:masters", "system:authenticated"]
    assert asked["userInfo"] == {"username": "kubernetes-admin", "groups": groups}


async def test_the_sandboxs_own_writes_pass_by(client: Client, webhook: Webhook) -> None:
    """A namespace is emptied though nothing may be deleted."""
    await client.create("/api/v1/namespaces", config_map("gone"))
    await client.create("/api/v1/namespaces/gone/configmaps", config_map())
    webhook.answers["/hook"] = lambda review: (allowed if _is_namespace(review) else denied)()(review)
    await configure(client, "validating", webhook)
    assert (await client.send("DELETE", "/api/v1/namespaces/gone/configmaps/a")).status == 400
    await client.send("DELETE", "/api/v1/namespaces/gone")
    while (await client.send("GET", "/api/v1/namespaces/gone")).status == 200:
        pass
    assert [one["kind"]["kind"] for one in webhook.at("/hook")] == ["ConfigMap", "Namespace"]


def _is_namespace(review: JSON) -> bool:
    return bool(review["request"]["kind"]["kind"] == "Namespace")


async def test_a_service_that_is_there_cannot_be_reached(client: Client, webhook: Webhook) -> None:
    spec = {"ports": [{"port": 443}]}
    made = await client.create("/api/v1/namespaces/default/services", {**config_map("hooks"), "spec": spec})
    service = {"namespace": "default", "name": "hooks", "path": "/x"}
    await configure(client, "validating", webhook, clientConfig={"service": service})
    refused = await client.send("POST", MAPS, config_map())
    place = f"{made['spec']['clusterIP']}:443"
    assert f"dial tcp {place}: connect: network is unreachable: the sandbox has no" in refused.body["message"]
    assert refused.status == 500


@pytest.mark.parametrize(("policy", "status"), [("Fail", 403), ("Ignore", 201)])
async def test_without_the_library_conditions_have_no_value(
    client: Client, webhook: Webhook, monkeypatch: pytest.MonkeyPatch, policy: str, status: int
) -> None:
    monkeypatch.setattr(cel, "available", lambda: False)
    made = await configure(client, "validating", webhook, matchConditions=CONDITION, failurePolicy=policy)
    assert "pip install 'hookrunner[cel]'" in made.headers["Warning"]
    answer = await client.send("POST", MAPS, config_map())
    assert (answer.status, webhook.at("/hook")) == (status, [])
    assert status == 201 or "pip install 'hookrunner[cel]'" in answer.body["message"]


async def test_old_reviews_are_not_checked_for_uid_and_patch_type(client: Client, webhook: Webhook) -> None:
    patch = patching({"op": "add", "path": "/data", "value": {"a": "b"}})

    def old(review: JSON) -> JSON:
        said = patch(review)
        assert isinstance(said, dict)
        return said | {"response": {"allowed": True, "patch": said["response"]["patch"]}}

    webhook.answers["/hook"] = old
    await configure(client, "mutating", webhook, admissionReviewVersions=["v1beta1"])
    assert (await client.create(MAPS, config_map()))["data"] == {"a": "b"}
    assert webhook.asked[0].review["apiVersion"] == "admission.k8s.io/v1beta1"


def create_another(client: Client) -> None:
    """From the webhook's own thread."""
    body = b'{"metadata": {"name": "a"}, "data": {"by": "another"}}'
    urlopen(Request(client.sandbox.url + MAPS, body, {"Content-Type": "application/json"})).close()


async def test_an_object_that_another_client_creates_meanwhile_exists_already(client: Client, webhook: Webhook) -> None:
    def slow(review: JSON) -> JSON:
        create_another(client)
        return reviewed(review, {"allowed": True})

    webhook.answers["/hook"] = slow
    await configure(client, "validating", webhook, objectSelector={"matchLabels": {"slow": "yes"}})
    assert (await client.send("POST", MAPS, {"metadata": {"name": "a", "labels": {"slow": "yes"}}})).status == 409
    assert (await client.send("GET", f"{MAPS}/a")).body["data"] == {"by": "another"}


async def test_an_apply_starts_over_when_another_client_creates_the_object(client: Client, webhook: Webhook) -> None:
    def slow(review: JSON) -> JSON:
        if review["request"]["operation"] == "CREATE":
            create_another(client)
        return reviewed(review, {"allowed": True})

    webhook.answers["/hook"] = slow
    await configure(client, "validating", webhook, objectSelector={"matchLabels": {"slow": "yes"}})
    meta = {"name": "a", "labels": {"slow": "yes"}}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"mine": "x"}}
    path = f"{MAPS}/a?fieldManager=me"
    answer = await client.send("PATCH", path, body, Content_Type="application/apply-patch+yaml")
    assert (answer.status, answer.body["data"]) == (200, {"by": "another", "mine": "x"})
    assert [one["operation"] for one in webhook.at("/hook")] == ["CREATE", "UPDATE"]


async def test_nothing_is_created_in_a_namespace_that_goes_meanwhile(client: Client, webhook: Webhook) -> None:
    await client.create("/api/v1/namespaces", config_map("gone"))

    def slow(review: JSON) -> JSON:
        urlopen(Request(f"{client.sandbox.url}/api/v1/namespaces/gone", method="DELETE")).close()
        return reviewed(review, {"allowed": True})

    webhook.answers["/hook"] = slow
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    await configure(client, "validating", webhook, rules=[rule])
    answer = await client.send("POST", "/api/v1/namespaces/gone/configmaps", config_map())
    assert answer.status in (403, 404)
    assert client.sandbox.store.select("configmaps", "gone") == []


@pytest.mark.slow
async def test_of_many_writes_at_once_none_is_lost(client: Client, webhook: Webhook) -> None:
    await client.create(MAPS, config_map())
    await configure(client, "mutating", webhook)
    await configure(client, "validating", webhook, name="other.example.com")
    patch = "application/merge-patch+json"
    writes = [client.send("PATCH", f"{MAPS}/a", {"data": {f"k{at}": "v"}}, Content_Type=patch) for at in range(20)]
    assert {answer.status for answer in await asyncio.gather(*writes)} == {200}
    there = (await client.send("GET", f"{MAPS}/a")).body
    assert sorted(there["data"]) == sorted(f"k{at}" for at in range(20))


async def test_a_connection_that_the_webhook_has_closed_is_no_reason_to_fail(client: Client, webhook: Webhook) -> None:
    """Every second request on a connection finds it closed."""
    await configure(client, "validating", webhook)
    webhook.requests_per_connection = 1
    for name in "abcd":
        await client.create(MAPS, config_map(name))
    assert [one["name"] for one in webhook.at("/hook")] == ["a", "b", "c", "d"]

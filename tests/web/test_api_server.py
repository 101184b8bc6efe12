"""What a real API server does with our answers, and what it says to webhooks; the rest is in test_reviews.py.

Everything is scoped to a namespace or a group of its own.

Level: control plane.
"""

import asyncio
import base64
import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hookrunner.model.reviews import AdmissionReview, Verdict
from hookrunner.web import reviews
from tests.controlplane.cluster import Cluster
from tests.controlplane.rest import Reply
from tests.fakes.objects import definition
from tests.web.reviewing import ScriptedReviewer, Served, Setup, failed, served

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


class Asking:
    """ConfigMaps of one namespace are reviewed by our server."""

    def __init__(self, cluster: Cluster, namespace: str, server: Served) -> None:
        self._cluster = cluster
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self.server = server

    async def create(self) -> Reply:
        body = {"metadata": {"name": f"cm-{secrets.token_hex(4)}"}}
        return await asyncio.to_thread(self._cluster.request, "POST", self._path, body)


def client_config(server: Served, path: str) -> dict[str, str]:
    trust = base64.b64encode(server.ca.certificate).decode()
    return {"url": f"https://127.0.0.1:{server.port}{path}", "caBundle": trust}


@asynccontextmanager
async def asking(
    cluster: Cluster, namespace: str, reviewer: ScriptedReviewer, setup: Setup | None = None, **more: Any
) -> AsyncIterator[Asking]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    async with served(reviewer, setup) as server, asyncio.timeout(60):
        webhook = {
            "name": "policy.example.com",
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "clientConfig": client_config(server, "/hooks/policy"),
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        name = f"hookrunner-{namespace}"
        body = {"metadata": {"name": name}, "webhooks": [webhook | more]}
        await asyncio.to_thread(cluster.create, HOOKS, body)
        try:
            asks = Asking(cluster, namespace, server)
            while not reviewer.reviews:  # the API server adopts a new webhook with a delay
                await asks.create()
            reviewer.reviews.clear()
            yield asks
        finally:
            await asyncio.to_thread(cluster.request, "DELETE", f"{HOOKS}/{name}")


@pytest.mark.parametrize(("setting", "seconds"), [({}, 9.8), ({"timeoutSeconds": 7}, 6.8)])
async def test_api_server_sends_the_timeout_of_an_admission_webhook(
    cluster: Cluster, namespace: str, setting: dict[str, Any], seconds: float
) -> None:
    reviewer, clock = ScriptedReviewer(), asyncio.get_running_loop().time
    async with asking(cluster, namespace, reviewer, **setting) as asks:
        earliest = clock() + seconds
        name = (await asks.create()).body["metadata"]["name"]  # controllers make ConfigMaps as well
        deadlines = [
            review.deadline
            for review in reviewer.reviews
            if isinstance(review, AdmissionReview) and review.request.subject["name"] == name
        ]
        assert [earliest <= deadline <= clock() + seconds for deadline in deadlines] == [True]


async def test_refusal_reaches_the_client_with_code_message_and_warnings(cluster: Cluster, namespace: str) -> None:
    reviewer = ScriptedReviewer(Verdict(False, "two\nlines", 418, warnings=("be\ncareful",), audit={"a/b": "v"}))
    async with asking(cluster, namespace, reviewer) as asks:
        reply = await asks.create()
    message = 'admission webhook "policy.example.com" denied the request: two\nlines'
    assert (reply.status, reply.body["message"]) == (418, message)


async def test_warning_of_two_lines_reaches_the_client(cluster: Cluster, namespace: str) -> None:
    async with asking(cluster, namespace, ScriptedReviewer(Verdict(False, "no", warnings=("be\ncareful",)))):
        create = ("create", "configmap", "warned", "-n", namespace)
        with contextlib.suppress(Exception):
            await asyncio.to_thread(cluster.kubectl, *create)
        with pytest.raises(Exception, match="Warning: be careful"):
            await asyncio.to_thread(cluster.kubectl, *create)


@pytest.mark.parametrize(("policy", "status"), [("Fail", 500), ("Ignore", 201)])
async def test_failed_call_is_decided_by_the_failure_policy(
    cluster: Cluster, namespace: str, policy: str, status: int
) -> None:
    async with asking(
        cluster, namespace, ScriptedReviewer(failed("Hook failed", ignorable=True)), failurePolicy=policy
    ) as asks:
        reply = await asks.create()
    assert (reply.status, "Hook failed" in str(reply.body)) == (status, status == 500)


async def test_api_server_repeats_a_review_that_found_no_room(cluster: Cluster, namespace: str) -> None:
    reviewer = ScriptedReviewer()
    async with asking(cluster, namespace, reviewer, Setup(most=1)) as asks:
        reviewer.unpaused.clear()
        first = asyncio.create_task(asks.create())
        await reviewer.wait_for_reviews(1)
        second = asyncio.create_task(asks.create())
        while b'result="limit"' not in asks.server.metrics.exposition():
            await asyncio.wait({second}, timeout=0.01)
        reviewer.unpaused.set()
        assert [(await task).status for task in (first, second)] == [201, 201]


async def test_api_server_closes_the_connection_at_the_timeout(cluster: Cluster, namespace: str) -> None:
    reviewer = ScriptedReviewer()
    async with asking(cluster, namespace, reviewer, timeoutSeconds=1) as asks:
        reviewer.unpaused.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reviews, "MARGIN", -10.0)
            while not reviewer.reviews:  # a busy API server may give up before it has asked
                reply = await asks.create()
        await reviewer.wait_for_cancellations(len(reviewer.reviews))
    assert reply.status == 500
    assert "context deadline exceeded" in reply.body["message"], reply.body


async def test_api_server_sends_half_a_minute_for_a_conversion(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(reviews.DEFAULT_TIMEOUT, "conversion", 5.0)
    group = f"x{secrets.token_hex(4)}.example.com"
    reviewer = ScriptedReviewer(objects=failed("no way to v2"))
    async with served(reviewer) as server, asyncio.timeout(60):
        try:
            await asyncio.to_thread(cluster.create, CRDS, converted_definition(group, server))
            await established(cluster, group)
            body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a"}}
            await asyncio.to_thread(cluster.create, f"/apis/{group}/v1/things", body)
            clock = asyncio.get_running_loop().time
            earliest = clock() + 29.8
            reply = await asyncio.to_thread(cluster.request, "GET", f"/apis/{group}/v2/things/a")
            assert earliest <= reviewer.reviews[-1].deadline <= clock() + 29.8
            assert (reply.status, "no way to v2" in reply.body["message"]) == (500, True)
        finally:
            await asyncio.to_thread(cluster.request, "DELETE", f"{CRDS}/things.{group}")


async def established(cluster: Cluster, group: str) -> None:
    while (await asyncio.to_thread(cluster.request, "GET", f"/apis/{group}/v2/things")).status != 200:
        pass


def converted_definition(group: str, server: Served) -> Any:
    webhook = {"clientConfig": client_config(server, f"/things.{group}"), "conversionReviewVersions": ["v1"]}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    return definition(group, "Thing", "v1", "v2", scope="Cluster", conversion=conversion)

"""Configurations and definitions for the sandbox of a test."""

from typing import Any

from tests.fakes import objects
from tests.kubesandbox.conftest import Client
from tests.kubesandbox.contract.webhook import JSON, Webhook

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAPS = "/api/v1/namespaces/default/configmaps"
EVERYTHING = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}
GROUP = "example.com"
CATS = f"/apis/{GROUP}/{{}}/namespaces/default/cats"


def config_map(name: str = "a") -> JSON:
    return {"metadata": {"name": name}}


async def configure(client: Client, kind: str, webhook: Webhook, **hook: Any) -> Any:
    """A configuration with one webhook for everything, at `/hook`; the answer to its creation."""
    said = {
        "name": "hook.example.com",
        "clientConfig": webhook.client("/hook"),
        "rules": [EVERYTHING],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    } | hook
    body = {"metadata": {"name": kind}, "webhooks": [said]}
    answer = await client.send("POST", CONFIGURATIONS.format(kind), body)
    assert answer.status == 201, answer.body
    return answer


def definition(webhook: Webhook) -> JSON:
    """Cats in two versions, converted at `/convert`."""
    client = {"clientConfig": webhook.client("/convert"), "conversionReviewVersions": ["v1"]}
    conversion = {"strategy": "Webhook", "webhook": client}
    made: JSON = objects.definition(GROUP, "Cat", "v1", "v2", conversion=conversion)
    return made


def cat(name: str = "tom", version: str = "v1", **spec: Any) -> JSON:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Cat", "metadata": {"name": name}, "spec": spec}

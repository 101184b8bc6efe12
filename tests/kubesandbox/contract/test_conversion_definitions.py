"""What a definition may say of its conversion. Level: control plane."""

import base64
import secrets

from tests.kubesandbox.contract.api import Api, until
from tests.kubesandbox.contract.objects import at, crd
from tests.kubesandbox.contract.webhook import JSON, Webhook
from tests.tables import each

MERGE = "application/merge-patch+json"
REQUIRED = "webhookClientConfig: Required value: required when strategy is set to Webhook"
CLIENT: JSON = {"url": "https://127.0.0.1:1/c"}
WRONG: list[tuple[JSON, list[str]]] = [
    ({"webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v1"]}}, []),
    ({"webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v1beta1", "v9"]}}, []),
    ({}, ["conversionReviewVersions: Required value", REQUIRED]),
    (
        {"webhook": {"conversionReviewVersions": ["v1"]}},
        [REQUIRED],
    ),
    (
        {"webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}},
        ["webhookClientConfig: Required value: exactly one of url or service is required"],
    ),
    (
        {"webhook": {"clientConfig": {"url": "http://a/b"}, "conversionReviewVersions": ["v1"]}},
        ["webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme"],
    ),
    (
        {
            "webhook": {
                "clientConfig": {"service": {"namespace": "a", "name": "b", "path": "c//d", "port": 0}},
                "conversionReviewVersions": ["v1"],
            }
        },
        [
            "webhookClientConfig.service.path: Invalid value: \"c//d\": must start with a '/'",
            'webhookClientConfig.service.path: Invalid value: "c//d": segment[0] may not be empty',
            'webhookClientConfig.service.path: Invalid value: "c//d": segment[1] may not be empty',
            "webhookClientConfig.service.port: Invalid value: 0: port is not valid",
        ],
    ),
    (
        {"webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v8", "v9", "v8"]}},
        [
            'conversionReviewVersions: Invalid value: ["v8","v9","v8"]: must include at least one of v1, v1beta1',
            'conversionReviewVersions[2]: Invalid value: "v8": duplicate version',
        ],
    ),
]


@each(("said", "causes"), WRONG)
def test_problems_of_a_conversion_are_reported(api: Api, said: JSON, causes: list[str]) -> None:
    body = crd(f"g{secrets.token_hex(4)}.example.com", "cats", conversion={"strategy": "Webhook", **said})
    answer = api.request("POST", at("customresourcedefinitions") + "?dryRun=All", body)
    told = sorted(f"{one['field']}: {one['message']}" for one in answer.body.get("details", {}).get("causes", []))
    assert len(told) == len(causes)
    for one, wanted in zip(told, causes, strict=True):
        assert one.startswith(f"spec.conversion.{wanted}")


def test_a_bundle_of_authorities_must_be_readable(api: Api, webhook: Webhook) -> None:
    """Before, the definition waits; when it is served, it is refused."""
    nonsense = {"url": webhook.url + "/c", "caBundle": base64.b64encode(b"nonsense").decode()}
    said = {"strategy": "Webhook", "webhook": {"clientConfig": nonsense, "conversionReviewVersions": ["v1"]}}
    group = f"g{secrets.token_hex(4)}.example.com"
    path = at("customresourcedefinitions", name=f"cats.{group}")
    api.post(at("customresourcedefinitions"), crd(group, "cats", conversion=said))

    def established() -> JSON:
        conditions = api.get(path).get("status", {}).get("conditions") or []
        return next((one for one in conditions if one["type"] == "Established"), JSON())

    until(lambda: established().get("reason") == "InvalidCABundle")
    assert established()["status"] == "False"
    change = {"spec": {"conversion": {"webhook": {"clientConfig": webhook.client("/c")}}}}
    api.patch(path, change)
    until(lambda: established()["status"] == "True")
    change["spec"]["conversion"]["webhook"]["clientConfig"] = nonsense
    refused = api.request("PATCH", path, change, content_type=MERGE)
    (cause,) = refused.body["details"]["causes"]
    assert cause["field"] == "spec.conversion.webhookClientConfig.caBundle"
    assert "unable to load root certificates: unable to parse bytes as PEM block" in cause["message"]
    api.delete(path)

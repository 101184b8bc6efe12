"""A kind whose objects a webhook converts."""

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.fakes.objects import OPEN
from tests.kubesandbox.contract.api import Api, until
from tests.kubesandbox.contract.objects import CustomKind, at, crd
from tests.kubesandbox.contract.webhook import JSON, Decides, Raw, Webhook

SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
BELOW: JSON = {"status": {}, "scale": SCALE}


def version(name: str, schema: JSON = OPEN, *, stored: bool = False) -> JSON:
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": schema},
        "subresources": BELOW,
    }


@dataclass(slots=True)
class Convertible:
    """A kind in v1 (stored), v2 and v3, whose objects say in `spec.via` which way they have gone."""

    api: Api
    ns: str
    kind: CustomKind
    webhook: Webhook

    @property
    def path(self) -> str:
        """Where it is converted."""
        return f"/{self.kind.name}"

    def answers(self, answer: Decides | Raw) -> None:
        """How it is converted from now on."""
        self.webhook.answers[self.path] = answer

    def asked(self, wanted: str = "", name: str = "") -> list[JSON]:
        """Requests for a version, of an object."""
        return [
            one
            for one in self.webhook.at(self.path)
            if one["desiredAPIVersion"].endswith(wanted)
            and (not name or name in [obj["metadata"]["name"] for obj in one["objects"]])
        ]

    def create(self, name: str, version: str = "v2", **content: Any) -> JSON:
        """An object, made in a version."""
        body = self.kind.object(name, version=version, **({"spec": {}} | content))
        made: JSON = self.api.post(self.kind.path(self.ns, version=version), body)
        return made

    def get(self, name: str, version: str) -> JSON:
        """It in a version."""
        shown: JSON = self.api.get(self.kind.path(self.ns, name, version=version))
        return shown

    def at(self, name: str = "", version: str = "v2") -> str:
        """The path of a collection, or of one object."""
        return self.kind.path(self.ns, name, version=version)


def converting(change: Callable[[JSON, str], object] | None = None) -> Decides:
    """Convert, and let `change` have the object and the short name of its new version."""

    def answer(review: JSON) -> JSON:
        request = review["request"]
        wanted, objects = request["desiredAPIVersion"], json.loads(json.dumps(request["objects"]))
        for obj in objects:
            obj["apiVersion"] = wanted
            if change is not None:
                change(obj, wanted.rpartition("/")[2])
        return replied(review, result={"status": "Success"}, convertedObjects=objects)

    return answer


def replied(review: JSON, **response: Any) -> JSON:
    said = {"uid": review["request"]["uid"]} | response
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": said}


def marked(obj: JSON, wanted: str) -> None:
    spec = obj.setdefault("spec", {})
    spec["via"] = f"{spec['via']},{wanted}" if spec.get("via") else wanted


def define(api: Api, ns: str, webhook: Webhook, versions: list[JSON]) -> Iterator[Convertible]:
    kind = CustomKind(f"g{secrets.token_hex(4)}.example.com", "cats", "Cat")
    made = Convertible(api, ns, kind, webhook)
    made.answers(converting(marked))
    client = webhook.client(made.path)
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
    api.post(at("customresourcedefinitions"), crd(kind.group, "cats", versions=versions, conversion=conversion))
    for each in versions:
        until(partial(_served, api, made.at(version=each["name"])))
    yield made
    api.request("DELETE", at("customresourcedefinitions", name=kind.name))


def _served(api: Api, path: str) -> bool:
    return api.request("GET", path).status == 200

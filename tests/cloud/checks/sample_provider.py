"""A provider without a process, which keeps every rule, and ways to break it."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from hookrunner.cloud.checks.made_up_objects import made_up_node
from hookrunner.cloud.checks.probe import Ask, Printed
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider.wire_answers import Answer
from hookrunner.cloud.provider.wire_requests import CallRequest

PREFIX = "sample://"
MACHINES = {"node-1": "m-1", "node-2": "m-2"}


def nodes_of(names: Iterable[str]) -> list[CloudNode]:
    """Nodes by their names alone, as they are before they are initialised."""
    return [made_up_node(name=name) for name in names]


class SampleProvider:
    """Answers as a cloud with two machines does. A broken one is a subclass, or has a function that spoils what it
    prints."""

    offers: ClassVar[Any] = {"instances": True, "loadBalancer": True, "routes": True}
    serves = True

    def __init__(self, spoil: Callable[[Printed], Printed] = lambda printed: printed) -> None:
        self.balancers: dict[str, Any] = {}
        self.routes: list[Any] = []
        self._spoil = spoil

    async def run(self, argument: str, given: bytes, timeout: float) -> Printed:
        if argument == "serve":
            return Printed(b"".join(self.answer_line(json.loads(line)) for line in given.splitlines()))
        return self._spoil(Printed(json.dumps(self.answer(argument, json.loads(given))).encode()))

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Ask]:
        yield self.answer_served

    async def answer_served(self, request: CallRequest) -> Answer:
        answer: Answer = self.answer(request.verb, json.loads(request.text))
        return answer

    def answer_line(self, request: Any) -> bytes:
        return json.dumps(self.answer(request["verb"], request)).encode() + b"\n"

    def answer(self, verb: str, request: Any) -> Any:
        answer = getattr(self, verb.replace("-", "_"), None)
        if answer is None:
            return {"requestID": request["requestID"], "error": {"code": "NotImplemented", "message": verb}}
        return {"requestID": request["requestID"], **answer(request["params"])}

    def capabilities(self, params: Any) -> Any:
        features = {"serve": self.serves}
        return {"result": {"providerName": "sample", "interfaces": self.offers, "features": features}}

    def instances(self, params: Any) -> Any:
        return {"result": {"instances": [self.instance(node) for node in params["nodes"]]}}

    def instance(self, node: Any) -> Any:
        machine = self.find(node)
        if machine:
            place = {"providerID": f"{PREFIX}{machine}", "zone": "zone-a", "instanceType": "small"}
            addresses = [{"type": "InternalIP", "address": "10.0.0.1"}]
            return {"name": node["name"], "state": "running", **place, "addresses": addresses}
        return {"name": node["name"], "state": "notFound" if node["providerID"].startswith(PREFIX) else "skip"}

    def find(self, node: Any) -> str:
        if node["providerID"]:
            return next((machine for machine in MACHINES.values() if node["providerID"] == PREFIX + machine), "")
        return MACHINES.get(node["name"], "")

    def lb_get(self, params: Any) -> Any:
        found = self.balancers.get(params["name"])
        return {"result": {"exists": True, "status": self.status(params)} if found else {"exists": False}}

    def lb_ensure(self, params: Any) -> Any:
        metadata = params["service"]["metadata"]
        self.balancers[params["name"]] = {"service": f"default/{metadata['name']}", "uid": metadata["uid"]}
        return {"result": {"status": self.status(params)}}

    def status(self, params: Any) -> Any:
        return {"ingress": [{"ip": "192.0.2.1"}]}

    def lb_update(self, params: Any) -> Any:
        if params["name"] not in self.balancers:
            return {"error": {"code": "NotFound", "message": "no such load balancer"}}
        return {"result": {}}

    def lb_delete(self, params: Any) -> Any:
        self.balancers.pop(params["name"], None)
        return {"result": {}}

    def lb_list(self, params: Any) -> Any:
        return {"result": {"loadBalancers": [{"name": name, **found} for name, found in self.balancers.items()]}}

    def routes_list(self, params: Any) -> Any:
        return {"result": {"routes": self.routes}}

    def routes_apply(self, params: Any) -> Any:
        gone = [route["name"] for route in params["delete"]]
        self.routes = [route for route in self.routes if route["name"] not in gone]
        for route in params["create"]:
            name = f"{route['targetNode']}-{route['destinationCIDR']}"
            if name not in [other["name"] for other in self.routes]:
                self.routes.append({**route, "name": name})
        done = {"ok": True}
        return {"result": {"create": [done] * len(params["create"]), "delete": [done] * len(gone)}}

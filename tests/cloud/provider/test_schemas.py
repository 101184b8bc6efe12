"""The schemas and the readers agree: what one takes the other takes, and our own requests are as they say.

Level: pure."""

import json

from jsonschema import Draft202012Validator

from hookrunner.cloud.answers import CloudRoute, NodeAddress, ProviderError, Want
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.schemas import answer_schema, request_schema
from hookrunner.cloud.provider.wire_answers import read_answer, result_of
from hookrunner.cloud.provider.wire_requests import CallRequest, InstancesQuestion, RouteChanges
from hookrunner.cloud.provider.wire_results import (
    read_applied,
    read_ensured,
    read_instances,
    read_load_balancer,
    read_load_balancers,
    read_routes,
)
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from kubetypes.json_values import JSON
from tests.tables import each

ADDRESS = NodeAddress("InternalIP", "10.0.0.1")
NODE = CloudNode("n1", "u", "sim://1", {"a": "b"}, {"c": "d"}, (), (ADDRESS,), (), 1e9, None, False, False, None)
BALANCER = LoadBalancerRequest({"metadata": {"name": "web", "uid": "u1"}}, "a1", (NODE,))
ROUTE = CloudRoute("n1", "10.1.0.0/24", "r1", (ADDRESS,), False, "u")
QUESTIONS = {
    verbs.NOTHING: None,
    verbs.NODES: InstancesQuestion([NODE], set(Want)),
    verbs.SERVICE: BALANCER,
    verbs.SERVICE_WITH_NODES: BALANCER,
    verbs.ROUTES: RouteChanges([ROUTE], [ROUTE]),
}


@each("verb", verbs.VERBS, ids=str)
def test_our_requests_are_as_their_schema_says(verb: AnyVerb) -> None:
    request = json.loads(
        CallRequest(verb.name, "r1", 60.0, "kubernetes", verb.params.document(QUESTIONS[verb.params])).text
    )
    Draft202012Validator.check_schema(request_schema(verb))
    Draft202012Validator(request_schema(verb)).validate(request)
    assert not Draft202012Validator(request_schema(verb)).is_valid({**request, "params": None})


def accepts(verb: AnyVerb, answer: JSON) -> bool:
    """Do the readers take the answer, and each entry of it?"""
    try:
        result = result_of(read_answer(json.dumps(answer).encode()), verb, "r1")
        match verb:
            case verbs.CAPABILITIES:
                verbs.CAPABILITIES.read(result, None)
            case verbs.INSTANCES:
                answers = read_instances(result, ["a"], set(Want)).values()
                return not any("unusable" in answer.message for answer in answers)
            case verbs.LB_GET:
                read_load_balancer(result)
            case verbs.LB_ENSURE:
                read_ensured(result)
            case verbs.LB_LIST:
                return len(read_load_balancers(result)) == len(result["loadBalancers"])
            case verbs.ROUTES_LIST:
                return len(read_routes(result)) == len(result["routes"])
            case verbs.ROUTES_APPLY:
                outcomes = read_applied(result, len(result["create"]), 0).create
                return not any(error and "must be" in error.reason for error in outcomes)
    except ProviderError as error:
        return "error" in answer and "needs" not in error.reason
    return True


def instance(**fields: JSON) -> JSON:
    return {"instances": [{"name": "a", "state": "running"} | fields]}


GOOD: list[tuple[str, JSON]] = [
    ("capabilities", {"providerName": "sim"}),
    (
        "capabilities",
        {"providerName": "sim", "providerIDPrefixes": ["x://y"], "interfaces": {"routes": True}},
    ),
    ("capabilities", {"providerName": "sim", "limits": {"maxParallel": 1, "timeoutSeconds": {"lb-ensure": 300}}}),
    ("capabilities", {"providerName": "sim", "features": None, "limits": {"maxBatch": None}}),
    ("instances", {"instances": []}),
    ("instances", instance()),
    ("instances", instance(zone=None, addresses=[{"type": "InternalIP", "address": "x"}], additionalLabels={"a": "b"})),
    ("lb-get", {"exists": True, "status": {"ingress": [{"ip": "10.0.0.1", "ipMode": "VIP", "ports": [{"port": 1}]}]}}),
    ("lb-get", {"exists": False, "status": None}),
    ("lb-ensure", {"status": {}}),
    ("lb-update", {}),
    ("lb-delete", {"more": 1}),
    ("lb-list", {"loadBalancers": [{"name": "a", "service": "d/web"}]}),
    ("routes-list", {"routes": [{"destinationCIDR": "10.1.0.0/24", "blackhole": True}]}),
    ("routes-apply", {"create": [{"ok": True}, {"error": {"code": "Pending", "retryAfterSeconds": 1}}], "delete": []}),
]
BAD: list[tuple[str, JSON]] = [
    ("capabilities", {}),
    ("capabilities", {"providerName": "my cloud"}),
    ("capabilities", {"providerName": "sim", "providerIDPrefixes": []}),
    ("capabilities", {"providerName": "sim", "providerIDPrefixes": ["sim"]}),
    ("capabilities", {"providerName": "sim", "interfaces": {"routes": "yes"}}),
    ("capabilities", {"providerName": "sim", "limits": {"maxParallel": 0}}),
    ("capabilities", {"providerName": "sim", "limits": {"timeoutSeconds": {"lb-ensure": 0}}}),
    ("instances", {}),
    ("instances", instance(state="gone")),
    ("instances", instance(zone=7)),
    ("instances", instance(addresses=[{"type": "InternalIP"}])),
    ("instances", instance(additionalLabels={"a": 7})),
    ("lb-get", {}),
    ("lb-get", {"exists": "yes"}),
    ("lb-ensure", {}),
    ("lb-ensure", {"status": {"ingress": [{"ip": 7}]}}),
    ("lb-ensure", {"status": None}),
    ("lb-list", {"loadBalancers": [{"service": "d/web"}]}),
    ("routes-list", {"routes": [{"name": "r"}]}),
    ("routes-list", {"routes": [{"destinationCIDR": "10.1.0.0/24", "blackhole": 1}]}),
    ("routes-apply", {"create": [{"ok": False}]}),
    ("routes-apply", {"create": [{"ok": True, "error": {"code": "Invalid"}}]}),
]
ERRORS: list[tuple[JSON, bool]] = [
    ({"error": {"code": "Throttled"}}, True),
    ({"error": {"code": "Custom", "message": "x"}}, True),
    ({"error": {"code": "Pending"}}, False),
    ({"error": {}}, False),
    ({"error": "no"}, False),
    ({}, False),
    ({"result": {}, "error": {"code": "Invalid"}}, False),
]


@each("is_good", [True, False])
def test_readers_and_schemas_agree_on_results(is_good: bool) -> None:
    differences = []
    for name, result in GOOD if is_good else BAD:
        verb, answer = verbs.BY_NAME[name], {"result": result}
        verdicts = (Draft202012Validator(answer_schema(verb)).is_valid(answer), accepts(verb, answer))
        differences += [] if verdicts == (is_good, is_good) else [(name, result, verdicts)]
    assert differences == []


def test_readers_and_schemas_agree_on_errors() -> None:
    schema = Draft202012Validator(answer_schema(verbs.LB_DELETE))
    verdicts = [(answer, schema.is_valid(answer), accepts(verbs.LB_DELETE, answer)) for answer, _ in ERRORS]
    assert verdicts == [(answer, good, good) for answer, good in ERRORS]


def test_each_schema_has_its_own_address() -> None:
    schemas = [make(verb) for verb in verbs.VERBS for make in (request_schema, answer_schema)]
    addresses = {schema["$id"] for schema in schemas}
    assert len(addresses) == len(schemas)
    assert "https://hookrunner.io/schemas/cloud/v1/lb-get.answer.schema.json" in addresses


@each("verb", verbs.VERBS, ids=str)
def test_a_schema_is_whole_and_has_no_more_definitions_than_it_uses(verb: AnyVerb) -> None:
    for schema in (request_schema(verb), answer_schema(verb)):
        Draft202012Validator.check_schema(schema)
        text = json.dumps(schema)
        assert all(text.count(f'"#/$defs/{name}"') for name in schema["$defs"])

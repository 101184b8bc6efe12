"""The verbs of the wire format, a row for each: name, parameters, reader, the rule of `cloud check` that tries it, and
its interface. Calls, `cloud check`, `cloud call`, the schemas and the page of providers are made from this table;
`wire.schema.json` and `hookrunner/provider.py`, which authors may copy, are compared with it by tests.

    state = await calls.ask(LB_GET, request)       # a LoadBalancerState, or ProviderError
    BY_NAME["lb-get"]

A new verb is a row here, its purpose and its result in `wire.schema.json`, a reader in `wire_results.py` if no other
fits, its name in `hookrunner/provider.py`, and a method of `ExecutableProvider` for the loop that asks it. One that
changes nothing is tried by the rules `kept-promises` and `serve-children` without further ado.
"""

from collections.abc import Callable, Mapping

from hookrunner.cloud.answers import Ingress, InstanceAnswer, Interface, RouteResults
from hookrunner.cloud.provider import wire_requests, wire_results
from hookrunner.cloud.provider.capability_results import read_capabilities
from hookrunner.cloud.provider.cloud_verb import AnyVerb, CloudVerb, R, VerbParams
from hookrunner.cloud.provider.wire_requests import InstancesQuestion, RouteChanges
from hookrunner.cloud.provider.wire_results import Result
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.cloud.shown_texts import Mask


def _alone(read: Callable[[Result], R]) -> Callable[[Result, object, Mask], R]:
    """A reader that needs the result and nothing else."""
    return lambda result, question, mask: read(result)


def _read_instances(result: Result, asked: InstancesQuestion, mask: Mask) -> dict[str, InstanceAnswer]:
    return wire_results.read_instances(result, [node.name for node in asked.nodes], asked.want, mask)


def _read_applied(result: Result, asked: RouteChanges, mask: Mask) -> RouteResults:
    return wire_results.read_applied(result, len(asked.create), len(asked.delete), mask)


def _read_ensured(result: Result, asked: LoadBalancerRequest, mask: Mask) -> tuple[Ingress, ...]:
    return wire_results.read_valid_ingress(result, mask)


def _uid(asked: LoadBalancerRequest) -> str:
    return str(asked.service["metadata"]["uid"])


NOTHING: VerbParams[None] = VerbParams("nothing", lambda _: {})
NODES = VerbParams("nodes", wire_requests.instances_params)
SERVICE = VerbParams("service", wire_requests.service_params, _uid)
SERVICE_WITH_NODES = VerbParams("serviceWithNodes", wire_requests.service_and_nodes_params, _uid)
ROUTES = VerbParams("routes", wire_requests.routes_params)

_LB, _ROUTES = Interface.LOAD_BALANCER, Interface.ROUTES
_READ_NOTHING = _alone(wire_results.read_nothing)

CAPABILITIES = CloudVerb("capabilities", NOTHING, lambda result, *_: read_capabilities(result, BY_NAME), "capabilities")
INSTANCES = CloudVerb("instances", NODES, _read_instances, "complete", Interface.INSTANCES)
LB_GET = CloudVerb("lb-get", SERVICE, _alone(wire_results.read_load_balancer), "lb-nothing", _LB)
LB_ENSURE = CloudVerb("lb-ensure", SERVICE_WITH_NODES, _read_ensured, "lb-life", _LB, changes_cloud=True)
LB_UPDATE = CloudVerb(
    "lb-update", SERVICE_WITH_NODES, _READ_NOTHING, "lb-update-nothing", _LB, changes_cloud=True, absent_is_done=True
)
LB_DELETE = CloudVerb(
    "lb-delete", SERVICE, _READ_NOTHING, "lb-delete-nothing", _LB, changes_cloud=True, absent_is_done=True
)
LB_LIST = CloudVerb("lb-list", NOTHING, _alone(wire_results.read_load_balancers), "lb-list")
ROUTES_LIST = CloudVerb("routes-list", NOTHING, _alone(wire_results.read_routes), "routes-list", _ROUTES)
ROUTES_APPLY = CloudVerb("routes-apply", ROUTES, _read_applied, "routes-life", _ROUTES, changes_cloud=True)

VERBS: tuple[AnyVerb, ...] = (
    *(CAPABILITIES, INSTANCES),
    *(LB_GET, LB_ENSURE, LB_UPDATE, LB_DELETE, LB_LIST),
    *(ROUTES_LIST, ROUTES_APPLY),
)
BY_NAME: Mapping[str, AnyVerb] = {verb.name: verb for verb in VERBS}

"""The verbs of the wire format, each a row: the one table that the calls, `cloud check`, `cloud call`, the schemas and
the page of providers are made from. `wire.schema.json` and `hookrunner/provider.py`, which authors may copy, are
compared with it by tests.

    state = await calls.ask(LB_GET, request)       # a LoadBalancerState, or ProviderError
    BY_NAME["lb-get"]

A new verb is a row here, its result in `wire.schema.json`, a reader in `wire_results.py` if no other fits, its name in
`hookrunner/provider.py`, and a method of `ExecutableProvider` for the loop that asks it. One that changes nothing is
tried by the rules `kept-promises` and `serve-children` without further ado.
"""

from collections.abc import Mapping

from hookrunner.cloud.answers import Interface
from hookrunner.cloud.provider.capability_results import read_capabilities
from hookrunner.cloud.provider.cloud_verb import AnyVerb, CloudVerb, VerbParams
from hookrunner.cloud.provider.wire_requests import (
    InstancesQuestion,
    RouteChanges,
    instances_params,
    load_balancer_params,
    routes_params,
)
from hookrunner.cloud.provider.wire_results import (
    read_applied,
    read_instances,
    read_load_balancer,
    read_load_balancers,
    read_nothing,
    read_routes,
    read_valid_ingress,
)
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest


def _service_of(request: LoadBalancerRequest) -> str:
    uid: str = request.service["metadata"]["uid"]
    return uid


NOTHING: VerbParams[None] = VerbParams("nothing", lambda _: {})
NODES: VerbParams[InstancesQuestion] = VerbParams("nodes", lambda asked: instances_params(asked.nodes, asked.want))
SERVICE: VerbParams[LoadBalancerRequest] = VerbParams(
    "service", lambda asked: load_balancer_params(asked, False), _service_of
)
SERVICE_WITH_NODES: VerbParams[LoadBalancerRequest] = VerbParams(
    "serviceWithNodes", lambda asked: load_balancer_params(asked, True), _service_of
)
ROUTES: VerbParams[RouteChanges] = VerbParams("routes", lambda changes: routes_params(changes.create, changes.delete))

CAPABILITIES = CloudVerb(
    "capabilities",
    "What the program can do.",
    NOTHING,
    lambda result, *_: read_capabilities(result, BY_NAME),
    check="capabilities",
)
INSTANCES = CloudVerb(
    "instances",
    "What the cloud says of the machines of some Nodes.",
    NODES,
    lambda result, asked, mask: read_instances(result, [node.name for node in asked.nodes], asked.want, mask),
    check="complete",
    interface=Interface.INSTANCES,
)
LB_GET = CloudVerb(
    "lb-get",
    "What there is in the cloud; changes nothing.",
    SERVICE,
    lambda result, *_: read_load_balancer(result),
    check="lb-nothing",
    interface=Interface.LOAD_BALANCER,
)
LB_ENSURE = CloudVerb(
    "lb-ensure",
    "Create a load balancer, or bring it to the wanted state.",
    SERVICE_WITH_NODES,
    lambda result, _, mask: read_valid_ingress(result, mask),
    check="lb-life",
    interface=Interface.LOAD_BALANCER,
    changes_cloud=True,
)
LB_UPDATE = CloudVerb(
    "lb-update",
    "Change the Nodes behind a load balancer.",
    SERVICE_WITH_NODES,
    lambda result, *_: read_nothing(result),
    check="lb-update-nothing",
    interface=Interface.LOAD_BALANCER,
    changes_cloud=True,
    absent_is_done=True,
)
LB_DELETE = CloudVerb(
    "lb-delete",
    "Delete a load balancer, and what is left of it.",
    SERVICE,
    lambda result, *_: read_nothing(result),
    check="lb-delete-nothing",
    interface=Interface.LOAD_BALANCER,
    changes_cloud=True,
    absent_is_done=True,
)
LB_LIST = CloudVerb(
    "lb-list",
    "All load balancers of the cluster. Optional, for `hookrunner cloud orphans`.",
    NOTHING,
    lambda result, *_: read_load_balancers(result),
    check="lb-list",
)
ROUTES_LIST = CloudVerb(
    "routes-list",
    "All routes of the cluster.",
    NOTHING,
    lambda result, *_: read_routes(result),
    check="routes-list",
    interface=Interface.ROUTES,
)
ROUTES_APPLY = CloudVerb(
    "routes-apply",
    "Delete routes, then create others.",
    ROUTES,
    lambda result, changes, mask: read_applied(result, len(changes.create), len(changes.delete), mask),
    check="routes-life",
    interface=Interface.ROUTES,
    changes_cloud=True,
)

VERBS: tuple[AnyVerb, ...] = (
    CAPABILITIES,
    INSTANCES,
    LB_GET,
    LB_ENSURE,
    LB_UPDATE,
    LB_DELETE,
    LB_LIST,
    ROUTES_LIST,
    ROUTES_APPLY,
)
BY_NAME: Mapping[str, AnyVerb] = {verb.name: verb for verb in VERBS}

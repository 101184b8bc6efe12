"""Rules of the verbs `routes-…`. The route that is made leads into a network without Pods."""

from hookrunner.cloud.answers import CloudRoute, Interface, ProviderError
from hookrunner.cloud.checks.check_rules import CheckSubject, Need, Rule
from hookrunner.cloud.checks.made_up_objects import made_up_route
from hookrunner.cloud.provider.verbs import ROUTES_APPLY, ROUTES_LIST
from hookrunner.cloud.provider.wire_requests import RouteChanges
from hookrunner.cloud.routes.pod_networks import read_network

_TIMES = 2


async def _check_list(subject: CheckSubject) -> list[str]:
    result = (await subject.probe.ask(ROUTES_LIST, {})).result()
    routes = ROUTES_LIST.read(result, None)
    number = len(result["routes"])
    unusable = [f"{number - len(routes)} of {number} entries are unusable"] if len(routes) < number else []
    destinations = (route.destination_cidr for route in routes)
    return [*unusable, *(f"'{cidr}' is no network" for cidr in destinations if read_network(cidr) is None)]


async def _check_life(subject: CheckSubject) -> list[str]:
    """Create a route twice, find it, delete it twice; deleted in any case."""
    route = made_up_route(subject.nodes[0])
    try:
        return await _follow_life(subject, route)
    finally:
        if made := await _find(subject, route):
            await _apply(subject, [], made)


async def _follow_life(subject: CheckSubject, route: CloudRoute) -> list[str]:
    for number in range(_TIMES):
        if problem := await _apply(subject, [route], []):
            return [f"{'made' if not number else 'made again'}, a route fails: {problem}"]
    made = await _find(subject, route)
    if len(made) != 1:
        return [f"made twice, a route is in the list {len(made)} times"]
    if made[0].target_node != route.target_node:
        return [f"a route to {route.target_node} is listed with the target '{made[0].target_node}'"]
    for number in range(_TIMES):
        if problem := await _apply(subject, [], made):
            return [f"{'deleted' if not number else 'deleted again'}, a route fails: {problem}"]
    return ["a deleted route is still in the list"] if await _find(subject, route) else []


async def _apply(subject: CheckSubject, create: list[CloudRoute], delete: list[CloudRoute]) -> str:
    """What went wrong; empty if nothing did."""
    changes = RouteChanges(create, delete)
    reply = await subject.probe.ask_while_pending(ROUTES_APPLY, ROUTES_APPLY.params.document(changes))
    try:
        results = ROUTES_APPLY.read(reply.result(), changes)
    except ProviderError as error:
        return error.reason
    return "; ".join(str(error) for error in (*results.create, *results.delete) if error)


async def _find(subject: CheckSubject, route: CloudRoute) -> list[CloudRoute]:
    listed = await subject.ask(ROUTES_LIST, None)
    return [other for other in listed if other.destination_cidr == route.destination_cidr]


_NEEDS = (Need.NODES, Need.WRITES)
ROUTE_RULES = (
    Rule("routes-list", "its list of routes is usable", _check_list, Interface.ROUTES),
    Rule("routes-life", "a route is made once, found, and deleted", _check_life, Interface.ROUTES, _NEEDS),
)

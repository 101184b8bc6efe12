"""Results of a cloud's program as values: instances, load balancers, routes. Capabilities are in
`capability_results.py`.

Of a list of instances each entry counts for itself: one that is missing, stands twice or cannot be used makes its Node
`UNKNOWN`. `NOT_FOUND` comes from the one entry of a Node that says so, and from nowhere else.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeVar

from hookrunner import redaction
from hookrunner.cloud.answers import (
    CloudRoute,
    CloudVerb,
    Ingress,
    InstanceAnswer,
    InstanceMetadata,
    InstanceState,
    ListedLoadBalancer,
    LoadBalancerState,
    ProviderError,
    RouteResults,
    Want,
)
from hookrunner.cloud.provider import result_fields as fields
from hookrunner.cloud.provider.result_fields import UnusableField
from hookrunner.cloud.provider.wire_answers import read_error, unavailable
from kubetypes.json_values import JSON

T = TypeVar("T")
Result = Mapping[str, JSON]
_STATES = frozenset(InstanceState)
_WITH_METADATA = {InstanceState.RUNNING, InstanceState.SHUTDOWN}


def read_instances(result: Result, names: Iterable[str], want: AbstractSet[Want]) -> dict[str, InstanceAnswer]:
    """An answer for each name. Raises ProviderError if there is no list."""
    entries = _whole(lambda: fields.items(result, "instances", is_required=True), CloudVerb.INSTANCES)
    by_name: dict[str, list[Result]] = {name: [] for name in names}
    for entry in entries:
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and name in by_name:
            by_name[name].append(entry)
    return {name: _instance(found, want) for name, found in by_name.items()}


def read_load_balancer(result: Result) -> LoadBalancerState:
    """Of `lb-get`. Raises ProviderError."""
    if not isinstance(result.get("exists"), bool):
        raise unavailable("the result of lb-get needs 'exists', true or false")
    status = _whole(lambda: fields.ingress(fields.mapping(result, "status")), CloudVerb.LB_GET)
    return LoadBalancerState(result["exists"], status)


def read_ensured(result: Result) -> tuple[Ingress, ...]:
    """Of `lb-ensure`. Raises ProviderError; a missing status is an error, an empty one is not."""
    if not isinstance(result.get("status"), dict):
        raise unavailable("the result of lb-ensure needs an object 'status'; with no address yet, its 'ingress' is []")
    return _whole(lambda: fields.ingress(result["status"]), CloudVerb.LB_ENSURE)


def read_load_balancers(result: Result) -> tuple[ListedLoadBalancer, ...]:
    """Of `lb-list`. Raises ProviderError."""
    return _listed(result, "loadBalancers", CloudVerb.LB_LIST, _load_balancer)


def read_nothing(result: Result) -> None:
    """Of `lb-update` and `lb-delete`: that it is an object says all."""


def read_routes(result: Result) -> tuple[CloudRoute, ...]:
    """Of `routes-list`. Raises ProviderError."""
    return _listed(result, "routes", CloudVerb.ROUTES_LIST, _route)


def read_applied(result: Result, creates: int, deletes: int) -> RouteResults:
    """Of `routes-apply`, which was asked for so many. Raises ProviderError."""
    return RouteResults(_outcomes(result, "create", creates), _outcomes(result, "delete", deletes))


def _instance(entries: Collection[Result], want: AbstractSet[Want]) -> InstanceAnswer:
    if len(entries) != 1:
        number = "no entry" if not entries else f"{len(entries)} entries"
        return InstanceAnswer(InstanceState.UNKNOWN, message=f"the provider's answer has {number} for this Node")
    (entry,) = entries
    try:
        state, message = _state(entry), fields.text(entry, "message")
        metadata = _metadata(entry)
    except UnusableField as error:
        return InstanceAnswer(InstanceState.UNKNOWN, message=f"the provider's entry for this Node is unusable: {error}")
    return InstanceAnswer(state, metadata if Want.METADATA in want and state in _WITH_METADATA else None, message)


def _state(entry: Result) -> InstanceState:
    state = fields.required_text(entry, "state")
    if state not in _STATES:
        raise UnusableField(f"'state' must be one of {', '.join(InstanceState)}")
    return InstanceState(state)


def _metadata(entry: Result) -> InstanceMetadata:
    return InstanceMetadata(
        provider_id=fields.text(entry, "providerID"),
        instance_type=fields.text(entry, "instanceType"),
        zone=fields.text(entry, "zone"),
        region=fields.text(entry, "region"),
        addresses=fields.addresses(entry, "addresses"),
        additional_labels=fields.texts(entry, "additionalLabels", fields.MOST_LABELS),
    )


def _load_balancer(entry: Result) -> ListedLoadBalancer:
    return ListedLoadBalancer(
        fields.required_text(entry, "name"), fields.text(entry, "service"), fields.text(entry, "uid")
    )


def _route(entry: Result) -> CloudRoute:
    return CloudRoute(
        target_node=fields.text(entry, "targetNode"),
        destination_cidr=fields.required_text(entry, "destinationCIDR"),
        name=fields.text(entry, "name"),
        target_node_addresses=fields.addresses(entry, "targetNodeAddresses"),
        blackhole=fields.flag(entry, "blackhole"),
    )


def _listed(result: Result, key: str, verb: CloudVerb, read: Callable[[Result], T]) -> tuple[T, ...]:
    entries = _whole(lambda: fields.items(result, key, is_required=True), verb)
    return tuple(fields.usable(entries, read, key))


def _outcomes(result: Result, key: str, number: int) -> tuple[ProviderError | None, ...]:
    entries = _whole(lambda: fields.items(result, key), CloudVerb.ROUTES_APPLY)
    if len(entries) != number:
        raise unavailable(
            f"the result of routes-apply has {len(entries)} entries in '{key}' for {number} in the request; answer"
            " each, in the same order"
        )
    return tuple(_outcome(entry, f"{key}[{index}]") for index, entry in enumerate(entries))


def _outcome(entry: JSON, path: str) -> ProviderError | None:
    if isinstance(entry, dict) and entry.get("ok") is True and "error" not in entry:
        return None
    if isinstance(entry, dict) and "error" in entry and not entry.get("ok"):
        return read_error(entry["error"])
    return unavailable(
        f"{path} of routes-apply must be {{'ok': true}} or {{'error': …}}, and is {redaction.kind(entry)}"
    )


def _whole(read: Callable[[], T], verb: CloudVerb) -> T:
    """What cannot be used here spoils the whole answer."""
    try:
        return read()
    except UnusableField as error:
        raise unavailable(f"the result of {verb}: {error}") from None

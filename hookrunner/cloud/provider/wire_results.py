"""Results of a cloud's program as values: instances, load balancers, routes. Capabilities are in
`capability_results.py`.

Of a list of instances each entry counts for itself: one that is missing, stands twice or cannot be used makes its Node
`UNKNOWN`. `NOT_FOUND` comes from the one entry of a Node that says so, and from nowhere else.

Texts that may be written to a Node are judged here: a valid one stays as it is, any other becomes a part of a message
that people may see (`cloud/shown_texts.py`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeVar

from hookrunner import redaction
from hookrunner.cloud.answers import (
    CloudRoute,
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
from hookrunner.cloud.nodes.valid_metadata import invalid_texts
from hookrunner.cloud.provider import result_fields as fields
from hookrunner.cloud.provider.result_fields import UnusableField
from hookrunner.cloud.provider.wire_answers import read_error, unavailable
from hookrunner.cloud.services.ingress_rules import complete_ingress, find_ingress_problem
from hookrunner.cloud.shown_texts import Mask, shortened
from kubetypes.json_values import JSON

T = TypeVar("T")
Result = Mapping[str, JSON]
_STATES = frozenset(InstanceState)
_WITH_METADATA = {InstanceState.RUNNING, InstanceState.SHUTDOWN}


def read_instances(
    result: Result, names: Iterable[str], want: AbstractSet[Want], mask: Mask = str
) -> dict[str, InstanceAnswer]:
    """An answer for each name. Raises ProviderError if there is no list."""
    entries = fields.whole(lambda: fields.items(result, "instances", is_required=True), "instances")
    by_name: dict[str, list[Result]] = {name: [] for name in names}
    for entry in entries:
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and name in by_name:
            by_name[name].append(entry)
    return {name: _instance(found, want, mask) for name, found in by_name.items()}


def read_load_balancer(result: Result) -> LoadBalancerState:
    """Of `lb-get`. Raises ProviderError."""
    if not isinstance(result.get("exists"), bool):
        raise unavailable("the result of lb-get needs 'exists', true or false")
    status = fields.whole(lambda: fields.ingress(fields.mapping(result, "status")), "lb-get")
    return LoadBalancerState(result["exists"], status)


def read_ensured(result: Result) -> tuple[Ingress, ...]:
    """Of `lb-ensure`. Raises ProviderError; a missing status is an error, an empty one is not."""
    if not isinstance(result.get("status"), dict):
        raise unavailable("the result of lb-ensure needs an object 'status'; with no address yet, its 'ingress' is []")
    return fields.whole(lambda: fields.ingress(result["status"]), "lb-ensure")


def read_valid_ingress(result: Result, mask: Mask) -> tuple[Ingress, ...]:
    """The same, of addresses that the API server would take. The loop judges them as those of any provider, but does
    not know what is secret in the words about them. Raises ProviderError."""
    ingress = read_ensured(result)
    if problem := find_ingress_problem(complete_ingress(ingress), mask):
        raise unavailable(f"the answer of lb-ensure cannot be written: {problem}")
    return ingress


def read_load_balancers(result: Result) -> tuple[ListedLoadBalancer, ...]:
    """Of `lb-list`. Raises ProviderError."""
    return _listed(result, "loadBalancers", "lb-list", _load_balancer)


def read_nothing(result: Result) -> None:
    """Of `lb-update` and `lb-delete`: that it is an object says all."""


def read_routes(result: Result) -> tuple[CloudRoute, ...]:
    """Of `routes-list`. Raises ProviderError."""
    return _listed(result, "routes", "routes-list", _route)


def read_applied(result: Result, creates: int, deletes: int, mask: Mask = str) -> RouteResults:
    """Of `routes-apply`, which was asked for so many. Raises ProviderError."""
    create, delete = _answers_to(result, "create", creates), _answers_to(result, "delete", deletes)
    return RouteResults(
        tuple(_outcome(entry, f"create[{index}]", mask) for index, entry in enumerate(create)),
        tuple(_outcome(entry, f"delete[{index}]", mask) for index, entry in enumerate(delete)),
    )


def _instance(entries: Collection[Result], want: AbstractSet[Want], mask: Mask) -> InstanceAnswer:
    if len(entries) != 1:
        number = "no entry" if not entries else f"{len(entries)} entries"
        return InstanceAnswer(InstanceState.UNKNOWN, message=f"the provider's answer has {number} for this Node")
    (entry,) = entries
    try:
        state, message = _state(entry), shortened(mask(fields.text(entry, "message")))
        metadata = _valid(_metadata(entry), mask)
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


def _valid(metadata: InstanceMetadata, mask: Mask) -> InstanceMetadata:
    """The metadata if all of it may be written to a Node; else nothing but why not."""
    problems = tuple(invalid_texts(metadata, mask))
    return InstanceMetadata(problems=problems) if problems else metadata


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


def _listed(result: Result, key: str, verb: str, read: Callable[[Result], T]) -> tuple[T, ...]:
    entries = fields.whole(lambda: fields.items(result, key, is_required=True), verb)
    return tuple(fields.usable(entries, read, key))


def _answers_to(result: Result, key: str, number: int) -> list[JSON]:
    entries = fields.whole(lambda: fields.items(result, key), "routes-apply")
    if len(entries) != number:
        raise unavailable(
            f"the result of routes-apply has {len(entries)} entries in '{key}' for {number} in the request; answer"
            " each, in the same order"
        )
    return entries


def _outcome(entry: JSON, path: str, mask: Mask) -> ProviderError | None:
    if isinstance(entry, dict) and entry.get("ok") is True and "error" not in entry:
        return None
    if isinstance(entry, dict) and "error" in entry and not entry.get("ok"):
        return read_error(entry["error"], mask)
    return unavailable(
        f"{path} of routes-apply must be {{'ok': true}} or {{'error': …}}, and is {redaction.kind(entry)}"
    )

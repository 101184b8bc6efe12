"""What becomes of a new Node, decided from what the cloud says of its machine: the kubelet's taint goes when the Node
has its providerID, labels and addresses.

    decision = decide_initialization(node, answer, capabilities, policy)
    patch = node_patch(node, decision, policy)   # made anew after a conflict
    patch = address_patch(node, decision.metadata, by_type=False)

Nothing that the API server would refuse, and nothing that could not be taken back, is ever part of a patch: a
providerID cannot be changed once it is set. Functions of values.
Source: https://kubernetes.io/docs/concepts/architecture/cloud-controller/#node-controller
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from hookrunner.cloud.answers import (
    CloudCapabilities,
    ErrorCode,
    InstanceAnswer,
    InstanceMetadata,
    InstanceState,
    ProviderError,
)
from hookrunner.cloud.nodes.cloud_node import UNINITIALIZED, CloudNode
from hookrunner.cloud.nodes.node_addresses import address_problem, choose_addresses, has_changed, to_documents
from hookrunner.cloud.nodes.node_labels import initial_labels
from hookrunner.cloud.nodes.valid_metadata import invalid_texts
from hookrunner.controllers.event_recorder import ObjectEvent
from hookrunner.printable import printable
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

UNAUTHENTICATED_PAUSE = 60.0
"""Seconds until a question that the cloud did not authenticate is repeated."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class InitializationPolicy:
    """How Nodes are initialised.

    `as_upstream`: as Kubernetes' own manager, which writes addresses after the taint is removed, asks about Nodes with
    another cloud's providerID, writes what the API server refuses and foreign providerIDs, and records no Events about
    problems; its back-off is another one.
    """

    require_addresses: bool = False
    beta_labels: bool = True
    as_upstream: bool = False


@dataclass(frozen=True, slots=True)
class Initialize:
    """The Node takes over this metadata, and its taint goes. `event` is a warning beside it."""

    metadata: InstanceMetadata
    event: ObjectEvent | None = None


@dataclass(frozen=True, slots=True)
class TryAgain:
    """It cannot be initialised now: why, and after exactly how many seconds it can be tried again; None for a failure,
    which has a back-off."""

    problem: str
    event: ObjectEvent | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SkipNode:
    """The provider says that the Node is not its business."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class AwaitChange:
    """It is not tried again before the Node changes."""

    problem: str
    event: ObjectEvent | None = None


InitializationDecision: TypeAlias = Initialize | TryAgain | SkipNode | AwaitChange


def decide_initialization(
    node: CloudNode,
    answer: InstanceAnswer | ProviderError,
    capabilities: CloudCapabilities,
    policy: InitializationPolicy,
) -> InitializationDecision:
    """What becomes of a Node with the kubelet's taint."""
    if isinstance(answer, ProviderError):
        return _react(answer)
    if answer.state is InstanceState.SKIP:
        return SkipNode(answer.message)
    if answer.state not in (InstanceState.RUNNING, InstanceState.SHUTDOWN):
        said = f": {answer.message}" if answer.message else ""
        return _fail(f"the cloud says that its machine is {answer.state}{said}")
    if answer.metadata is None:
        return _fail("the answer has no metadata of its machine")
    return _decide_metadata(node, answer.metadata, capabilities, policy)


def node_patch(node: CloudNode, decision: Initialize, policy: InitializationPolicy) -> JSON:
    """The merge patch of the Node as it is now: providerID, labels, and taints without the kubelet's. None if it was
    initialised meanwhile."""
    if node.is_initialized:
        return None
    taints = [taint.document for taint in node.taints if taint.key != UNINITIALIZED]
    labels = initial_labels(node, decision.metadata, policy.beta_labels)
    provider_id = {} if node.provider_id else {"providerID": decision.metadata.provider_id}
    return {"metadata": {"labels": labels} if labels else {}, "spec": {"taints": taints} | provider_id}


def address_patch(node: CloudNode, metadata: InstanceMetadata, by_type: bool) -> JSON:
    """The merge patch of the Node's status as it is now; None if there is nothing to do, or if the addresses do not go
    with the kubelet's --node-ip. A merge patch replaces the list: a strategic one would mix both."""
    if not metadata.addresses or address_problem(node, metadata.addresses):
        return None
    wanted = choose_addresses(node, metadata.addresses)
    if not has_changed(node.addresses, wanted, by_type):
        return None
    return {"status": {"addresses": to_documents(wanted)}}


def invalid_metadata(metadata: InstanceMetadata, capabilities: CloudCapabilities) -> ObjectEvent | None:
    """The Event about metadata that must not be written; None if it may."""
    problems = [*metadata.problems, *_problems(metadata, capabilities)]
    return refuse_metadata(problems)


def refuse_metadata(problems: Sequence[str]) -> ObjectEvent | None:
    """The Event about these problems of metadata, None without any."""
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    text = "; ".join(problems[:_SHOWN])
    return ObjectEvent("InvalidInstanceMetadata", f"{text}{more}: correct the provider") if problems else None


def provider_id_mismatch(node: CloudNode, metadata: InstanceMetadata) -> ObjectEvent | None:
    """The Event about another providerID than the Node's, which stays: the API server does not let it change."""
    if not node.provider_id or metadata.provider_id in ("", node.provider_id):
        return None
    text = f"the Node has the providerID {node.provider_id}, the cloud says {metadata.provider_id}"
    return ObjectEvent(
        "ProviderIDMismatch", f"{text}: delete the Node, so that it registers again, or correct the cloud"
    )


def _react(error: ProviderError) -> InitializationDecision:
    event = ObjectEvent("InstanceMetadataFailed", str(error))
    match error.code:
        case ErrorCode.INVALID:
            return AwaitChange(str(error), event)
        case ErrorCode.PENDING | ErrorCode.THROTTLED:
            return TryAgain(str(error), seconds=error.retry_after or None)
        case ErrorCode.UNAUTHENTICATED:
            return TryAgain(str(error), event, UNAUTHENTICATED_PAUSE)
        case _:
            return TryAgain(str(error), event)


def _fail(problem: str) -> TryAgain:
    return TryAgain(problem, ObjectEvent("InstanceMetadataFailed", problem))


def _decide_metadata(
    node: CloudNode, metadata: InstanceMetadata, capabilities: CloudCapabilities, policy: InitializationPolicy
) -> InitializationDecision:
    if event := refuse_metadata(metadata.problems):
        return TryAgain(event.message, event)
    if not (node.provider_id or metadata.provider_id):
        return _fail("neither the Node nor the answer has a providerID")
    if not policy.as_upstream and (event := invalid_metadata(metadata, capabilities)):
        return TryAgain(event.message, event)
    if problem := address_problem(node, metadata.addresses):
        return _fail(problem)
    if policy.require_addresses and not metadata.addresses:
        return _fail("its machine has no address yet")
    return Initialize(metadata, provider_id_mismatch(node, metadata))


def _problems(metadata: InstanceMetadata, capabilities: CloudCapabilities) -> Iterator[str]:
    if metadata.provider_id and not capabilities.owns(metadata.provider_id):
        prefixes = " or ".join(capabilities.provider_id_prefixes)
        yield f"providerID '{printable(metadata.provider_id)}' does not begin with {prefixes}"
    yield from invalid_texts(metadata)

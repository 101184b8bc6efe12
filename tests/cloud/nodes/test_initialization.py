"""What becomes of a new Node, as a table: answers on the left, writes and pauses on the right. Level: pure."""

from dataclasses import replace
from typing import Any

from hookrunner.cloud.answers import (
    CloudCapabilities,
    ErrorCode,
    InstanceAnswer,
    InstanceMetadata,
    InstanceState,
    Interface,
    NodeAddress,
    ProviderError,
)
from hookrunner.cloud.nodes.initialization import (
    AwaitChange,
    InitializationDecision,
    InitializationPolicy,
    Initialize,
    SkipNode,
    TryAgain,
    address_patch,
    decide_initialization,
    node_patch,
)
from hookrunner.cloud.nodes.node_addresses import PROVIDED_NODE_IP
from hookrunner.cloud.nodes.node_labels import ZONE
from tests.cloud.node_samples import KUBELET_TAINT, NOT_READY_TAINT, new_node, node, projected
from tests.cloud.upstream_policies import UPSTREAM_INITIALIZATION
from tests.tables import each

SIM = CloudCapabilities("sim", ("sim://",), (Interface.INSTANCES,))
IP = NodeAddress("InternalIP", "10.0.0.1")
METADATA = InstanceMetadata("sim://a", "small", "zone-a", "region-1", (IP,))
RUNS = InstanceAnswer(InstanceState.RUNNING, METADATA)
DEFAULT = InitializationPolicy()


def decide(answer: Any, about: Any = None, policy: InitializationPolicy = DEFAULT) -> InitializationDecision:
    return decide_initialization(projected(about or new_node()), answer, SIM, policy)


def said(**changed: Any) -> InstanceAnswer:
    return InstanceAnswer(InstanceState.RUNNING, replace(METADATA, **changed))


def error(code: ErrorCode, seconds: float = 0.0) -> ProviderError:
    return ProviderError(code, "no", seconds)


@each("policy", [DEFAULT, UPSTREAM_INITIALIZATION], ids=["default", "upstream"])
def test_new_node_takes_over_its_machine_and_loses_the_taint(policy: InitializationPolicy) -> None:
    decision = decide(RUNS, policy=policy)
    assert decision == Initialize(METADATA)
    patch = node_patch(projected(new_node()), Initialize(METADATA), policy)
    assert len(patch["metadata"]["labels"]) == 6
    assert patch["spec"] == {"taints": [NOT_READY_TAINT], "providerID": "sim://a"}
    assert address_patch(projected(new_node()), METADATA, by_type=False) == {
        "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}
    }


@each(
    "taints, left",
    [
        ([KUBELET_TAINT | {"value": "x", "effect": "NoExecute"}], []),
        ([KUBELET_TAINT, NOT_READY_TAINT, KUBELET_TAINT | {"effect": "NoExecute"}], [NOT_READY_TAINT]),
        (
            [{"key": "b", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}, KUBELET_TAINT, NOT_READY_TAINT],
            [{"key": "b", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}, NOT_READY_TAINT],
        ),
    ],
)
def test_taints_of_others_keep_their_order(taints: list[Any], left: list[Any]) -> None:
    assert node_patch(projected(node(taints=taints)), Initialize(METADATA), DEFAULT)["spec"]["taints"] == left


def test_node_that_was_initialized_meanwhile_is_not_patched() -> None:
    assert node_patch(projected(node()), Initialize(METADATA), DEFAULT) is None


@each(
    "about, answer, upstream, provider_id",
    [
        (new_node(), RUNS, True, "sim://a"),
        (new_node(provider_id="sim://z"), RUNS, True, None),
        (new_node(provider_id="sim://z"), said(provider_id=""), True, None),
        (new_node(), said(provider_id="other://a"), True, "other://a"),
    ],
)
def test_provider_id_that_is_set_is_never_changed(
    about: Any, answer: InstanceAnswer, upstream: bool, provider_id: str | None
) -> None:
    decision = decide(answer, about, UPSTREAM_INITIALIZATION)
    assert isinstance(decision, Initialize) is upstream
    assert answer.metadata
    patch = node_patch(projected(about), Initialize(answer.metadata), DEFAULT)
    assert patch["spec"].get("providerID") == provider_id


def test_another_provider_id_than_the_nodes_is_a_warning() -> None:
    decision = decide(RUNS, new_node(provider_id="sim://z"))
    assert isinstance(decision, Initialize)
    assert decision.event
    assert decision.event.reason == "ProviderIDMismatch"


@each(
    "answer, seconds, reason",
    [
        (said(provider_id=""), None, "InstanceMetadataFailed"),
        (InstanceAnswer(InstanceState.RUNNING), None, "InstanceMetadataFailed"),
        (InstanceAnswer(InstanceState.NOT_FOUND), None, "InstanceMetadataFailed"),
        (InstanceAnswer(InstanceState.UNKNOWN, METADATA), None, "InstanceMetadataFailed"),
        (error(ErrorCode.UNAVAILABLE), None, "InstanceMetadataFailed"),
        (error(ErrorCode.NOT_FOUND), None, "InstanceMetadataFailed"),
        (error(ErrorCode.UNAUTHENTICATED), 60.0, "InstanceMetadataFailed"),
        (error(ErrorCode.PENDING, 42.0), 42.0, None),
        (error(ErrorCode.PENDING), None, None),
        (error(ErrorCode.THROTTLED, 30.0), 30.0, None),
        (said(provider_id="other://a"), None, "InvalidInstanceMetadata"),
        (said(zone="zone a"), None, "InvalidInstanceMetadata"),
        (said(addresses=(NodeAddress("InternalIP", "here"),)), None, "InvalidInstanceMetadata"),
    ],
)
def test_taint_stays_until_the_cloud_says_what_is_needed(
    answer: Any, seconds: float | None, reason: str | None
) -> None:
    decision = decide(answer)
    assert isinstance(decision, TryAgain)
    assert (decision.seconds, decision.event and decision.event.reason) == (seconds, reason)


def test_invalid_question_waits_for_a_change_of_the_node() -> None:
    assert isinstance(decide(error(ErrorCode.INVALID)), AwaitChange)


def test_skipped_node_is_left_alone() -> None:
    assert decide(InstanceAnswer(InstanceState.SKIP, METADATA, "bare metal")) == SkipNode("bare metal")


def test_provided_ip_that_the_machine_has_not_keeps_the_taint_in_both_modes() -> None:
    told = new_node(annotations={PROVIDED_NODE_IP: "10.0.0.9"})
    for answer in (RUNS, said(addresses=())):
        for policy in (DEFAULT, UPSTREAM_INITIALIZATION):
            assert isinstance(decide(answer, told, policy), TryAgain)


def test_addresses_are_waited_for_only_if_they_are_required() -> None:
    assert isinstance(decide(said(addresses=())), Initialize)
    assert isinstance(decide(said(addresses=()), policy=replace(DEFAULT, require_addresses=True)), TryAgain)


def test_empty_place_is_not_written_and_the_taint_goes() -> None:
    bare = InstanceMetadata("sim://a")
    assert decide(InstanceAnswer(InstanceState.RUNNING, bare)) == Initialize(bare)
    patch = node_patch(projected(new_node(labels={ZONE: "z"})), Initialize(bare), DEFAULT)
    assert patch == {"metadata": {}, "spec": {"taints": [NOT_READY_TAINT], "providerID": "sim://a"}}


def test_metadata_that_could_not_be_read_keeps_the_taint_in_both_modes() -> None:
    """The provider's texts are not in it any more: nothing could be written."""
    unusable = InstanceAnswer(
        InstanceState.RUNNING, InstanceMetadata(problems=("zone 'x ***' is no value of a label",))
    )
    for policy in (DEFAULT, UPSTREAM_INITIALIZATION):
        decision = decide(unusable, new_node(provider_id="sim://a"), policy)
        assert isinstance(decision, TryAgain)
        assert decision.problem == "zone 'x ***' is no value of a label: correct the provider"


def test_provider_id_with_codes_of_a_terminal_is_never_written() -> None:
    decision = decide(said(provider_id="sim://\x1b[2Ja"))
    assert isinstance(decision, TryAgain)
    assert r"providerID 'sim://\x1b[2Ja'" in decision.problem


def test_many_problems_are_named_in_part() -> None:
    decision = decide(said(additional_labels={f"a b {number}": "v" for number in range(9)}))
    assert isinstance(decision, TryAgain)
    assert decision.problem.endswith("; and 4 more: correct the provider")

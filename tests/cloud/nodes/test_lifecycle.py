"""Deletions and taints as a table: Nodes, answers and earlier claims on the left, what is done on the right.

Level: pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.cloud.answers import ErrorCode, InstanceAnswer, InstanceState, ProviderError
from hookrunner.cloud.nodes.cloud_node import SHUTDOWN, CloudNode
from hookrunner.cloud.nodes.lifecycle import (
    OUT_OF_SERVICE_TAINT,
    SHUTDOWN_TAINT,
    DeletionClaim,
    LifecycleDecision,
    LifecyclePolicy,
    PassTime,
    decide_lifecycle,
    note_failure,
    ready_patch,
    release_held,
    taint_patch,
)
from tests.cloud.node_samples import NOT_READY_TAINT, node, projected
from tests.cloud.upstream_policies import UPSTREAM_LIFECYCLE
from tests.tables import each

NOW = datetime(2026, 11, 23, tzinfo=UTC).timestamp()
GONE, RUNS, OFF = InstanceState.NOT_FOUND, InstanceState.RUNNING, InstanceState.SHUTDOWN
SKIPPED, UNSURE = InstanceState.SKIP, InstanceState.UNKNOWN
ERROR = ProviderError(ErrorCode.UNAVAILABLE, "down")
DEFAULT = LifecyclePolicy()
OFF_TAINT = {"key": SHUTDOWN, "effect": "NoSchedule"}
CONFIRMED = {f"uid-{name}": DeletionClaim(gone=2, since=1.0) for name in "abcdefghij"}


def sick(name: str = "a", ready: bool | None = False, **parts: Any) -> CloudNode:
    return projected(node(name, ready, f"sim://{name}", **parts))


def healthy(*names: str) -> list[CloudNode]:
    return [sick(name, ready=True) for name in names]


def decide(
    nodes: Sequence[CloudNode],
    said: dict[str, Any],
    claims: Any = None,
    policy: LifecyclePolicy = DEFAULT,
    now: float = NOW,
) -> LifecycleDecision:
    """`said`: by name, a state or an error."""
    answers = {
        f"uid-{name}": InstanceAnswer(state) if isinstance(state, InstanceState) else state
        for name, state in said.items()
    }
    time = PassTime(now, {node.uid: now - node.created_at for node in nodes})
    return decide_lifecycle(nodes, answers, CONFIRMED if claims is None else claims, time, policy)


def deleted(decision: LifecycleDecision) -> str:
    return "".join(one.name for one in decision.delete)


def obstacles(decision: LifecycleDecision) -> list[str]:
    return [candidate.obstacle for candidate in decision.candidates]


@pytest.mark.parametrize("policy", [DEFAULT, UPSTREAM_LIFECYCLE], ids=["default", "upstream"])
@pytest.mark.parametrize(
    ("ready", "state", "deletes", "taints"),
    [
        (True, GONE, False, False),
        (True, OFF, False, False),
        (False, GONE, True, False),
        (None, GONE, True, False),
        (False, OFF, False, True),
        (None, OFF, False, True),
        (False, RUNS, False, False),
        (False, SKIPPED, False, False),
        (False, UNSURE, False, False),
        (False, ERROR, False, False),
        (False, None, False, False),
    ],
)
def test_what_a_pass_does(
    ready: bool | None, state: InstanceState | None, deletes: bool, taints: bool, policy: LifecyclePolicy
) -> None:
    nodes = [sick("a", ready), *healthy("b", "c")]
    decision = decide(nodes, {"b": RUNS} | ({"a": state} if state else {}), policy=policy)
    assert (deleted(decision) == "a", bool(decision.taints)) == (deletes, taints)


def test_shutdown_taint_does_not_save_a_machine_that_is_gone() -> None:
    assert deleted(decide([sick(taints=[OFF_TAINT]), *healthy("b")], {"a": GONE, "b": RUNS})) == "a"


def test_only_answers_in_a_row_count() -> None:
    nodes = [sick(), *healthy("b")]
    claims: Any = {}
    history = [GONE, GONE, ERROR, GONE, GONE, RUNS, GONE, GONE, None, GONE, GONE, OFF, GONE, GONE, UNSURE, GONE, GONE]
    for state in history:
        decision = decide(nodes, {"a": state, "b": RUNS}, claims)
        claims = decision.claims
        assert not decision.delete
    assert obstacles(decision) == ["said to be gone 2 of 3 times in a row"]
    assert deleted(decide(nodes, {"a": GONE, "b": RUNS}, claims)) == "a"


def test_kubelet_that_reports_begins_the_count_anew() -> None:
    assert decide(healthy("a", "b"), {"a": GONE, "b": RUNS}).claims == {}


def test_claims_are_those_of_the_object_not_of_its_name() -> None:
    again = sick(uid="uid-2")
    decision = decide([again, *healthy("b")], {"2": GONE, "b": RUNS}, {"uid-a": DeletionClaim(gone=9)})
    assert (decision.delete, decision.claims["uid-2"].gone) == ((), 1)


def test_young_nodes_stay() -> None:
    young, ahead = sick(created="2026-11-22T23:58:00Z"), sick(created="2026-11-23T00:00:05Z")
    assert deleted(decide([ahead], {"a": GONE}, policy=UPSTREAM_LIFECYCLE)) == "a"
    assert obstacles(decide([young, *healthy("b")], {"a": GONE, "b": RUNS})) == ["younger than 300 s"]
    assert deleted(decide([young, *healthy("b")], {"a": GONE, "b": RUNS}, now=NOW + 180)) == "a"


@each("other, vouches", [(RUNS, True), (OFF, True), (SKIPPED, False), (UNSURE, False), (ERROR, False), (GONE, False)])
def test_another_machine_must_exist(other: Any, vouches: bool) -> None:
    decision = decide([sick(), *healthy("b")], {"a": GONE, "b": other}, policy=replace(DEFAULT, max_ratio=1.0))
    assert bool(decision.delete) is vouches
    assert vouches or obstacles(decision)[0] == "the cloud says of no Node that its machine exists"


def test_only_node_stays_by_default_and_goes_with_upstream() -> None:
    assert obstacles(decide([sick()], {"a": GONE})) == ["the cloud says of no Node that its machine exists"]
    assert deleted(decide([sick()], {"a": GONE}, policy=UPSTREAM_LIFECYCLE)) == "a"


def test_many_at_once_are_held_until_they_are_fewer() -> None:
    nodes = [*map(sick, "abcdefgh"), *healthy("i", "j")]
    said = dict.fromkeys("abcdefgh", GONE) | {"i": RUNS, "j": RUNS}
    held = decide(nodes, said)
    assert (held.delete, len(held.held)) == ((), 8)
    assert obstacles(held)[0] == "8 of 10 machines are said to be gone at once, at most 2 may"
    fewer = decide(nodes, said | dict.fromkeys("cdefgh", RUNS), held.claims)
    assert deleted(fewer) == "a"


def test_ready_nodes_that_are_said_to_be_gone_count_for_the_share() -> None:
    nodes = [sick(), *healthy(*"bcdefghij")]
    assert decide(nodes, {"a": GONE, "b": GONE, "c": GONE, "d": RUNS}).held == (nodes[0],)
    assert deleted(decide(nodes, {"a": GONE, "b": GONE, "d": RUNS})) == "a"


@each(
    "announced",
    [
        {"unschedulable": True},
        {"deleting": True},
        {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]},
        {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]},
    ],
)
def test_announced_nodes_count_neither_for_the_share_nor_for_the_pass(announced: Any) -> None:
    nodes = [*(sick(name, **announced) for name in "abcde"), *map(sick, "fg"), *healthy(*"hij")]
    decision = decide(nodes, dict.fromkeys("abcdefg", GONE) | {"h": RUNS})
    assert deleted(decision) == ("f" if "deleting" in announced else "abcdef")
    assert obstacles(decision)[-1] == "1 deleted in a pass, others come first"


def test_one_node_a_pass_the_oldest_claim_first() -> None:
    nodes = [*map(sick, "abc"), *healthy(*"defghijklmno")]
    claims = {
        "uid-a": DeletionClaim(2, since=3.0),
        "uid-b": DeletionClaim(2, since=1.0),
        "uid-c": DeletionClaim(2, since=2.0),
    }
    said = dict.fromkeys("abc", GONE) | {"d": RUNS}
    assert deleted(decide(nodes, said, claims)) == "b"
    assert deleted(decide(nodes, said, claims, replace(DEFAULT, max_per_pass=2))) == "bc"
    assert deleted(decide(nodes, said, claims, replace(DEFAULT, max_per_pass=0))) == "bca"
    assert deleted(decide(nodes, said, note_failure(claims, "uid-b"))) == "c"
    assert note_failure(claims, "uid-z") == claims


def test_release_lets_exactly_those_go_that_are_held() -> None:
    nodes = [*map(sick, "abcdefg"), *healthy("h", "i", "j")]
    claims = CONFIRMED | {"uid-g": DeletionClaim(gone=1)}
    every = replace(DEFAULT, max_per_pass=0)
    said = dict.fromkeys("abcdefg", GONE) | {"h": RUNS}
    released = release_held(decide(nodes, said, claims, every))
    now = decide(nodes, said | {"h": GONE, "i": GONE, "j": RUNS}, released.claims, every)
    assert deleted(now) == "abcdef"
    assert [candidate.node.name for candidate in now.candidates if candidate.is_held] == ["g"]
    back = decide(nodes, said | {"a": RUNS}, released.claims, every)
    assert back.claims.get("uid-a") is None


def test_node_that_is_being_deleted_is_not_deleted_again() -> None:
    assert decide([replace(sick(), is_deleting=True), *healthy("b")], {"a": GONE, "b": RUNS}).candidates == ()


def test_upstream_deletes_at_once_and_everything() -> None:
    nodes = [projected(node(name, ready=False)) for name in "abc"]
    assert deleted(decide(nodes, dict.fromkeys("abc", GONE), {}, UPSTREAM_LIFECYCLE)) == "abc"


def test_machine_that_is_off_for_long_is_out_of_service_if_asked_for() -> None:
    policy, nodes = replace(DEFAULT, out_of_service_taint=True), [sick()]
    decision = decide(nodes, {"a": OFF}, {}, policy)
    assert decision.taints == ((nodes[0], (SHUTDOWN_TAINT,)),)
    decision = decide(nodes, {"a": OFF}, {"uid-a": DeletionClaim(off=2)}, policy)
    assert decision.taints == ((nodes[0], (SHUTDOWN_TAINT, OUT_OF_SERVICE_TAINT)),)
    tainted = sick(taints=[SHUTDOWN_TAINT.document, OUT_OF_SERVICE_TAINT.document])
    assert decide([tainted], {"a": OFF}, {"uid-a": DeletionClaim(off=2)}, policy).taints == ()


@each(
    "taints, out_of_service, kept",
    [
        ([NOT_READY_TAINT, OFF_TAINT], False, [NOT_READY_TAINT]),
        ([OFF_TAINT | {"effect": "NoExecute"}], False, None),
        ([OUT_OF_SERVICE_TAINT.document], False, None),
        ([OUT_OF_SERVICE_TAINT.document, OFF_TAINT], True, []),
        ([NOT_READY_TAINT], True, None),
    ],
)
def test_ready_node_loses_our_taints_alone(taints: list[Any], out_of_service: bool, kept: list[Any] | None) -> None:
    policy = replace(DEFAULT, out_of_service_taint=out_of_service)
    assert ready_patch(sick(ready=True, taints=taints), policy) == (
        None if kept is None else {"spec": {"taints": kept}}
    )
    assert ready_patch(sick(taints=taints), policy) is None


def test_taint_is_added_after_those_of_others() -> None:
    patch = taint_patch(sick(taints=[NOT_READY_TAINT]), [SHUTDOWN_TAINT])
    assert patch == {"spec": {"taints": [NOT_READY_TAINT, OFF_TAINT]}}
    assert taint_patch(sick(ready=True), [SHUTDOWN_TAINT]) is None


STATES = st.sampled_from([GONE, GONE, GONE, RUNS, OFF, UNSURE, SKIPPED, ERROR, None])


@given(st.lists(st.lists(st.tuples(STATES, st.sampled_from([True, False, None])), min_size=4, max_size=4), max_size=12))
def test_node_of_which_the_cloud_has_not_said_so_three_times_in_a_row_is_never_deleted(
    history: list[list[tuple[Any, bool | None]]],
) -> None:
    claims: Any = {}
    in_a_row = dict.fromkeys("abcd", 0)
    for number, row in enumerate(history):
        nodes = [sick(name, ready) for name, (_, ready) in zip("abcd", row, strict=True)]
        said = {name: state for name, (state, _) in zip("abcd", row, strict=True)}
        in_a_row = {name: in_a_row[name] + 1 if state is GONE else 0 for name, state in said.items()}
        decision = decide(nodes, said, claims, replace(DEFAULT, max_per_pass=0, max_ratio=1.0))
        for victim in decision.delete:
            assert in_a_row[victim.name] >= 3
            assert not victim.ready
            assert RUNS in said.values() or OFF in said.values()
        claims = release_held(decision).claims if number % 2 else decision.claims

"""Sizes of ReplicaSets during a roll-out: whatever the state, no step breaks the strategy. Level: pure."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubesandbox.simulate.workloads import rollouts
from tests.tables import each

COUNTS = st.integers(0, 6)
SHARES = COUNTS | st.sampled_from(["0%", "25%", "50%", "100%"])


def replica_set(name: str, size: int, available: int) -> Any:
    status = {"replicas": size, "availableReplicas": min(size, available)}
    return {"metadata": {"name": name}, "spec": {"replicas": size}, "status": status}


@st.composite
def states(draw: st.DrawFn) -> tuple[Any, Any, list[Any]]:
    rolling = {"maxSurge": draw(SHARES), "maxUnavailable": draw(SHARES)}
    spec = {"replicas": draw(COUNTS), "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    old = [replica_set(f"old-{place}", draw(COUNTS), draw(COUNTS)) for place in range(draw(st.integers(0, 3)))]
    return {"spec": spec}, replica_set("new", draw(COUNTS), draw(COUNTS)), old


@given(states())
def test_no_step_makes_too_many_pods_or_takes_too_many_away(state: tuple[Any, Any, list[Any]]) -> None:
    deployment, new, old = state
    sets, wanted = [new, *old], deployment["spec"]["replicas"]
    sizes = rollouts.sizes(deployment, new, old, False, False)
    after = {one["metadata"]["name"]: sizes.get(one["metadata"]["name"], one["spec"]["replicas"]) for one in sets}
    before = sum(one["spec"]["replicas"] for one in sets)
    assert min(after.values()) >= 0
    assert sum(after.values()) <= max(before, wanted + rollouts.surge(deployment))
    least = wanted - rollouts.unavailable(deployment)
    taken = [(one["status"]["availableReplicas"], after[one["metadata"]["name"]]) for one in old]
    left = new["status"]["availableReplicas"] + sum(min(available, size) for available, size in taken)
    assert left >= min(least, sum(one["status"]["availableReplicas"] for one in sets))


@given(states())
def test_a_roll_out_comes_to_its_end(state: tuple[Any, Any, list[Any]]) -> None:
    deployment, new, old = state
    for _ in range(40):
        sizes = rollouts.sizes(deployment, new, old, False, False)
        new, *old = [
            replica_set(name := one["metadata"]["name"], size := sizes.get(name, one["spec"]["replicas"]), size)
            for one in (new, *old)
        ]
    assert new["spec"]["replicas"] == deployment["spec"]["replicas"]
    assert not any(one["spec"]["replicas"] for one in old)


@each(
    ("value", "whole", "up", "number"),
    [(2, 5, True, 2), ("25%", 3, True, 1), ("25%", 3, False, 0), ("100%", 3, False, 3)],
)
def test_percentages_are_rounded_up_for_surge_and_down_for_what_may_miss(
    value: Any, whole: int, up: bool, number: int
) -> None:
    assert rollouts.resolved(value, whole, up=up) == number

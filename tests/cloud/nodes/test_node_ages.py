"""Ages of Nodes while the wall clock is set. Level: pure."""

from datetime import UTC, datetime

from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.nodes.node_ages import NodeAges
from tests.cloud.node_samples import node, projected

HOUR = 3600.0
BEGAN = 1_790_000_000.0
"""Of the wall clock; that of the loop shows 0 then."""


def created(name: str, seconds: float) -> CloudNode:
    """A Node that was created so long after the beginning."""
    return projected(node(name, created=datetime.fromtimestamp(BEGAN + seconds, UTC).isoformat()))


def age(jump: float, at: float, *nodes: CloudNode, wrong: float = 0.0) -> list[float]:
    """Ages by a clock that was wrong at the beginning, and jumps a second later. Nodes are seen as they come."""
    ages = NodeAges(0.0, BEGAN + wrong)
    for second in range(1, int(at)):
        ages.of([one for one in nodes if one.created_at <= BEGAN + second], second, BEGAN + second + wrong + jump)
    return [*ages.of(nodes, at, BEGAN + at + wrong + jump).values()]


def test_age_is_that_of_the_wall_clock_while_it_is_not_set() -> None:
    assert age(0.0, 100.0, created("old", -500.0), created("new", 60.0)) == [600.0, 40.0]


def test_clock_set_forward_makes_no_node_older() -> None:
    assert age(5 * HOUR, 100.0, created("old", -500.0), created("new", 60.0)) == [600.0, 40.0]


def test_clock_set_back_delays_by_no_more_than_what_is_required() -> None:
    assert age(-5 * HOUR, 400.0, created("old", -500.0), created("new", 60.0)) == [399.0, 340.0]


def test_clock_that_was_wrong_at_the_beginning_and_is_corrected() -> None:
    assert age(-5 * HOUR, 400.0, created("new", 60.0), wrong=5 * HOUR) == [340.0]
    assert age(5 * HOUR, 400.0, created("new", 60.0), wrong=-5 * HOUR) == [340.0]


def test_node_that_is_deleted_is_forgotten() -> None:
    ages = NodeAges(0.0, BEGAN - HOUR)
    ages.of([created("a", 0.0)], 10.0, BEGAN - HOUR)
    assert ages.of([], 20.0, BEGAN - HOUR) == {}
    assert ages.of([created("a", 0.0)], 30.0, BEGAN - HOUR) == {"uid-a": 0.0}

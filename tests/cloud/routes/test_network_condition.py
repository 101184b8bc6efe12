"""When the condition of a Node is written, row by row as upstream, and that of a network plugin if it is left alone.

Level: pure."""

from hookrunner.cloud.nodes.cloud_node import NodeCondition
from hookrunner.cloud.routes.network_condition import ROUTED, UNROUTED, RoutedCondition, decide_condition
from tests.tables import each


@each(
    "live, is_routed, expected",
    [
        (None, True, ROUTED),
        (None, False, UNROUTED),
        (NodeCondition("False", "RouteCreated"), True, None),
        (NodeCondition("False", "CalicoIsUp"), True, ROUTED),
        (NodeCondition("False", "ExternalCNI"), True, ROUTED),
        (NodeCondition("True", "SomeOtherReason"), False, UNROUTED),
        (NodeCondition("False", "RouteCreated"), False, UNROUTED),
        (NodeCondition("True", "NoRouteCreated"), False, None),
    ],
)
def test_condition_that_upstream_lists(
    live: NodeCondition | None, is_routed: bool, expected: RoutedCondition | None
) -> None:
    assert decide_condition(live, is_routed, keeps_foreign=False) == expected


@each(
    "live, is_routed, expected",
    [
        (NodeCondition("False", "CalicoIsUp"), True, None),
        (NodeCondition("False", "CalicoIsUp"), False, None),
        (NodeCondition("True", "CalicoIsDown"), True, ROUTED),
        (NodeCondition("False", "RouteCreated"), False, UNROUTED),
        (None, True, ROUTED),
    ],
)
def test_condition_of_a_network_plugin_is_left_alone_where_that_is_on(
    live: NodeCondition | None, is_routed: bool, expected: RoutedCondition | None
) -> None:
    assert decide_condition(live, is_routed, keeps_foreign=True) == expected

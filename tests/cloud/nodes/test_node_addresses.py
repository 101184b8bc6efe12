"""Which addresses a Node gets. The rows about --node-ip are those of Kubernetes' own tests, written afresh.

Level: pure."""

from hookrunner.cloud.answers import NodeAddress
from hookrunner.cloud.nodes.node_addresses import (
    MOST_ADDRESSES,
    PROVIDED_NODE_IP,
    address_problem,
    choose_addresses,
    has_changed,
    invalid_addresses,
)
from tests.cloud.node_samples import node, projected
from tests.tables import each

HOST = ("Hostname", "a")


def inside(*ips: str) -> list[tuple[str, str]]:
    return [("InternalIP", ip) for ip in ips]


def outside(*ips: str) -> list[tuple[str, str]]:
    return [("ExternalIP", ip) for ip in ips]


def addresses(*pairs: tuple[str, str]) -> tuple[NodeAddress, ...]:
    return tuple(NodeAddress(*pair) for pair in pairs)


V6, LONG_V6, OTHER_V6 = "fc01:1234::5678", "fc01:1234:0:0:0:0:0:5678", "fc01:1234::1234"


@each(
    "provided, offered, chosen",
    [
        ("10.1.1.1", inside("10.1.1.1"), inside("10.1.1.1")),
        ("55.5.5.5", [*inside("10.1.1.1"), *outside("55.5.5.5")], [*outside("55.5.5.5"), *inside("10.1.1.1")]),
        (
            "55.5.5.5",
            [*inside("44.4.4.4"), *outside("44.4.4.4"), *inside("55.5.5.5"), *outside("55.5.5.5")],
            [*inside("55.5.5.5"), *outside("55.5.5.5")],
        ),
        (
            "10.1.1.1",
            [*inside("10.1.1.1"), *outside("55.5.5.5"), ("InternalDNS", "i.x"), ("ExternalDNS", "e.x")],
            [*inside("10.1.1.1"), *outside("55.5.5.5"), ("InternalDNS", "i.x"), ("ExternalDNS", "e.x")],
        ),
        (
            "10.1.1.1",
            [*inside("10.1.1.1", "10.2.2.2", "10.3.3.3"), *outside("55.5.5.5")],
            [*inside("10.1.1.1"), *outside("55.5.5.5")],
        ),
        ("10.2.2.2", [*inside("10.1.1.1"), *outside("55.5.5.5")], None),
        (V6, inside("10.1.1.1", LONG_V6), inside(LONG_V6)),
        (f"10.1.1.1,{V6}", inside("10.1.1.1"), None),
        (f"10.1.1.1,{V6}", inside("10.1.1.1", V6), inside("10.1.1.1", V6)),
        (f"10.1.1.1,{V6}", inside(V6, "10.1.1.1"), inside("10.1.1.1", V6)),
        (f"10.1.1.1,{V6}", inside("10.1.1.1", "10.1.1.2", OTHER_V6, V6), inside("10.1.1.1", V6)),
        (
            f"10.1.1.1,{V6}",
            [*inside("10.1.1.1"), *outside("55.5.5.5"), *inside(OTHER_V6, V6)],
            [*inside("10.1.1.1", V6), *outside("55.5.5.5")],
        ),
        (
            f"{V6},10.1.1.1",
            [*inside("10.1.1.1"), *outside("55.5.5.5"), *inside(V6), *outside("2001:db8::1")],
            [*inside(V6, "10.1.1.1"), *outside("55.5.5.5", "2001:db8::1")],
        ),
        (
            f"55.5.5.5,{V6}",
            [*inside("10.1.1.1"), *outside("55.5.5.5"), *inside(V6), *outside("2001:db8::1")],
            [*outside("55.5.5.5"), *inside(V6)],
        ),
        ("10.1.1.1", [], None),
        ("10.1.1.1,10.1.1.2", inside("10.1.1.1", "10.1.1.2"), None),
        ("", inside("10.1.1.1"), None),
        ("here", inside("10.1.1.1"), None),
        (f"10.1.1.1,{V6},10.1.1.2", inside("10.1.1.1", "10.1.1.2", V6), None),
    ],
)
def test_address_of_the_kubelet_comes_first_and_is_the_only_one_of_its_type(
    provided: str, offered: list[tuple[str, str]], chosen: list[tuple[str, str]] | None
) -> None:
    kubelet, offer = projected(node(annotations={PROVIDED_NODE_IP: provided})), addresses(*offered, HOST)
    offer = offer if offered else ()
    assert bool(address_problem(kubelet, offer)) is (chosen is None)
    if chosen is not None:
        assert choose_addresses(kubelet, offer) == addresses(*chosen, HOST)


@each(
    "live, offered, chosen",
    [
        ([HOST], inside("10.0.0.1"), [*inside("10.0.0.1"), HOST]),
        ([HOST], [("Hostname", "b"), *inside("10.0.0.1")], [("Hostname", "b"), *inside("10.0.0.1")]),
        ([*inside("10.0.0.9"), HOST], [], [*inside("10.0.0.9"), HOST]),
        (inside("10.0.0.9"), inside("10.0.0.1", "10.0.0.2"), inside("10.0.0.1", "10.0.0.2")),
        ([], inside("10.0.0.1", "10.0.0.1"), inside("10.0.0.1")),
    ],
)
def test_host_name_of_the_kubelet_is_kept_if_the_cloud_has_none(
    live: list[tuple[str, str]], offered: list[tuple[str, str]], chosen: list[tuple[str, str]]
) -> None:
    assert choose_addresses(projected(node(addresses=live)), addresses(*offered)) == addresses(*chosen)


@each(
    "live, wanted, changed, changed_by_type",
    [
        (inside("1.1.1.1"), inside("1.1.1.1"), False, False),
        (inside("1.1.1.1"), inside("1.1.1.2"), True, True),
        (inside("1.1.1.1"), [*inside("1.1.1.1"), HOST], True, True),
        ([HOST, *inside("1.1.1.1")], [*inside("1.1.1.1"), HOST], True, False),
        (inside("1.1.1.1", "1.1.1.2"), inside("1.1.1.1", "1.1.1.2"), False, True),
        ([*inside("1.1.1.1"), HOST], inside("1.1.1.1", "1.1.1.1"), True, False),
    ],
)
def test_order_and_doubled_types_are_noticed_and_upstream_compares_by_type(
    live: list[tuple[str, str]], wanted: list[tuple[str, str]], changed: bool, changed_by_type: bool
) -> None:
    compared = addresses(*live), addresses(*wanted)
    assert (has_changed(*compared, by_type=False), has_changed(*compared, by_type=True)) == (changed, changed_by_type)


@each(
    "offered, problem",
    [
        (inside("10.0.0.1") + outside("2001:db8::1"), ""),
        ([HOST, ("InternalDNS", "a.b"), ("ExternalDNS", "x.y."), ("Hostname", "10.0.0.1")], ""),
        (inside("10.0.0"), "address '10.0.0' of type 'InternalIP' is no IP address"),
        (outside("worker"), "address 'worker' of type 'ExternalIP' is no IP address"),
        ([("Hostname", "a b")], "address 'a b' of type 'Hostname' is no host name"),
        ([("InternalDNS", "")], "address '' of type 'InternalDNS' is no host name"),
        ([("Public", "1.1.1.1")], "address '1.1.1.1' of type 'Public': types are ExternalDNS, ExternalIP, Hostname"),
        (inside(*("10.0.0.1",) * 300), f"300 addresses, at most {MOST_ADDRESSES} are written"),
    ],
)
def test_addresses_that_are_none_are_found(offered: list[tuple[str, str]], problem: str) -> None:
    found = "; ".join(invalid_addresses(addresses(*offered)))
    assert found.startswith(problem) if problem else not found

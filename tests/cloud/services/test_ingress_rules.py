"""Addresses of load balancers: completed as the API server does, and checked before they are written. Level: pure."""

from hookrunner.cloud.answers import Ingress
from hookrunner.cloud.services.ingress_rules import complete_ingress, find_ingress_problem, to_documents
from tests.tables import each

PORT = {"port": 80, "protocol": "TCP"}


@each(
    "entry",
    [
        Ingress(ip="192.0.2.1"),
        Ingress(ip="2001:db8::1", ip_mode="Proxy"),
        Ingress(hostname="lb.example.com"),
        Ingress(ip="192.0.2.1", hostname="lb.example.com"),
        Ingress(ip="192.0.2.1", ports=(PORT, {"port": 53, "protocol": "UDP", "error": "NoQuota"})),
    ],
)
def test_good_entries(entry: Ingress) -> None:
    assert find_ingress_problem(complete_ingress([entry])) == ""


@each(
    "entry, problem",
    [
        (Ingress(), "neither an ip nor a hostname"),
        (Ingress(ip="192.0.2.300"), "no IP address"),
        (Ingress(ip="fe80::1%eth0"), "no IP address"),
        (Ingress(ip="lb.example.com"), "no IP address"),
        (Ingress(hostname="192.0.2.1"), "no DNS name"),
        (Ingress(hostname="LB.example.com"), "no DNS name"),
        (Ingress(hostname="-lb"), "no DNS name"),
        (Ingress(hostname="a" * 254), "no DNS name"),
        (Ingress(hostname="lb.example.com", ip_mode="VIP"), "needs an ip"),
        (Ingress(ip="192.0.2.1", ip_mode="vip"), "neither of VIP and Proxy"),
        (Ingress(ip="192.0.2.1", ports=({"port": 0, "protocol": "TCP"},)), "needs a port"),
        (Ingress(ip="192.0.2.1", ports=({"port": True, "protocol": "TCP"},)), "needs a port"),
        (Ingress(ip="192.0.2.1", ports=({"port": 80},)), "needs a port"),
        (Ingress(ip="192.0.2.1", ports=("80",)), "needs a port"),
    ],
)
def test_bad_entries_are_named(entry: Ingress, problem: str) -> None:
    text = find_ingress_problem([Ingress(ip="192.0.2.1"), entry])
    assert text.startswith("ingress[1]: ")
    assert problem in text


def test_missing_mode_is_completed_only_beside_an_ip() -> None:
    given = [Ingress(ip="192.0.2.1"), Ingress(ip="192.0.2.2", ip_mode="Proxy"), Ingress(hostname="lb.example.com")]
    assert [entry.ip_mode for entry in complete_ingress(given)] == ["VIP", "Proxy", ""]


def test_documents_leave_out_what_is_empty() -> None:
    entries = (Ingress(ip="192.0.2.1", ip_mode="VIP", ports=(PORT,)), Ingress(hostname="lb.example.com"))
    assert to_documents(entries) == [
        {"ip": "192.0.2.1", "ipMode": "VIP", "ports": [PORT]},
        {"hostname": "lb.example.com"},
    ]

"""What hooks of addons read of a cluster, from snapshots as their filters leave them.

More, by the cases of the addons that use it: addons/*/hooks/*.test.yaml. Level: pure."""

import json
from contextlib import nullcontext
from typing import Any

import pytest

from hookrunner.hooks.config.hook_config import parse
from hookrunner.sdk import Hook, HookFailed, Snapshot
from hookrunner.sdk.answers import Conditions
from hookrunner.sdk.cluster_facts import SOURCES, ClusterCIDR, ClusterFacts, host_and_port, line_of, server_of, watch


def facts(**results: Any) -> ClusterFacts:
    given = {source: results.get(source, []) for source in SOURCES}
    snapshots = {name: Snapshot([{"filterResult": result} for result in some]) for name, some in given.items()}
    return ClusterFacts(snapshots, advice="set spec.dnsIP")


def service(name: str, address: str) -> dict[str, str]:
    return {"name": name, "ip": address}


def test_each_source_is_a_binding_that_runs_with_its_group() -> None:
    hook = Hook()
    watch(hook, "cluster", *SOURCES)
    hook.group("cluster")(lambda: None)
    bindings = parse("h.py", json.dumps(hook.config).encode()).kubernetes
    assert [binding.name for binding in bindings] == [*SOURCES]
    assert {binding.group for binding in bindings} == {"cluster"}


def test_a_cluster_that_shows_nothing_has_empty_facts() -> None:
    empty = facts()
    assert [empty.domain, empty.dns_address, empty.proxy_mode, empty.api_server, empty.cluster_cidr(None).text] == [
        ""
    ] * 5


@pytest.mark.parametrize(
    ("results", "address"),
    [
        ({"services": [service("kube-system/kube-dns", "10.96.0.77")]}, "10.96.0.77"),
        ({"kubelets": ["clusterDNS:\n- 169.254.20.10\n- 10.99.0.53\n"]}, "10.99.0.53"),
        ({"services": [service("default/kubernetes", "10.96.0.250")]}, "10.96.1.3"),
    ],
)
def test_the_dns_address_is_that_of_its_service_or_what_it_should_be(results: Any, address: str) -> None:
    assert facts(**results).dns_address == address


@pytest.mark.parametrize(
    ("name", "address", "message"),
    [
        ("kube-system/kube-dns", "None", "clusterIP 'None', which is no address: set spec.dnsIP"),
        ("default/kubernetes", "255.255.255.250", "no tenth Service address .*: set spec.dnsIP"),
    ],
)
def test_an_address_that_cannot_be_used_is_an_error_with_advice(name: str, address: str, message: str) -> None:
    with pytest.raises(HookFailed, match=message):
        _ = facts(services=[service(name, address)]).dns_address


@pytest.mark.parametrize(
    ("results", "server"),
    [
        ({"info": ["clusters:\n- cluster:\n    server: https://a:1\n"]}, "https://a:1"),
        ({"kubeadm": ["controlPlaneEndpoint: cp.example.com\n"]}, "https://cp.example.com:6443"),
        ({"endpoints": [{"addresses": ["fd00::2", "fd00::1"], "port": 6443}]}, "https://[fd00::1]:6443"),
    ],
)
def test_the_api_server_is_what_the_best_source_names(results: Any, server: str) -> None:
    assert facts(**results).api_server == server


NETWORKING = "networking:\n  podSubnet: 10.8.0.0/16\n  serviceSubnet: 10.96.0.0/12\n"
KUBEADM = {"kubeadm": [f"controlPlaneEndpoint: cp\n{NETWORKING}"]}
NODES = {"nodes": [["10.7.3.0/24", "fd00:0:0:7::/64"], ["10.7.130.0/24"], []]}
CLUSTER_API = ("10.9.0.0/16", "ClusterAPI")


def cluster(host: str, *ranges: str) -> dict[str, Any]:
    return {"host": host, "port": 6443, "ranges": list(ranges)}


@pytest.mark.parametrize(
    ("own", "results", "expected"),
    [
        ("10.1.0.0/16", KUBEADM, ("10.1.0.0/16", "Spec")),
        ("", {**KUBEADM, "clusters": [cluster("x", "10.2.0.0/16"), cluster("cp", "10.9.0.0/16")]}, CLUSTER_API),
        ("", {"clusters": [cluster("x", "10.9.0.0/16", "fd00::/48")]}, ("10.9.0.0/16,fd00::/48", "ClusterAPI")),
        ("", {"clusters": [cluster("x", "10.2.0.0/16"), cluster("y", "10.9.0.0/16")]}, ("", "NotFound")),
        ("", {**KUBEADM, **NODES, "clusters": [cluster("x", "10.2.0.0/16")]}, ("10.8.0.0/16", "Kubeadm")),
        ("", NODES, ("10.7.0.0/16,fd00::/56", "Nodes")),
        ("", {"nodes": [["10.7.255.0/24"], ["10.8.0.0/24"]]}, ("10.0.0.0/12", "Nodes")),
    ],
)  # fmt: skip
def test_the_addresses_of_pods_are_those_of_the_best_source(own: str, results: Any, expected: tuple[str, str]) -> None:
    assert facts(**results).cluster_cidr(own) == expected


def test_a_default_is_used_without_any_source_and_the_source_is_reported() -> None:
    cidr = facts().cluster_cidr(None, default="10.244.0.0/16")
    conditions = Conditions()
    cidr.report(conditions)
    assert (cidr.source, conditions.reports[0]["reason"]) == ("Default", "Default")
    assert conditions.reports[0]["message"].startswith("10.244.0.0/16, ")
    ClusterCIDR("", "NotFound").report(conditions)
    assert conditions.reports[1]["status"] == "Unknown"


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ("fd00::/48,10.100.0.0/16", r"10.100.0.0/16 overlap those of Services \(10.96.0.0/12\): set spec.podCIDR"),
        ("10.200.0.0/16", r"10.200.0.0/16 overlap those of Services \(10.200.0.1\)"),
        ("10.1.0.0", ""),
        ("pods", "spec.podCIDR: 'pods' is no range"),
        ("10.1.0.0/16,10.2.0.0/16", "spec.podCIDR: .* has two ranges of IPv4"),
    ],
)
def test_addresses_of_pods_that_services_have_are_refused(ranges: str, message: str) -> None:
    given = facts(**KUBEADM, services=[service("default/kubernetes", "10.200.0.1")])
    with pytest.raises(HookFailed, match=message) if message else nullcontext():
        given.refuse_overlap("podCIDR", ranges)


def test_an_api_server_of_a_spec_is_a_url_and_back() -> None:
    for own in ({"host": "fd00::1", "port": 443}, {"host": "cp.example.com", "port": 6443}):
        assert host_and_port(server_of(own)) == own
    assert [server_of(None), server_of({"port": 1}), host_and_port("http://a")] == ["", "", {}]


def test_a_line_counts_at_the_top_unless_it_may_be_nested() -> None:
    text = "a:\n  mode: inner\nmode: 'outer'  # comment\n"
    assert line_of("mode", text) == "outer"
    assert line_of("mode", text, nested=True) == "inner"
    assert line_of("missing", text) == ""

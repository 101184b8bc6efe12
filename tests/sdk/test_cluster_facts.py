"""What hooks of addons read of a cluster, from snapshots as their filters leave them.

More, by the cases of the addons that use it: addons/*/hooks/*.test.yaml. Level: pure."""

import json
from typing import Any

import pytest

from hookrunner.hooks.config.hook_config import parse
from hookrunner.sdk import Hook, HookFailed, Snapshot
from hookrunner.sdk.cluster_facts import SOURCES, ClusterFacts, line_of, watch


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
    assert [empty.domain, empty.dns_address, empty.proxy_mode, empty.pod_subnet, empty.api_server] == [""] * 5


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


def test_a_line_counts_at_the_top_unless_it_may_be_nested() -> None:
    text = "a:\n  mode: inner\nmode: 'outer'  # comment\n"
    assert line_of("mode", text) == "outer"
    assert line_of("mode", text, nested=True) == "inner"
    assert line_of("missing", text) == ""

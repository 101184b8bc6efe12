"""Charts of modules that shipped until 0.3.0 are recognised in release records, and only they. Level: pure."""

from typing import Any

from hookrunner.modules.retired_modules import advise, find_successor
from tests.tables import each

CHARTS = {
    "CloudControllerManager": {
        "name": "cloud-controller-manager",
        "description": "Nodes, load balancers and routes of a cloud that answers through an executable",
        "appVersion": "0.3.0",
    },
    "CoreDNS": {
        "name": "coredns",
        "home": "https://coredns.io",
        "description": "Names of Services and Pods, for everything that runs in the cluster",
        "appVersion": "1.14.6",
    },
    "Dashboard": {
        "name": "kubernetes-dashboard",
        "home": "https://github.com/kubernetes-retired/dashboard",
        "description": "The cluster in a browser",
        "appVersion": "7.14.0",
    },
    "IngressNginx": {
        "name": "ingress-nginx",
        "home": "https://kubernetes.github.io/ingress-nginx",
        "description": "Lets HTTP in from outside, as Ingress objects say",
        "appVersion": "1.15.1",
    },
    "MetricsServer": {
        "name": "metrics-server",
        "home": "https://github.com/kubernetes-sigs/metrics-server",
        "description": "CPU and memory of nodes and pods, for kubectl top and autoscaling",
        "appVersion": "0.8.1",
    },
    "NodeLocalDNS": {
        "name": "node-local-dns",
        "home": "https://github.com/kubernetes-sigs/node-local-dns",
        "description": "A cache for names on each node",
        "appVersion": "1.26.8",
    },
}
"""The metadata that their releases record, by the kind of the addon."""
SAME = {"apiVersion": "v2", "type": "application", "version": "1.0.0"}


@each("kind", CHARTS)
def test_each_chart_that_shipped_leads_to_its_addon(kind: str) -> None:
    assert find_successor({**SAME, **CHARTS[kind]}) == kind


@each(
    "other",
    [
        {"name": "dns"},
        {"version": "1.0.1"},
        {"version": "1.43.0", "description": "CoreDNS is a DNS server that chains plugins"},  # the project's own chart
        {"home": ""},
        {"description": "our DNS"},
    ],
)
def test_charts_of_others_are_not_recognised_by_their_name(other: dict[str, Any]) -> None:
    assert find_successor({**SAME, **CHARTS["CoreDNS"], **other}) == ""
    assert find_successor({"name": "coredns", "version": "0.1.0"}) == ""
    assert find_successor({}) == ""


def test_advice_has_the_command_the_kind_and_the_page() -> None:
    advice = advise("dns", "kube-system", "CoreDNS")
    command = "kubectl delete secret,configmap -n kube-system -l owner=helm,name=dns"
    assert f"{command}, then apply an instance of CoreDNS" in advice
    assert "docs/retired-modules.md" in advice

"""The modules that shipped until 0.3.0 and are addons now, as their charts stand in release records.

Their directories are no longer there after an update, which must not take DNS or load balancers away from a cluster. A
chart counts by its whole description of itself: a user's own module, or a chart of the project, may have the same name.
"""

from typing import NamedTuple

from kubetypes.json_values import JSON

PAGE = "docs/retired-modules.md"
_VERSION = "1.0.0"


class _Retired(NamedTuple):
    """What `Chart.yaml` had beside name and version, `home` being empty if it had none, and the kind of the addon."""

    home: str
    description: str
    kind: str


_RETIRED = {
    "cloud-controller-manager": _Retired(
        "", "Nodes, load balancers and routes of a cloud that answers through an executable", "CloudControllerManager"
    ),
    "coredns": _Retired(
        "https://coredns.io", "Names of Services and Pods, for everything that runs in the cluster", "CoreDNS"
    ),
    "ingress-nginx": _Retired(
        "https://kubernetes.github.io/ingress-nginx",
        "Lets HTTP in from outside, as Ingress objects say",
        "IngressNginx",
    ),
    "kubernetes-dashboard": _Retired(
        "https://github.com/kubernetes-retired/dashboard", "The cluster in a browser", "Dashboard"
    ),
    "metrics-server": _Retired(
        "https://github.com/kubernetes-sigs/metrics-server",
        "CPU and memory of nodes and pods, for kubectl top and autoscaling",
        "MetricsServer",
    ),
    "node-local-dns": _Retired(
        "https://github.com/kubernetes-sigs/node-local-dns", "A cache for names on each node", "NodeLocalDNS"
    ),
}


def find_successor(chart: JSON) -> str:
    """The kind of the addon that follows a module, by the metadata of its chart in a release record; empty for any
    chart but those of these modules."""
    retired = _RETIRED.get(str(chart.get("name")))
    if retired is None or chart.get("version") != _VERSION:
        return ""
    described = chart.get("home") or "", chart.get("description")
    return retired.kind if described == (retired.home, retired.description) else ""


def advise(name: str, namespace: str, kind: str) -> str:
    """What a user does about a release of a retired module, in a sentence."""
    records = f"kubectl delete secret,configmap -n {namespace} -l owner=helm,name={name}"
    return (
        f"release {namespace}/{name} is left alone: its module no longer ships and is the addon {kind} now; to hand "
        f"its objects over: {records}, then apply an instance of {kind} with spec.adopt: true; see {PAGE}"
    )

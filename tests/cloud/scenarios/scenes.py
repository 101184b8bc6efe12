"""What happens to Nodes and Services, one scene each: those in which hookrunner behaves as Kubernetes' own manager
does. All take place at the same time, in one cluster.

A name begins with what it is about: n initialisation of a Node, l its life afterwards, r routes, s Services.
"""

from typing import Any

from tests.cloud.scenarios.documents import SHUTDOWN, UNINITIALIZED, Document, node
from tests.cloud.scenarios.world import Scene, Step

EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
PROVIDED = "alpha.kubernetes.io/provided-node-ip"
NOT_READY: Document = {"conditions": [{"type": "Ready", "status": "False", "reason": "Test"}]}
READY: Document = {"conditions": [{"type": "Ready", "status": "True", "reason": "Test"}]}
OTHER_TAINT = {"key": "example.com/dedicated", "value": "db", "effect": "NoExecute"}
HOSTNAME = {"type": "Hostname", "address": "own-name"}
DUAL = [
    {"type": "InternalIP", "address": "10.240.0.8"},
    {"type": "InternalIP", "address": "2001:db8::8"},
    {"type": "ExternalIP", "address": "198.19.0.8"},
]


def initialized(name: str, **rest: Any) -> Document:
    """A Node without the kubelet's taint, of an instance of this cloud unless it is said otherwise."""
    return node(name, **({"taints": (), "providerID": f"simcloud://i-{name}"} | rest))


def _provided(name: str, addresses: str, **rest: Any) -> Document:
    return node(name, annotations={PROVIDED: addresses}, **rest)


INITIALIZATION = (
    Scene("n1-all", node("n1-all", taints=(OTHER_TAINT, UNINITIALIZED))),
    Scene("n2-no-taint", node("n2-no-taint", taints=())),
    Scene(
        "n3-other-effect",
        node("n3-other-effect", taints=({**UNINITIALIZED, "effect": "NoExecute"}, {**UNINITIALIZED, "value": "x"})),
    ),
    Scene("n4-hostname-kept", node("n4-hostname-kept", addresses=[HOSTNAME])),
    Scene(
        "n5-hostname-of-cloud",
        node("n5-hostname-of-cloud", addresses=[HOSTNAME]),
        instance={"addresses": [{"type": "Hostname", "address": "cloud-name"}]},
    ),
    Scene("n6-provided", _provided("n6-provided", "10.240.0.8"), instance={"addresses": DUAL}),
    Scene("n7-provided-wrong", _provided("n7-provided-wrong", "10.240.9.9"), instance={"addresses": DUAL}),
    Scene("n8-pair", _provided("n8-pair", "10.240.0.8,2001:db8::9"), instance={"addresses": DUAL}),
    Scene("n8-whole-pair", _provided("n8-whole-pair", "10.240.0.8,2001:db8::8"), instance={"addresses": DUAL}),
    Scene("n9-spelling", _provided("n9-spelling", "2001:0db8:0::0008"), instance={"addresses": DUAL}),
    Scene("n10-no-addresses", _provided("n10-no-addresses", "10.240.0.8"), instance={"addresses": []}),
    Scene("n10-no-wish", node("n10-no-wish"), instance={"addresses": []}),
    Scene(
        "n11-id-kept",
        node("n11-id-kept", providerID="simcloud://i-n11-id-kept"),
        instance={"providerID": "simcloud://other"},
    ),
    Scene("n12-no-id", node("n12-no-id"), instance={"providerID": ""}),
    Scene("n13-error", node("n13-error"), instance={"state": "unknown"}),
    Scene("n14-skip", node("n14-skip"), instance={"state": "skip"}),
    Scene(
        "n15-labels",
        node("n15-labels", labels={"example.com/kept": "mine"}),
        instance={
            "labels": {
                "topology.kubernetes.io/rack": "1",
                "topology.k8s.io/rack": "1",
                "kubernetes.io/rack": "1",
                "k8s.io/rack": "1",
                "app.k8snio/bar": "1",
                "k8snio/bar": "1",
                "example.com/kept": "theirs",
                "example.com/new": "1",
            }
        },
    ),
    Scene("n16-empty", node("n16-empty"), instance={"zone": "", "region": "", "type": ""}),
    Scene(
        "n17-beta",
        initialized("n17-beta", labels={"failure-domain.beta.kubernetes.io/zone": "beta"}),
        steps=(Step(spec={"metadata": {"labels": {"topology.kubernetes.io/zone": "edited"}}}),),
    ),
    Scene("n17-only-ga", initialized("n17-only-ga", labels={"topology.kubernetes.io/zone": "own"})),
    Scene(
        "n18-addresses",
        initialized("n18-addresses"),
        steps=(
            Step(instance={"addresses": [{"type": "InternalIP", "address": "10.240.0.99"}]}),
            Step(instance={"addresses": []}),
        ),
    ),
    Scene("n13-gone", node("n13-gone", providerID="simcloud://i-unknown"), instance=None),
)

LIFECYCLE = (
    Scene("l1-gone", initialized("l1-gone"), steps=(Step(status=NOT_READY, instance=None),)),
    Scene(
        "l2-shut-down",
        initialized("l2-shut-down"),
        steps=(
            Step(status=NOT_READY, instance={"state": "shutdown"}),
            Step(status=READY, instance={"state": "running"}),
        ),
    ),
    Scene("l3-running", initialized("l3-running"), steps=(Step(status=NOT_READY),)),
    Scene("l4-unknown", initialized("l4-unknown"), steps=(Step(status=NOT_READY, instance={"state": "unknown"}),)),
    Scene("l5-no-condition", initialized("l5-no-condition", ready=None), instance={"state": "shutdown"}),
    Scene("l6-never-ready", initialized("l6-never-ready", ready="Unknown"), instance=None),
    Scene("l7-ready", initialized("l7-ready"), steps=(Step(instance=None),)),
    Scene("l8-ready-again", initialized("l8-ready-again", taints=(SHUTDOWN, OTHER_TAINT))),
    Scene("l9-not-ready-yet", initialized("l9-not-ready-yet", ready="False", taints=(SHUTDOWN,))),
    Scene("l11-tainted", initialized("l11-tainted", ready="False", taints=(SHUTDOWN,)), instance=None),
)


def service(name: str, **spec: Any) -> Document:
    """A Service of type LoadBalancer, unless it is said otherwise."""
    wanted = {"type": "LoadBalancer", "ports": [{"port": 80, "name": "http"}]}
    return {"metadata": {"name": name}, "spec": wanted | spec}


def _failing(verb: str, what: str, **rest: Any) -> tuple[Document]:
    return ({"verb": verb, "what": what, **rest},)


_FAULTS = ("Unavailable", "no-entries", "forget", "double", "odd-state")


def _broken(what: str, name: str, taints: tuple[Document, ...], change: Document | None) -> Scene:
    """A Node whose machine changes while the cloud's answers about it are broken, which ends afterwards."""
    steps = (Step(status=NOT_READY, instance=change, faults=_failing("instances", what)), Step())
    return Scene(name, initialized(name, taints=taints, ready="False"), steps=steps)


BROKEN_CLOUD = (
    *(_broken(what, f"l12-gone-{what.lower()}", (), None) for what in _FAULTS),
    *(_broken(what, f"l12-tainted-{what}", (SHUTDOWN,), None) for what in ("forget", "odd-state")),
    _broken("double", "l12-off-double", (), {"state": "shutdown"}),
)
"""Nothing is deleted and nothing tainted because of answers that cannot be used."""
BROKEN_PROCESSES = tuple(
    _broken(what, f"l12-gone-{what}", (), None) for what in ("garbage", "exit", "other-request", "other-version")
)
"""The same of a process that breaks, or answers what was not asked. One that serves takes the calls beside it along."""

FINALIZER = "service.kubernetes.io/load-balancer-cleanup"


def _with_finalizer(body: Document) -> Document:
    return {**body, "metadata": {**body["metadata"], "finalizers": [FINALIZER]}}


SERVICES = (
    Scene("s1-tcp", service=service("s1-tcp")),
    Scene("s1-udp", service=service("s1-udp", ports=[{"port": 53, "protocol": "UDP"}])),
    Scene("s3-class", service=service("s3-class", loadBalancerClass="example.com/other")),
    Scene("s4-cluster-ip", service=service("s4-cluster-ip", type="ClusterIP")),
    Scene(
        "s5-changed-away",
        service=service("s5-changed-away"),
        steps=(Step(spec={"spec": {"type": "ClusterIP"}}), Step(spec={"spec": {"type": "LoadBalancer"}})),
    ),
    Scene("s6-deleted", service=service("s6-deleted"), steps=(Step(spec=None),)),
    Scene(
        "s9-ports",
        service=service("s9-ports"),
        steps=(Step(spec={"spec": {"ports": [{"port": 81, "name": "http"}, {"port": 82, "name": "more"}]}}),),
    ),
    Scene("s1-sctp", service=service("s1-sctp", ports=[{"port": 9, "protocol": "SCTP"}])),
    Scene("s2-finalizer", service=_with_finalizer(service("s2-finalizer"))),
    Scene("s7-nothing", service=_with_finalizer(service("s7-nothing", type="ClusterIP"))),
    # Two whose attempts fail until the end: they are tried again after seconds, and that is not waited for.
    Scene(
        "s8-kept",
        service=service("s8-kept"),
        steps=(Step(), Step(spec=None, faults=_failing("lb-delete", "Unavailable"))),
    ),
    Scene(
        "s14-no-status",
        service=service("s14-no-status", type="ClusterIP"),
        steps=(
            Step(),
            Step(spec={"spec": {"type": "LoadBalancer"}}, faults=_failing("lb-ensure", "result-of-another-shape")),
        ),
    ),
    Scene(
        "s11-pending",
        service=service("s11-pending"),
        faults=_failing("lb-ensure", "Pending", retryAfter=0.3, times=1),
    ),
    Scene(
        "s13-elsewhere",
        service=service("s13-elsewhere"),
        faults=_failing("lb-ensure", "ImplementedElsewhere"),
        steps=(Step(spec=None),),
    ),
    Scene("s14-refused", service=service("s14-refused", loadBalancerIP="203.0.113.1")),
    Scene(
        "s18-update-fails",
        service=service("s18-update-fails"),
        steps=(Step(faults=_failing("lb-update", "Unavailable")),),
    ),
)

ROUTES = (
    Scene("r1-route", initialized("r1-route", podCIDRs=["10.244.1.0/24"]), steps=(Step(), Step(spec=None))),
    Scene("r2-no-cidr", initialized("r2-no-cidr")),
    Scene(
        "r19-foreign-reason",
        initialized("r19-foreign-reason", podCIDRs=["10.244.2.0/24"]),
        steps=(
            Step(
                status={
                    "conditions": [
                        {"type": "Ready", "status": "True", "reason": "Test"},
                        {"type": "NetworkUnavailable", "status": "False", "reason": "CalicoIsUp"},
                    ]
                }
            ),
        ),
    ),
    Scene(
        "r3-there", initialized("r3-there", podCIDRs=["10.244.3.0/24"]), routes=({"destinationCIDR": "10.244.3.0/24"},)
    ),
    Scene(
        "r4-wrong",
        initialized("r4-wrong", podCIDRs=["10.244.4.0/24"]),
        routes=({"destinationCIDR": "10.244.104.0/24"},),
    ),
    Scene(
        "r5-too-many",
        initialized("r5-too-many", podCIDRs=["10.244.5.0/24"]),
        routes=({"destinationCIDR": "10.244.5.0/24"}, {"destinationCIDR": "10.244.105.0/24"}),
    ),
    Scene("r6-two-families", initialized("r6-two-families", podCIDRs=["10.244.6.0/24", "fd00:10:244:6::/64"])),
    Scene(
        "r7-one-family-there",
        initialized("r7-one-family-there", podCIDRs=["10.244.7.0/24", "fd00:10:244:7::/64"]),
        routes=({"destinationCIDR": "fd00:10:244:7::/64"}, {"destinationCIDR": "fd00:10:244:77::/64"}),
    ),
    Scene(
        "r8-lost-networks",
        initialized("r8-lost-networks"),
        steps=(Step(routes=({"destinationCIDR": "10.244.8.0/24"},)),),
    ),
    Scene(
        "r9-blackholes",
        initialized("r9-blackholes", podCIDRs=["10.244.9.0/24"]),
        routes=(
            {"destinationCIDR": "10.244.109.0/24", "blackhole": True},
            {"destinationCIDR": "10.9.9.0/24", "blackhole": True},
        ),
    ),
    Scene(
        "r10-not-ours",
        initialized("r10-not-ours", podCIDRs=["10.244.10.0/24"]),
        routes=({"destinationCIDR": "10.10.10.0/24"}, {"destinationCIDR": "fd00:20::/64"}),
    ),
    Scene("r16-owner", initialized("r16-owner", podCIDRs=["10.244.16.0/24"]), steps=(Step(), Step(spec=None))),
    Scene(
        "r16-same-network",
        initialized("r16-same-network"),
        steps=(Step(spec={"spec": {"podCIDR": "10.244.16.0/24", "podCIDRs": ["10.244.16.0/24"]}}),),
    ),
    # A Node that the load balancers of `SERVICES` get, and one that they do not.
    Scene("s17-in", initialized("s17-in"), steps=(Step(spec={"metadata": {"labels": {EXCLUDED: ""}}}),)),
    Scene("s17-out", initialized("s17-out", labels={EXCLUDED: "true"})),
)

SERVED = (*INITIALIZATION, *LIFECYCLE, *BROKEN_CLOUD, *ROUTES, *SERVICES)
"""Those that one process may serve."""
ALL = (*SERVED, *BROKEN_PROCESSES)

_ADDRESSES = [{"type": "ExternalIP", "address": "198.19.0.7"}, {"type": "InternalIP", "address": "10.240.0.7"}]
_REFUSED = service("s25-invalid", loadBalancerIP="203.0.113.1")
OWN = (
    *BROKEN_CLOUD,
    LIFECYCLE[0],
    Scene(
        "n11-other-id",
        node("n11-other-id", providerID="simcloud://i-n11-other-id"),
        instance={"providerID": "simcloud://other"},
    ),
    Scene("n24-other-cloud", node("n24-other-cloud"), instance={"providerID": "other://1"}),
    Scene("n19-order", initialized("n19-order", addresses=_ADDRESSES)),
    Scene("l15-foreign", initialized("l15-foreign", providerID="other://1", ready="False"), instance=None),
    Scene("l15-no-id", initialized("l15-no-id", providerID="", ready="False"), instance=None),
    Scene("s25-invalid", service=_REFUSED),
    *(Scene(name, initialized(name, podCIDRs=["10.244.25.0/24"])) for name in ("r25-one", "r25-two")),
)
"""Those in which hookrunner differs by default, and a broken cloud once more."""

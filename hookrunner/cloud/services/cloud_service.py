"""A Service as its load balancer needs it, and which of its changes matter to the cloud.

    service = read_service(obj, before)
    if needs_update(before, service): ...

The provider gets the whole object, so it is kept, without `managedFields`. What matters are the fields that upstream's
manager compares, and no others: a new label or another selector is the matter of kube-proxy, not of a load balancer.
Source: https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer
"""

from collections.abc import Mapping
from dataclasses import field

from hookrunner.cloud.answers import Ingress
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

CLEANUP_FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
"""Keeps a Service until its load balancer is deleted. All managers of load balancers use this one."""

_COMPARED = (
    *("loadBalancerSourceRanges", "sessionAffinity", "sessionAffinityConfig", "loadBalancerIP", "externalIPs"),
    *("externalTrafficPolicy", "healthCheckNodePort"),
)
_COMPARED_OF_PORTS = ("name", "protocol", "port", "nodePort", "targetPort", "appProtocol")
_LONGEST_NAME = 32


@dataclass(frozen=True, slots=True)
class CloudService:
    """A Service. `document` is the object without `managedFields`; `version` its resourceVersion.

    `balancer_class` is `spec.loadBalancerClass`, empty for a load balancer without one. The API server clears the field
    when the type changes, so a Service of another type has the class that it was last seen with, None if it has not
    been seen as a load balancer.
    """

    namespace: str
    name: str
    uid: str
    type: str
    balancer_class: str | None
    finalizers: tuple[str, ...]
    is_deleting: bool
    ingress: tuple[Ingress, ...]
    document: JSON
    version: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_load_balancer(self) -> bool:
        """Is it of the type LoadBalancer?"""
        return self.type == "LoadBalancer"

    @property
    def has_finalizer(self) -> bool:
        """Is it kept until its load balancer is deleted?"""
        return CLEANUP_FINALIZER in self.finalizers

    @property
    def balancer_name(self) -> str:
        """The default name of its load balancer, which providers may use: upstream's."""
        return ("a" + self.uid.replace("-", ""))[:_LONGEST_NAME]


def read_service(obj: JSON, before: CloudService | None = None) -> CloudService:
    """The projection of a Service as the API server sends it; `before` is what was kept under its name."""
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    kind = spec.get("type") or "ClusterIP"
    balancer_class = spec.get("loadBalancerClass") or ""
    if kind != "LoadBalancer":
        balancer_class = before.balancer_class if before and before.uid == metadata["uid"] else None
    return CloudService(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        type=kind,
        balancer_class=balancer_class,
        finalizers=tuple(metadata.get("finalizers") or ()),
        is_deleting=bool(metadata.get("deletionTimestamp")),
        ingress=tuple(map(_read_ingress, _ingress_of(obj))),
        document={**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}},
        version=metadata.get("resourceVersion", ""),
    )


def compared_fields(service: CloudService) -> tuple[JSON, ...]:
    """What a load balancer depends on: equal fields need the same load balancer. Of `ipFamilies` only their number
    counts, because the API server lets a second one come and go, but changes none."""
    spec, annotations = service.document.get("spec") or {}, service.document["metadata"].get("annotations")
    ports = [[port.get(name) for name in _COMPARED_OF_PORTS] for port in spec.get("ports") or ()]
    compared = [spec.get(name) or None for name in _COMPARED]
    return service.uid, compared, ports, annotations or {}, len(spec.get("ipFamilies") or ())


def _ingress_of(obj: JSON) -> list[Mapping[str, JSON]]:
    ingress: list[Mapping[str, JSON]] = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return ingress


def _read_ingress(entry: Mapping[str, JSON]) -> Ingress:
    ip, hostname, mode = (entry.get(name) or "" for name in ("ip", "hostname", "ipMode"))
    return Ingress(ip, hostname, mode, tuple(entry.get("ports") or ()))

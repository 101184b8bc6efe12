"""What is done about a Service, row by row: upstream's tables of changes and of cleanup, and our own rules.

Level: pure."""

from dataclasses import replace
from typing import Any

from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.services.backends import identify_backends
from hookrunner.cloud.services.cloud_service import CLEANUP_FINALIZER
from hookrunner.cloud.services.service_decisions import (
    BalancerRecord,
    ServiceAction,
    ServicePolicy,
    decide_service,
    has_other_backends,
    identify_attempt,
    name_state,
    needs_cleanup,
    needs_sync,
    needs_update,
)
from tests.cloud.node_samples import node
from tests.cloud.node_samples import projected as projected_node
from tests.cloud.services.service_samples import PORT, kept, projected, service
from tests.cloud.upstream_policies import UPSTREAM_SERVICES
from tests.tables import each

OURS = ServicePolicy()

DELETED = "2026-11-23T00:00:00Z"
NODES = (projected_node(node("a")), projected_node(node("b")))
BACKENDS = identify_backends(NODES)


def with_ports(*ports: Any) -> Any:
    return service(ports=[PORT | port for port in ports])


@each(
    "before, after, expected",
    [
        (service(), service(kind="ClusterIP"), True),
        (with_ports({"port": 8000}, {"port": 9000}), with_ports({"port": 8001}, {"port": 9001}), True),
        (service(externalIPs=["192.0.2.1"]), service(externalIPs=["192.0.2.2", "192.0.2.3"]), True),
        (service(externalIPs=["192.0.2.1", "192.0.2.2"]), service(externalIPs=["192.0.2.3", "192.0.2.4"]), True),
        (service(uid="old"), service(uid="new"), True),
        (service(), service(externalTrafficPolicy="Local"), True),
        (service(), service(healthCheckNodePort=30123), True),
        (with_ports({"targetPort": 20}), with_ports({"targetPort": 20}, {"targetPort": 21}), True),
        (with_ports({"targetPort": 22}), with_ports({"targetPort": "dns"}), True),
        (service(), service(), False),
        (service(ipFamilies=["IPv4"]), service(ipFamilies=["IPv4", "IPv6"]), True),
        (service(ipFamilies=["IPv4", "IPv6"]), service(ipFamilies=["IPv4"]), True),
        (service(ipFamilies=["IPv4"]), service(ipFamilies=["IPv4"]), False),
        (service(), with_ports({"appProtocol": "http"}), True),
        (with_ports({"appProtocol": "http"}), with_ports({"appProtocol": "tcp"}), True),
    ],
)
def test_changes_that_upstream_lists(before: Any, after: Any, expected: bool) -> None:
    for policy in (OURS, UPSTREAM_SERVICES):
        assert needs_update(projected(before), projected(after), policy) is expected
        assert needs_sync(projected(before), projected(after), policy) is expected


@each(
    "before, after, expected",
    [
        (service(), service(labels={"a": "b"}), False),
        (service(selector={"a": "b"}), service(selector={"a": "c"}), False),
        (service(), service(internalTrafficPolicy="Local"), False),
        (service(), service(allocateLoadBalancerNodePorts=False), False),
        (service(), service(ipFamilyPolicy="PreferDualStack"), False),
        (service(), service(ingress=[{"ip": "192.0.2.1"}]), False),
        (service(), service(finalizers=["example.com/other"]), False),
        (service(), service(annotations={"a": "b"}), True),
        (service(), service(loadBalancerSourceRanges=["192.0.2.0/24"]), True),
        (service(), service(loadBalancerIP="192.0.2.1"), True),
        (service(), service(sessionAffinity="ClientIP"), True),
        (service(), service(sessionAffinityConfig={"clientIP": {"timeoutSeconds": 5}}), True),
        (with_ports({}), with_ports({"name": "web"}), True),
        (with_ports({}), with_ports({"protocol": "UDP"}), True),
        (with_ports({}), with_ports({"nodePort": 30081}), True),
        (with_ports({"port": 1}, {"port": 2}), with_ports({"port": 2}, {"port": 1}), True),
        (service(kind="ClusterIP"), service(), True),
        (service(kind="ClusterIP"), service(kind="NodePort", annotations={"a": "b"}), False),
        (service(loadBalancerClass="x"), service(loadBalancerClass="x", annotations={"a": "b"}), False),
        (service(loadBalancerClass="x"), service(), True),
    ],
)
def test_changes_that_upstream_has_no_row_for(before: Any, after: Any, expected: bool) -> None:
    assert needs_update(projected(before), projected(after), OURS) is expected


@each(
    "document, expected",
    [
        (service(kind="ClusterIP"), False),
        (kept(kind="NodePort"), True),
        (kept(), False),
        (kept(deletionTimestamp=DELETED), True),
    ],
)
def test_cleanup_that_upstream_lists(document: Any, expected: bool) -> None:
    for policy in (OURS, UPSTREAM_SERVICES):
        assert needs_cleanup(projected(document), policy) is expected
        assert needs_sync(projected(document), projected(document), policy) is expected


FOREIGN = kept(loadBalancerClass="example.com/theirs", deletionTimestamp=DELETED)


@each(
    "document, policy, expected",
    [
        (FOREIGN, OURS, False),
        (FOREIGN, UPSTREAM_SERVICES, True),
        (FOREIGN, ServicePolicy(load_balancer_class="example.com/theirs"), True),
        (kept(deletionTimestamp=DELETED), ServicePolicy(unclassed=False), False),
        (kept(kind="ClusterIP"), ServicePolicy(unclassed=False, load_balancer_class="x"), True),
    ],
)
def test_finalizers_of_other_classes_are_spared(document: Any, policy: ServicePolicy, expected: bool) -> None:
    assert needs_cleanup(projected(document), policy) is expected


def test_service_of_another_class_stays_theirs_when_its_type_changes() -> None:
    theirs = projected(kept(loadBalancerClass="example.com/theirs"))
    changed = projected(kept(kind="ClusterIP"), theirs)
    assert not needs_sync(theirs, changed, OURS)
    assert needs_cleanup(changed, UPSTREAM_SERVICES)
    assert needs_cleanup(projected(kept(kind="ClusterIP", uid="another"), theirs), OURS)


def settled(document: Any, *nodes: CloudNode) -> BalancerRecord:
    return BalancerRecord(projected(document), is_settled=True, backends=identify_backends(nodes or NODES))


UNSEEN = BalancerRecord()


@each(
    "document, record, expected",
    [
        (service(kind="ClusterIP"), UNSEEN, ServiceAction.NOTHING),
        (service(loadBalancerClass="example.com/theirs"), UNSEEN, ServiceAction.NOTHING),
        (service(), UNSEEN, ServiceAction.ENSURE),
        (kept(), UNSEEN, ServiceAction.ENSURE),
        (kept(kind="ClusterIP"), UNSEEN, ServiceAction.CLEAN_UP),
        (kept(deletionTimestamp=DELETED), UNSEEN, ServiceAction.CLEAN_UP),
        (kept(annotations={"a": "b"}), settled(kept()), ServiceAction.ENSURE),
        (kept(), settled(kept()), ServiceAction.ENSURE),
        (kept(), settled(kept(), NODES[0]), ServiceAction.UPDATE),
        (kept(annotations={"a": "b"}), settled(kept(), NODES[0]), ServiceAction.ENSURE),
        (kept(), replace(settled(kept(), NODES[0]), is_settled=False), ServiceAction.ENSURE),
        (None, UNSEEN, ServiceAction.NOTHING),
        (None, settled(kept()), ServiceAction.DELETE_OLD),
        (service(uid="new"), settled(service()), ServiceAction.DELETE_OLD),
        (service(kind="ClusterIP"), settled(service()), ServiceAction.CLEAN_UP),
        (kept(loadBalancerClass="example.com/theirs"), settled(service()), ServiceAction.DELETE_OLD),
        (service(deletionTimestamp=DELETED), settled(service()), ServiceAction.DELETE_OLD),
        (service(deletionTimestamp=DELETED), UNSEEN, ServiceAction.NOTHING),
    ],
)
def test_each_state_leads_to_one_action(document: Any, record: BalancerRecord, expected: ServiceAction) -> None:
    assert decide_service(document and projected(document), record, BACKENDS, OURS).action is expected


def test_invalid_service_waits_until_it_changes() -> None:
    refused = BalancerRecord(refused=identify_attempt(projected(kept())))
    other_label, other_port = kept(labels={"a": "b"}), kept(ports=[PORT | {"port": 81}])
    assert decide_service(projected(kept()), refused, BACKENDS, OURS).action is ServiceAction.NOTHING
    assert decide_service(projected(other_label), refused, BACKENDS, OURS).action is ServiceAction.NOTHING
    assert decide_service(projected(other_port), refused, BACKENDS, OURS).action is ServiceAction.ENSURE
    deleting = projected(kept(deletionTimestamp=DELETED))
    assert decide_service(deleting, refused, BACKENDS, OURS).action is ServiceAction.CLEAN_UP


def test_nodes_are_compared_by_name_and_provider_id() -> None:
    with_id = projected_node(node("a", provider_id="sim://a"))
    record = settled(kept(), with_id, NODES[1])
    assert not has_other_backends(record, identify_backends((NODES[1], with_id)))
    assert has_other_backends(record, BACKENDS)
    assert has_other_backends(record, identify_backends((with_id, projected_node(node("c")))))
    assert not has_other_backends(replace(record, is_settled=False), BACKENDS)


def test_load_balancer_has_upstreams_default_name() -> None:
    named = projected(service(uid="12345678-90ab-cdef-1234-567890abcdef"))
    assert named.balancer_name == "a1234567890abcdef1234567890abcde"
    assert not projected(kept()).is_deleting
    assert projected(kept()).finalizers == (CLEANUP_FINALIZER,)


@each(
    ("document", "record", "expected"),
    [
        (service(kind="ClusterIP"), UNSEEN, ""),
        (service(loadBalancerClass="example.com/theirs"), UNSEEN, ""),
        (FOREIGN, UNSEEN, ""),
        (None, UNSEEN, ""),
        (service(), UNSEEN, "pending"),
        (kept(), settled(kept()), "synced"),
        (kept(), replace(settled(kept()), is_elsewhere=True), "elsewhere"),
        (kept(), BalancerRecord(projected(kept()), problem="down"), "failed"),
        (kept(), BalancerRecord(projected(kept()), problem="no such size", refused="this"), "invalid"),
        (kept(deletionTimestamp=DELETED), UNSEEN, "deleting"),
        (kept(kind="ClusterIP"), settled(kept()), "deleting"),
        (None, settled(kept()), "deleting"),
        (None, BalancerRecord(projected(kept()), problem="down"), "failed"),
    ],
)
def test_state_is_named_for_a_person(document: Any, record: BalancerRecord, expected: str) -> None:
    assert name_state(document and projected(document), record, OURS) == expected

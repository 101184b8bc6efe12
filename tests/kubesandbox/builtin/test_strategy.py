"""What creating, updating and deleting do per kind, as far as one object shows it. Level: pure."""

from typing import Any

from kubesandbox.builtin import services, strategy
from kubesandbox.kinds import Kind
from tests.kubesandbox.builtin.ours import KINDS, Object, created, updated
from tests.tables import each


def kind(stored: str) -> Kind:
    return next(one for one in KINDS if one.stored == stored)


@each(
    ("stored", "propagation"),
    [("jobs.batch", "Orphan"), ("replicationcontrollers", "Orphan"), ("cronjobs.batch", "Background")],
)
def test_dependents_of_old_kinds_stay_by_default(stored: str, propagation: str) -> None:
    assert strategy.default_propagation(kind(stored)) == propagation


@each(
    ("stored", "creates", "unconditional"),
    [
        ("configmaps", False, True),
        ("leases.coordination.k8s.io", True, False),
        ("services", True, True),
        ("roles.rbac.authorization.k8s.io", True, True),
        ("poddisruptionbudgets.policy", False, False),
        ("validatingwebhookconfigurations.admissionregistration.k8s.io", False, False),
    ],
)
def test_a_put_may_create_or_overwrite_blindly_by_kind(stored: str, creates: bool, unconditional: bool) -> None:
    assert strategy.created_by_update(kind(stored)) == creates
    assert strategy.unconditional(kind(stored)) == unconditional


@each(
    ("spec", "phase", "asked", "seconds"),
    [
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Running", None, 7),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Running", 3, 3),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Running", 0, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Succeeded", None, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": -1}, "Running", None, 1),
        ({"terminationGracePeriodSeconds": 7}, "Pending", None, 0),
    ],
)
def test_a_pod_on_a_node_gets_time_to_end(spec: Object, phase: str, asked: int | None, seconds: int) -> None:
    assert strategy.grace(kind("pods"), {"spec": spec, "status": {"phase": phase}}, asked) == seconds


def test_no_other_kind_gets_time_to_end() -> None:
    assert strategy.grace(kind("configmaps"), {}, 30) == 0


def service(**spec: Any) -> Object:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], **spec}}
    return created(body, "default")


def test_a_service_gets_an_address_of_the_network_and_keeps_it() -> None:
    made = service()
    assert made["spec"]["clusterIP"].startswith("10.96.")
    stored = {**made, "metadata": {**made["metadata"], "resourceVersion": "1"}}
    asked = {**stored, "spec": {"ports": [{"port": 81}]}}
    assert updated(asked, stored)["spec"]["clusterIP"] == made["spec"]["clusterIP"]


def test_node_ports_are_of_the_range_and_different() -> None:
    made = service(type="NodePort", ports=[{"port": port, "name": f"p{port}"} for port in range(1, 200)])
    ports = [port["nodePort"] for port in made["spec"]["ports"]]
    assert len({*ports}) == len(ports)
    assert all(port in services.NODE_PORTS for port in ports)


def test_a_local_balancer_gets_a_port_for_health_checks() -> None:
    made = service(type="LoadBalancer", externalTrafficPolicy="Local")
    assert made["spec"]["healthCheckNodePort"] in services.NODE_PORTS


def test_a_limit_range_without_a_name_gets_one() -> None:
    made = created({"apiVersion": "v1", "kind": "LimitRange", "metadata": {}}, "default")
    assert made["metadata"]["name"] == made["metadata"]["uid"]


def test_an_owner_that_is_named_twice_is_kept_once() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    meta = {"name": "a", "ownerReferences": [owner, owner]}
    made = created({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}, "default")
    assert made["metadata"]["ownerReferences"] == [owner]

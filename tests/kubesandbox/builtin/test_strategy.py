"""What creating, updating and deleting do per kind, as far as one object shows it. Level: pure."""

from typing import Any

from kubesandbox import kinds
from kubesandbox.builtin import services, strategy
from kubesandbox.kinds import Kind, Subresource
from tests.kubesandbox.builtin.ours import KINDS, Object, created, updated
from tests.tables import each


def kind(stored: str) -> Kind:
    return next(one for one in KINDS if one.stored == stored)


def custom(*subresources: str) -> Kind:
    """A custom kind with these subresources."""
    has = {name: Subresource(name, "", "", "", ()) for name in subresources}
    return kinds.Kind("g", "v1", "Thing", "things", namespaced=True, subresources=has, definition={})


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


def test_a_namespace_that_goes_says_so() -> None:
    gone = strategy.ending(kind("namespaces"), {"status": {"phase": "Active"}})
    assert gone["status"] == {"phase": "Terminating"}


def thing(**more: Any) -> Object:
    """A custom object as it is stored."""
    return {"metadata": {"name": "a", "generation": 1}, "spec": {"a": 1}, **more}


def test_a_custom_kind_with_status_starts_without_it() -> None:
    made = strategy.for_create(custom("status"), thing(status={"x": 1}))
    assert "status" not in made
    assert made["metadata"]["generation"] == 1


def test_a_custom_kind_without_the_subresource_keeps_its_status_field() -> None:
    assert strategy.for_create(custom(), thing(status={"x": 1}))["status"] == {"x": 1}


@each(
    ("has", "change", "generation"),
    [
        (("status",), {"spec": {"a": 2}}, 2),
        (("status",), {"other": 1}, 2),
        (("status",), {"status": {"x": 2}}, 1),
        ((), {"status": {"x": 2}}, 2),
        ((), {}, 1),
    ],
)
def test_changes_of_a_custom_object_are_counted(has: tuple[str, ...], change: Object, generation: int) -> None:
    made = strategy.for_update(custom(*has), {**thing(), **change}, thing())
    assert made["metadata"]["generation"] == generation


def test_the_status_of_a_custom_object_changes_through_its_subresource_only() -> None:
    asked = {"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"a": 2}, "status": {"x": 1}}
    made = strategy.for_update(custom("status"), asked, thing(), "status")
    assert made == thing(status={"x": 1})


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

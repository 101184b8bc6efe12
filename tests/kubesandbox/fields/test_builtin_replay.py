"""Built-in kinds on a real API server and here: the same writes leave the same managed fields. Level: control plane."""

import json

from kubesandbox.kinds import Kind, Kinds
from kubetypes.json_values import JSON
from tests.kubesandbox.fields.replay import Replay, fields_of
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ADMITTED = ("priority", "preemptionPolicy", "tolerations", "serviceAccountName", "serviceAccount")
ALLOCATED = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
SELECTOR = {"matchLabels": {"a": "b"}}
RBAC = "rbac.authorization.k8s.io"


def replay_of(oracle: Oracle, kinds: Kinds, group: str, plural: str, name: str) -> tuple[Replay, Kind]:
    version = "v2" if group == "autoscaling" else "v1"
    kind = kinds.get(group, version, plural)
    assert kind is not None
    return Replay(oracle, kind, name), kind


def stated(kind: Kind, name: str, metadata: JSON = None, **rest: JSON) -> JSON:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, **(metadata or {})}, **rest}


def test_config_maps(oracle: Oracle, kinds: Kinds) -> None:
    replay, kind = replay_of(oracle, kinds, "", "configmaps", "shared")
    replay.create("m", stated(kind, "shared", data={"a": "1", "b": "2"}))
    replay.put("n", stated(kind, "shared", data={"a": "1", "b": "3", "c": "4"}))
    replay.patch("o", {"metadata": {"labels": {"x": "y"}}, "data": {"a": None}})
    for manager, data, force in (("a", {"b": "3"}, False), ("b", {"b": "5", "c": "1"}, False)):
        replay.apply(manager, stated(kind, "shared", data=data), force=force)
    for config in ({"b": "5", "c": "1"}, {"b": "5"}, {}):
        replay.apply("b", stated(kind, "shared", data=config), force=True)
    replay.patch("o", {"metadata": {"managedFields": []}})
    assert fields_of(replay.patch("o", {"data": {"z": "1"}})) is None
    assert len(fields_of(replay.apply("b", stated(kind, "shared", data={"z": "1"})))) == 2


def test_deployments(oracle: Oracle, kinds: Kinds) -> None:
    replay, kind = replay_of(oracle, kinds, "apps", "deployments", "web")
    spec = {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}
    replay.create("m", stated(kind, "web", spec=spec))
    replay.read()
    replay.apply("a", stated(kind, "web", spec=spec))
    container = {"name": "c", "image": "y", "env": [{"name": "A", "value": "b"}], "ports": [{"containerPort": 80}]}
    other = {**spec, "template": {**TEMPLATE, "spec": {"containers": [container]}}}
    assert replay.apply("b", stated(kind, "web", spec=other))["code"] == 409
    replay.apply("b", stated(kind, "web", spec=other), force=True)
    replay.read()
    replay.apply("b", stated(kind, "web", spec=spec), force=True)
    replay.read()
    status = {"conditions": [{"type": "A", "status": "True"}]}
    replay.patch("s", {"metadata": {"labels": {"q": "r"}, "annotations": {"x": "y"}}, "status": status}, "status")


def test_pods_with_repeated_variables(oracle: Oracle, kinds: Kinds) -> None:
    replay, kind = replay_of(oracle, kinds, "", "pods", "p")
    variables = [{"name": name, "value": value} for name, value in (("A", "1"), ("B", "2"), ("A", "3"))]
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    container = {"name": "c", "image": "x", "env": variables, "ports": ports, "resources": {"limits": {"cpu": "1000m"}}}
    spec = {"nodeName": "none", "automountServiceAccountToken": False, "containers": [container]}
    replay.create("m", stated(kind, "p", spec={**spec, "volumes": [{"name": "v", "emptyDir": {}}]}), ADMITTED)
    image = {"containers": [{"name": "c", "image": "y"}]}
    replay.apply("a", stated(kind, "p", {"labels": {"a": "b"}, "finalizers": ["a.b/c"]}, spec=image), force=True)
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    replay.apply("a", stated(kind, "p", status=ready), subresource="status")
    replay.patch("s", {"status": {"phase": "Running", "podIPs": [{"ip": "1.2.3.4"}]}}, "status")
    owners = [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": uid} for uid in ("u", "v")]
    replay.patch("m", {"metadata": {"finalizers": None, "ownerReferences": owners}})
    single = {"containers": [{"name": "c", "image": "z", "env": [{"name": "A", "value": "1"}]}]}
    replay.apply("b", stated(kind, "p", {"ownerReferences": owners[::-1]}, spec=single))
    replay.apply("b", stated(kind, "p", spec={"containers": [{"name": "c", "image": "z"}]}), force=True)


def test_a_debug_container_is_owned_through_its_subresource(oracle: Oracle, kinds: Kinds) -> None:
    replay, kind = replay_of(oracle, kinds, "", "pods", "debugged")
    spec = {"nodeName": "none", "automountServiceAccountToken": False, "containers": [{"name": "c", "image": "x"}]}
    replay.create("m", stated(kind, "debugged", spec=spec), ADMITTED)
    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"ephemeralContainers": [{"name": "debug", "image": "x"}]}}
    replay.patch("d", patch, "ephemeralcontainers")
    assert "ephemeralcontainers" in {one.get("subresource") for one in fields_of(replay.live)}


def test_services_keep_ports_apart_by_protocol(oracle: Oracle, kinds: Kinds) -> None:
    replay, kind = replay_of(oracle, kinds, "", "services", "s")
    ports = [{"port": 80, "name": "a"}, {"port": 443, "name": "b"}]
    replay.create("m", stated(kind, "s", spec={"ports": ports, "selector": {"a": "b"}}), ALLOCATED)
    replay.patch("n", {"spec": {"sessionAffinity": "ClientIP"}, "metadata": {"annotations": {"a": "b"}}})
    for other in ([{"port": 80, "name": "a"}, {"port": 444, "name": "b", "protocol": "UDP"}], ports[:1]):
        replay.apply("a", stated(kind, "s", spec={"ports": other}))
    fixed = {"ports": [{"port": 80, "name": "a", "targetPort": "x"}], "clusterIP": replay.live["spec"]["clusterIP"]}
    replay.apply("b", stated(kind, "s", spec=fixed), force=True)


CREATED: list[tuple[str, str, JSON]] = [
    ("apps", "statefulsets", {"spec": {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}}),
    ("", "secrets", {"data": {"a": "YQ=="}}),
    ("", "serviceaccounts", {"secrets": [{"name": "a"}]}),
    ("", "resourcequotas", {"spec": {"hard": {"pods": "10k"}}}),
    ("", "limitranges", {"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]}}),
    (RBAC, "roles", {}),
    (RBAC, "rolebindings", {"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "s"}}),
    ("networking.k8s.io", "networkpolicies", {"spec": {"podSelector": {}, "ingress": [{}]}}),
    ("networking.k8s.io", "ingresses", {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 1}}}}}),
    ("policy", "poddisruptionbudgets", {"spec": {"minAvailable": 1, "selector": SELECTOR}}),
    ("coordination.k8s.io", "leases", {"spec": {"holderIdentity": "a", "renewTime": "2020-01-01T00:00:00.000000Z"}}),
    ("discovery.k8s.io", "endpointslices", {"addressType": "IPv4", "endpoints": []}),
]


@each(("group", "plural", "rest"), CREATED, ids=lambda one: one if isinstance(one, str) else "")
def test_fields_of_an_empty_object_have_no_manager(
    oracle: Oracle, kinds: Kinds, group: str, plural: str, rest: JSON
) -> None:
    replay, kind = replay_of(oracle, kinds, group, plural, "created")
    assert "managedFields" in replay.create("m", stated(kind, "created", **rest))["metadata"] or not rest


def test_times_of_events_have_no_manager(oracle: Oracle, kinds: Kinds) -> None:
    replay, kind = replay_of(oracle, kinds, "", "events", "e")
    about = {"kind": "Pod", "name": "x", "namespace": oracle.namespace}
    replay.create("m", stated(kind, "e", {"namespace": oracle.namespace}, involvedObject=about, reason="a"))
    replay.patch("n", {"count": 2, "source": {"component": "x"}})


def test_kubectl_takes_over_what_it_applied_from_the_client(oracle: Oracle, kinds: Kinds) -> None:
    replay, kind = replay_of(oracle, kinds, "", "configmaps", "kept")
    before = {LAST_APPLIED: json.dumps(stated(kind, "kept", data={"a": "1", "b": "<2>"}))}
    replay.create(
        "kubectl-client-side-apply", stated(kind, "kept", {"annotations": before}, data={"a": "1", "b": "<2>"})
    )
    assert replay.apply("kubectl", stated(kind, "kept", data={"a": "2", "b": "<2>"}))["data"]["a"] == "2"
    replay.patch("other", {"data": {"a": "9"}})
    assert replay.apply("kubectl", stated(kind, "kept", data={"a": "3", "c": "1"}))["code"] == 409
    replay.apply("kubectl", stated(kind, "kept", {"annotations": {"x": "y", LAST_APPLIED: "?"}}, data={}), force=True)
    replay.patch("other", {"metadata": {"annotations": None}})
    assert "annotations" not in replay.apply("kubectl", stated(kind, "kept", data={"b": "1"}))["metadata"]


@each("last", ["", "{", "[]", '{"apiVersion": "v1"}', '{"apiVersion": "v2", "kind": "ConfigMap"}', "?"])
def test_kubectl_takes_over_nothing_by_an_annotation_that_says_nothing(oracle: Oracle, kinds: Kinds, last: str) -> None:
    name = oracle.unique("broken", last)
    replay, kind = replay_of(oracle, kinds, "", "configmaps", name)
    annotations = {LAST_APPLIED: json.dumps(stated(kind, name, data={"a": 1})) if last == "?" else last}
    replay.create("kubectl-client-side-apply", stated(kind, name, {"annotations": annotations}, data={"a": "1"}))
    assert replay.apply("kubectl", stated(kind, name, data={"a": "2"}))["code"] == 409

"""Gates: their order, what each waits for, and what opens it. Level: pure."""

from dataclasses import replace
from typing import Any

from hookrunner.addons.gates.gate_world import GateWorld, RequiredModule, first_of, rivals
from hookrunner.addons.gates.gates import addons_requiring, closed_gate, cyclic_addons, looks_at
from hookrunner.addons.instance_fields import read_instance
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, WakeUp
from hookrunner.model.addons import Addon, Instance, RequiredObject
from kubetypes.json_values import JSON
from tests.addons.conftest import addon, instance_of
from tests.tables import each

SERVICE = RequiredObject("v1", "Service", "kube-system", "kube-dns")
REQUIRES: JSON = {
    "kubernetes": ">=1.28",
    "kinds": ["a.io/v1/Thing"],
    "modules": ["cert-manager >=1.2"],
    "addons": ["kube-proxy"],
    "objects": [{"apiVersion": "v1", "kind": "Service", "namespace": "kube-system", "name": "kube-dns"}],
}
DNS = addon(requires=REQUIRES)
OPEN = GateWorld(
    kubernetes="v1.34.2-gke.100",
    addons={"coredns": DNS, "kube-proxy": addon("kube-proxy", "KubeProxy")},
    ready_addons=["kube-proxy"],
    kinds=["a.io/v1/Thing"],
    modules={"cert-manager": RequiredModule(True, "1.3.0")},
    objects={SERVICE: ""},
)


def made(of: Addon, name: str = "default", created: int = 1, spec: JSON = None, **metadata: Any) -> Instance:
    stamp = {"creationTimestamp": f"2026-01-0{created}T00:00:00Z", "uid": f"{of.name}-{name}"}
    return read_instance(of, instance_of(spec, name=name, **(stamp | metadata)))


def gate(instance: Instance, of: Addon = DNS, **world: Any) -> tuple[str, str]:
    """Phase and reason of the closed gate."""
    obstacle = closed_gate(instance, of, replace(OPEN, **world))
    return (obstacle.phase.value, obstacle.reason) if obstacle else ("", "")


def closed(instance: Instance, of: Addon, world: GateWorld) -> AddonObstacle:
    """The closed gate."""
    obstacle = closed_gate(instance, of, world)
    assert obstacle
    return obstacle


FLANNEL, CALICO = addon("flannel", "Flannel", exclusive="cni"), addon("calico", "Calico", exclusive="cni")


def test_all_gates_are_open() -> None:
    assert gate(made(DNS), instances=[made(DNS)]) == ("", "")


def test_an_account_may_be_required_and_has_to_exist() -> None:
    confined = made(DNS, spec={"serviceAccountName": "deployer"})
    assert gate(made(DNS), account_required=True) == ("RenderFailed", "SpecInvalid")
    assert gate(confined, account_required=True) == ("", "")
    assert gate(confined, account_problem="it does not exist") == ("Pending", "Waiting")


def test_gates_close_in_their_order() -> None:
    worst: JSON = {"suspend": True, "timeout": "0s"}
    older = made(DNS, "older", 0)
    closed: dict[str, Any] = {"namespaces": ["dns"], "instances": [older], "kinds": []}
    deleted = made(DNS, spec=worst, deletionTimestamp="2026-01-01T00:00:00Z")
    assert gate(deleted, **closed) == ("Terminating", "Terminating")
    assert gate(made(DNS, spec=worst), **closed) == ("Suspended", "Suspended")
    invalid = made(DNS, spec={"timeout": "0s"})
    assert gate(invalid, **closed) == ("Conflict", "Namespace")
    assert gate(invalid, **closed | {"namespaces": []}) == ("Conflict", "Duplicate")
    assert gate(invalid, kinds=[]) == ("RenderFailed", "SpecInvalid")
    assert gate(made(DNS), kinds=[]) == ("Pending", "Waiting")


def test_wrong_patches_alone_are_a_failed_patch() -> None:
    assert gate(made(DNS, spec={"patches": ["a"]})) == ("PatchFailed", "MergeFailed")


def test_an_instance_with_objects_has_priority_until_it_is_gone() -> None:
    young, old = made(DNS, "young", 2), made(DNS, "old", 1, deletionTimestamp="2026-01-03T00:00:00Z")
    obstacle = closed(young, DNS, replace(OPEN, instances=[young, old], installed=[old.unit]))
    assert obstacle.message == (
        "CoreDNS kube-system/old is installed already, and there is only one CoreDNS in a cluster; delete one"
    )
    assert obstacle.wakes_up == {WakeUp.INSTANCES}
    assert gate(young, instances=[young]) == ("", "")


def test_of_two_of_one_second_the_lower_uid_has_priority() -> None:
    pair = [made(DNS, "b"), made(DNS, "a")]
    assert [first_of(order, OPEN) for order in (pair, pair[::-1])] == [pair[1], pair[1]]
    assert first_of([], OPEN) is None


@each(
    ("held_up", "spec"),
    [
        ({}, {"suspend": True}),
        ({"deletionTimestamp": "2026-01-03T00:00:00Z"}, {}),
        ({"namespace": "elsewhere"}, {}),
    ],
)
def test_an_older_instance_that_is_held_up_has_priority_only_with_objects(held_up: JSON, spec: JSON) -> None:
    """Suspending a network of Pods must not let a second one in; nor may any user keep all others out."""
    old, young = made(DNS, "old", 1, spec, **held_up), made(DNS, "young", 2)
    world: JSON = {"instances": [old, young], "namespaces": ["kube-system"]}
    assert gate(young, **world) == ("", "")
    assert gate(young, **world, installed=[old.unit]) == ("Conflict", "Duplicate")


def test_an_instance_that_is_installed_keeps_priority_over_an_older_one() -> None:
    old, young = made(CALICO, "old", 1), made(FLANNEL, "young", 2)
    addons = {"flannel": FLANNEL, "calico": CALICO}
    world = GateWorld(addons=addons, instances=[old, young], installed=[young.unit])
    obstacle = closed(old, CALICO, world)
    assert obstacle.message.startswith("Flannel kube-system/young is installed already, and only one 'cni'")
    assert closed_gate(young, FLANNEL, world) is None


def test_an_instance_in_another_namespace_hears_what_becomes_of_its_objects() -> None:
    shut_out = made(DNS, namespace="team-a")
    world = replace(OPEN, namespaces=["kube-system"], instances=[shut_out])
    messages = [closed_gate(shut_out, DNS, replace(world, installed=units)) for units in ((), [shut_out.unit])]
    assert [obstacle and obstacle.message for obstacle in messages] == [
        "instances are reconciled in kube-system only (--addon-namespaces), not in team-a",
        "instances are reconciled in kube-system only (--addon-namespaces), not in team-a; what it has installed stays "
        "as it is: allow team-a, or delete the instance",
    ]


def test_the_older_of_two_without_objects_is_named_as_older() -> None:
    obstacle = closed(made(DNS, "b", 2), DNS, replace(OPEN, instances=[made(DNS, "a", 1), made(DNS, "b", 2)]))
    assert obstacle.message.startswith("CoreDNS kube-system/a is older, and there is only one CoreDNS in a cluster")


@each("ignored", [{"annotations": {"hookrunner.io/unmanaged": "true"}}, {"namespace": "elsewhere"}])
def test_instances_that_are_not_reconciled_take_no_priority(ignored: dict[str, Any]) -> None:
    namespace = ignored.pop("namespace", "kube-system")
    document = instance_of({}, namespace, "old", creationTimestamp="2025-01-01T00:00:00Z", **ignored)
    world: dict[str, Any] = {"instances": [read_instance(DNS, document), made(DNS)], "namespaces": ["kube-system"]}
    assert gate(made(DNS), **world) == ("", "")


def test_many_instances_run_beside_each_other() -> None:
    many = addon(instances="many")
    assert gate(made(many, "b", 2), many, instances=[made(many, "a", 1)]) == ("", "")


def test_only_the_oldest_of_an_exclusive_word_runs() -> None:
    world = GateWorld(addons={"flannel": FLANNEL, "calico": CALICO}, instances=[made(FLANNEL, "f", 1)])
    obstacle = closed(made(CALICO, "c", 2), CALICO, world)
    assert (obstacle.phase, obstacle.reason) == (AddonPhase.CONFLICT, "Exclusive")
    assert obstacle.message.startswith("Flannel kube-system/f is older, and only one 'cni' can be installed")
    assert closed_gate(made(FLANNEL, "f", 1), FLANNEL, world) is None
    hidden = closed(made(FLANNEL, "f", 1), FLANNEL, replace(world, hidden={"calico": "forbidden"}))
    assert hidden.message == "waiting for the instances of calico, which cannot be listed: forbidden"


@each(
    ("world", "part", "change"),
    [
        ({"kubernetes": "v1.27.1"}, "Kubernetes >=1.28, the cluster has v1.27.1", ""),
        ({"kubernetes": "unknown"}, "Kubernetes >=1.28, the cluster has unknown", ""),
        ({"kinds": []}, "the kind a.io/v1/Thing, which the cluster does not serve", ""),
        ({"modules": {}}, "module cert-manager, which is off or does not exist", "modules"),
        ({"modules": {"cert-manager": RequiredModule(False, "1.2")}}, "module cert-manager, which is not", "modules"),
        (
            {"modules": {"cert-manager": RequiredModule(True, "1.1")}},
            "module cert-manager >=1.2, there is 1.1",
            "modules",
        ),
        ({"modules": {"cert-manager": RequiredModule(True)}}, ">=1.2, there is one without a version", "modules"),
        ({"hidden": {"kube-proxy": "no"}}, "addon kube-proxy, whose instances cannot be listed: no", "addons"),
        ({"ready_addons": []}, "addon kube-proxy, of which no instance is ready", "addons"),
        ({"addons": {"coredns": DNS}}, "addon kube-proxy, which is not offered", "addons"),
        ({"objects": {SERVICE: "does not exist"}}, "Service kube-system/kube-dns (v1): does not exist", "objects"),
        ({"objects": {}}, "Service kube-system/kube-dns (v1): it has not been looked for yet", "objects"),
    ],
)
def test_each_requirement_is_named_with_what_is_missing(world: dict[str, Any], part: str, change: str) -> None:
    obstacle = closed(made(DNS), DNS, replace(OPEN, **world))
    assert obstacle.message.startswith("waiting for ")
    assert part in obstacle.message
    assert obstacle.wakes_up == ({WakeUp(change)} if change else set()), "what the cluster serves wakes all"


def test_gates_look_at_instances_of_rivals_and_of_required_addons() -> None:
    many, proxy = (
        addon("many", "Many", instances="many", requires={"addons": ["absent"]}),
        addon("kube-proxy", "KubeProxy"),
    )
    addons = {each.name: each for each in (DNS, FLANNEL, CALICO, many, proxy)}
    looked_at = {name: sorted(looks_at(each, addons)) for name, each in addons.items()}
    assert looked_at == {
        "coredns": ["coredns", "kube-proxy"],
        "flannel": ["calico", "flannel"],
        "calico": ["calico", "flannel"],
        "many": [],
        "kube-proxy": ["kube-proxy"],
    }
    assert [rivals(many, addons), rivals(DNS, addons)] == [set(), {"coredns"}]
    assert addons_requiring("kube-proxy", addons.values()) == {"coredns"}


def test_all_missing_requirements_are_named_together() -> None:
    obstacle = closed(made(DNS), DNS, GateWorld(kubernetes="v1.20.0"))
    assert (obstacle.message.count("; "), len(obstacle.wakes_up)) == (4, 3)


def test_addons_that_require_each_other_are_cyclic() -> None:
    def requiring(name: str, *others: str) -> Addon:
        return addon(name, name.title(), requires={"addons": list(others)})

    addons = {
        of.name: of for of in (requiring("a", "b"), requiring("b", "c", "a"), requiring("c"), requiring("d", "a"))
    }
    assert cyclic_addons(addons) == {"a", "b"}
    world = GateWorld(addons=addons, cyclic=cyclic_addons(addons))
    obstacle = closed(made(addons["a"]), addons["a"], world)
    assert "addon b, which waits for this one" in obstacle.message


def test_an_addon_of_another_cycle_does_not_count_as_waiting_for_this_one() -> None:
    pairs = {"a": ["b", "c"], "b": ["a"], "c": ["d"], "d": ["c"]}
    addons = {name: addon(name, name.title(), requires={"addons": others}) for name, others in pairs.items()}
    assert closed(made(addons["a"]), addons["a"], GateWorld(addons=addons, cyclic=cyclic_addons(addons))).message == (
        "waiting for addon b, which waits for this one; correct requires.addons; addon c, of which no instance is ready"
    )

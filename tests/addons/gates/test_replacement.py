"""Which instance of an exclusive word is installed, which takes its place, and what becomes of wrong annotations.
Level: pure."""

from dataclasses import replace
from typing import Any

import pytest

from hookrunner.addons.gates.gate_world import GateWorld
from hookrunner.addons.gates.gates import closed_gate
from hookrunner.addons.gates.replacement import leftovers_of, named_by, predecessor_of
from hookrunner.addons.instance_fields import read_instance
from hookrunner.model.addons import REPLACES, UNMANAGED, Instance
from hookrunner.model.releases import Head, Predecessor
from kubetypes.json_values import JSON
from tests.addons.conftest import addon, instance_of
from tests.tables import each

LEAVES: JSON = {"interfaces": ["cni0", "flannel.1"], "rules": ["iptables chains FLANNEL-*"]}
ADDONS = {
    name: addon(name, name.capitalize(), exclusive="cni", leavesOnNodes=LEAVES if name == "flannel" else {})
    for name in ("flannel", "calico", "canal")
} | {"dns": addon("dns", "Dns")}
FLANNEL, CALICO, CANAL = (f"{name}.kube-system.default" for name in ("flannel", "calico", "canal"))


def made(of: str, replaces: str = "", created: int = 1, **metadata: Any) -> Instance:
    """An instance `default` of an addon, with this annotation."""
    metadata = {"annotations": {REPLACES: replaces} if replaces else {}} | metadata
    stamp: JSON = {"creationTimestamp": f"2026-01-0{created}T00:00:00Z", "uid": of}
    return read_instance(ADDONS[of], instance_of(metadata.pop("spec", {}), **(stamp | metadata)))


def head(unit: str, predecessor: str = "", succession: int = 0, status: str = "deployed") -> Head:
    return Head(unit, "home", 1, status, owned=True, addon=unit, predecessor=predecessor, succession=succession)


def world(*instances: Instance, heads: tuple[Head, ...] = (), **more: Any) -> GateWorld:
    by_unit = {each.name: each for each in heads}
    return GateWorld(**{"addons": ADDONS, "instances": instances, "installed": [*by_unit], "heads": by_unit} | more)


def gates(present: GateWorld) -> dict[str, str]:
    """What keeps each instance from being installed, "" for nothing; with a `-` if what it has installed is removed."""
    found = {}
    for instance in present.instances:
        obstacle = closed_gate(instance, ADDONS[instance.addon], present)
        found[instance.addon] = f"{'-' * obstacle.removes}{obstacle.reason}" if obstacle else ""
    return found


def message(instance: Instance, present: GateWorld) -> str:
    obstacle = closed_gate(instance, ADDONS[instance.addon], present)
    assert obstacle
    return obstacle.message


OLD, NEW = made("flannel"), made("calico", "flannel/default", 2)
BESIDE = head(CALICO, FLANNEL, 1)
BACK_OLD, BACK_NEW = made("flannel", "calico/default"), made("calico", created=2)
BACK_BESIDE = head(FLANNEL, CALICO, 2)
DELETED = made("calico", "flannel/default", 2, deletionTimestamp="x")
SUSPENDED = made("calico", "flannel/default", 2, spec={"suspend": True})
ENDING = head(FLANNEL, status="uninstalling")


@each(
    ("present", "flannel", "calico"),
    [
        (world(OLD, made("calico", created=2), heads=(head(FLANNEL),)), "", "Exclusive"),
        (world(OLD, NEW, heads=(head(FLANNEL),)), "", ""),
        (world(OLD, NEW, heads=(head(FLANNEL),), installed=[FLANNEL, CALICO]), "", ""),
        (world(OLD, NEW, heads=(head(FLANNEL), BESIDE)), "", ""),
        (world(OLD, NEW, heads=(head(FLANNEL), BESIDE), current=[CALICO]), "-Replaced", ""),
        (world(OLD, NEW, heads=(BESIDE,)), "Replaced", ""),
        (world(OLD, NEW, heads=(BESIDE,), current=[CALICO]), "Replaced", ""),
        (world(OLD, BACK_NEW, heads=(BESIDE,)), "Replaced", ""),
        (world(BACK_OLD, BACK_NEW, heads=(BESIDE,)), "", ""),
        (world(BACK_OLD, BACK_NEW, heads=(BESIDE,), installed=[CALICO, FLANNEL]), "", ""),
        (world(BACK_OLD, BACK_NEW, heads=(BESIDE, BACK_BESIDE)), "", ""),
        (world(BACK_OLD, BACK_NEW, heads=(BESIDE, BACK_BESIDE), current=[FLANNEL, CALICO]), "", "-Replaced"),
        (world(BACK_OLD, BACK_NEW, heads=(BACK_BESIDE,)), "", "Replaced"),
    ],
)
def test_one_takes_the_place_of_the_other_and_back(present: GateWorld, flannel: str, calico: str) -> None:
    """From nothing to a succession and back, by the releases that exist: older and younger play no role."""
    turned = replace(present, instances=present.instances[::-1])
    assert gates(present) == gates(turned) == {"flannel": flannel, "calico": calico}


def test_a_successor_is_recorded_with_the_number_of_its_succession() -> None:
    assert predecessor_of(NEW, ADDONS["calico"], world(OLD, NEW, heads=(head(FLANNEL),))) == Predecessor(FLANNEL, 1)
    back = world(BACK_OLD, BACK_NEW, heads=(BESIDE,))
    assert predecessor_of(BACK_OLD, ADDONS["flannel"], back) == Predecessor(CALICO, 2)
    assert predecessor_of(BACK_NEW, ADDONS["calico"], back) is None
    assert predecessor_of(NEW, ADDONS["calico"], world(NEW)) is None


@each(
    ("present", "flannel", "calico"),
    [
        # the annotation is removed: what the successor has installed goes, the first one stays
        (world(OLD, BACK_NEW, heads=(head(FLANNEL), BESIDE)), "", "-Exclusive"),
        (world(OLD, BACK_NEW, heads=(head(FLANNEL), BESIDE), current=[CALICO]), "", "-Exclusive"),
        (world(made("flannel"), BACK_NEW, heads=(BESIDE, BACK_BESIDE)), "-Exclusive", ""),
        # two that nobody has installed beside each other stay as they are
        (world(OLD, BACK_NEW, heads=(head(FLANNEL), head(CALICO))), "", "Exclusive"),
        # but not once the removal has begun
        (world(OLD, BACK_NEW, heads=(ENDING, BESIDE)), "-Replaced", ""),
        (world(OLD, NEW, heads=(ENDING, BESIDE)), "-Replaced", ""),
        # deleted in the middle, before and after that
        (world(OLD, DELETED, heads=(head(FLANNEL), BESIDE)), "", "Terminating"),
        (world(OLD, DELETED, heads=(BESIDE,)), "Replaced", "Terminating"),
        (world(OLD), "", None),
        # suspended: nothing is written, nothing is removed
        (world(OLD, SUSPENDED, heads=(head(FLANNEL),)), "", "Suspended"),
        (
            world(made("flannel", spec={"suspend": True}), NEW, heads=(head(FLANNEL), BESIDE), current=[CALICO]),
            "Suspended",
            "",
        ),
        # an addon that is not offered at the moment keeps the replaced one out
        (world(OLD, heads=(BESIDE,)), "Replaced", None),
        (world(OLD, heads=(head(FLANNEL), BESIDE)), "", None),
        (world(OLD, heads=(ENDING, BESIDE)), "Replaced", None),
        # managed by its user from now on
        (
            world(OLD, made("calico", annotations={REPLACES: "flannel/default", UNMANAGED: "true"}), heads=(BESIDE,)),
            "",
            "Exclusive",
        ),
    ],
)
def test_ways_back_and_what_comes_between(present: GateWorld, flannel: str, calico: str | None) -> None:
    found = gates(present)
    assert (found["flannel"], found.get("calico")) == (flannel, calico)


def test_of_two_successors_one_goes_after_the_other() -> None:
    third = made("canal", "flannel/default", 3)
    present = world(OLD, NEW, third, heads=(head(FLANNEL),))
    assert gates(present) == {"flannel": "", "calico": "", "canal": "Exclusive"}
    assert "which Calico kube-system/default replaces already" in message(third, present)
    begun = world(OLD, NEW, third, heads=(head(FLANNEL), head(CANAL, FLANNEL, 1)))
    assert gates(begun) == {"flannel": "", "calico": "Exclusive", "canal": ""}
    chain = made("canal", "calico/default", 3)
    assert gates(world(OLD, NEW, chain, heads=(head(FLANNEL),))) == {"flannel": "", "calico": "", "canal": "Exclusive"}
    assert gates(world(OLD, NEW, chain, heads=(BESIDE,))) == {"flannel": "Replaced", "calico": "", "canal": ""}


@each(
    ("annotations", "part"),
    [
        (("calico/default", "flannel/default"), "remove the annotation hookrunner.io/replaces: calico/default from Fl"),
        (("canal/default", "flannel/default", "calico/default"), "calico/default from Canal kube-system/default"),
        (("flannel/default", "flannel/default"), ""),
        (("", "calico/default"), "annotation hookrunner.io/replaces: flannel/default in place of calico/default"),
        (("", "flannel/other"), "flannel/default in place of flannel/other"),
        (("", "dns/default"), "flannel/default in place of dns/default"),
        (("", "Flannel default"), "flannel/default in place of Flannel default"),
        (("", ""), "delete one, or let this one replace it by the annotation hookrunner.io/replaces: flannel/default"),
    ],
)
@pytest.mark.parametrize("is_beside", [False, True])
def test_wrong_annotations_change_nothing_and_are_named(
    annotations: tuple[str, ...], part: str, is_beside: bool
) -> None:
    """Also cycles; nothing that is installed is removed because of them."""
    names = ("flannel", "calico", "canal")
    instances = [made(of, text, age) for age, (of, text) in enumerate(zip(names, annotations, strict=False), 1)]
    present = world(*instances, heads=(head(FLANNEL), *([head(CALICO)] if is_beside else [])))
    found = gates(present)
    assert (found["flannel"], found["calico"]) == ("", "Exclusive" if part else "")
    assert not part or part in message(instances[1], present)


def test_a_successor_is_in_the_namespace_of_its_predecessor() -> None:
    """Or who may create instances in some namespace would decide about that of the others."""
    elsewhere = made("calico", "flannel/default", 2, namespace="team-a")
    present = world(OLD, elsewhere, heads=(head(FLANNEL),))
    assert gates(present) == {"flannel": "", "calico": "Exclusive"}
    assert "create it in the namespace kube-system with the annotation" in message(elsewhere, present)
    wide = made("calico", "flannel/default", 2, namespace="")
    assert gates(world(OLD, wide, heads=(head(FLANNEL),))) == {"flannel": "", "calico": ""}


def test_a_replaced_one_is_told_how_to_come_back() -> None:
    assert message(OLD, world(OLD, NEW, heads=(BESIDE,))) == (
        "Calico kube-system/default has replaced it; to go back, remove the annotation hookrunner.io/replaces: "
        "flannel/default from Calico kube-system/default, which names this one, or delete one"
    )
    assert "let this one replace it by the annotation hookrunner.io/replaces: calico/default" in message(
        OLD, world(OLD, BACK_NEW, heads=(BESIDE,))
    )


def test_leftovers_are_named_until_the_annotation_is_removed() -> None:
    assert leftovers_of(NEW, world(OLD, NEW, heads=(BESIDE,))) == (
        "Flannel default is removed; what it may have left on Nodes: interfaces cni0, flannel.1; rules iptables chains "
        "FLANNEL-*. Remove that from the Nodes, or restart them, then remove the annotation hookrunner.io/replaces"
    )
    assert leftovers_of(NEW, world(NEW, heads=(BESIDE,)))
    others = [
        (NEW, world(OLD, NEW, heads=(head(FLANNEL), BESIDE))),
        (BACK_NEW, world(OLD, BACK_NEW, heads=(BESIDE,))),
        (NEW, world(NEW, heads=(head(CALICO),))),
        (BACK_OLD, world(BACK_OLD, heads=(BACK_BESIDE,))),
    ]
    assert [leftovers_of(*other) for other in others] == [""] * 4


@each(
    ("text", "named"),
    [("flannel/default", ("flannel", "default")), (" a/b\n", ("a", "b")), ("a", None), ("a/b/c", None), ("/b", None)],
)
def test_annotation_names_addon_and_name(text: str, named: tuple[str, str] | None) -> None:
    assert named_by(made("calico", text)) == named

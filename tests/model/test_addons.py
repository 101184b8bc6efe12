"""Names of units: Helm takes them, and no two instances share one. Level: pure."""

from hypothesis import given
from hypothesis import strategies as st

from hookrunner.model.addons import AddonObject, unit_name
from hookrunner.model.releases import is_release_name
from tests.tables import each

LABEL = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=4).map(".".join)


@each(
    ("parts", "unit"),
    [
        (("coredns", "kube-system", "default"), "coredns.kube-system.default"),
        (("coredns", "", "default"), "coredns.default"),
        (("a", "b" * 25, "c" * 25), f"a.{'b' * 25}.{'c' * 25}"),
        (("a", "b" * 25, "c" * 26), f"a.{'b' * 25}.{'c' * 14}.205b5b6e75"),
        (("a", "b" * 40, "c" * 26), f"a.{'b' * 40}.f93d695f3b"),
        (("a", "b", "0123456789"), "a.b.0123456789.81ce6665c1"),
    ],
)
def test_unit_name_is_readable_and_short(parts: tuple[str, str, str], unit: str) -> None:
    assert unit_name(*parts) == unit


@given(LABEL, LABEL, NAME)
def test_unit_name_can_be_a_release(addon: str, namespace: str, name: str) -> None:
    unit = unit_name(addon, namespace, name)
    assert is_release_name(unit)


@given(LABEL, LABEL, NAME)
def test_no_instance_can_take_the_name_of_a_cut_one(addon: str, namespace: str, name: str) -> None:
    unit = unit_name(addon, namespace, name)
    first, second, *rest = unit.split(".")
    if rest and (second, ".".join(rest)) != (namespace, name):
        assert unit_name(first, second, ".".join(rest)) != unit


def test_object_knows_its_names() -> None:
    kind = AddonObject("CoreDNS", "coredns", scope="Cluster")
    assert (kind.api_version, kind.crd_name) == ("addons.x-k8s.io/v1alpha1", "coredns.addons.x-k8s.io")
    assert kind.instance_label == "addons.x-k8s.io/coredns"
    assert not kind.resource.namespaced

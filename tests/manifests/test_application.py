"""The Application object of a package is filled in."""

import pytest

from hookrunner.errors import BadManifest
from hookrunner.manifests.application import fill_application, unselected_namespaces
from tests.manifests.conftest import sourced

APPLICATION = sourced(
    "Application",
    "dashboard",
    "kube-system",
    "app.k8s.io/v1beta1",
    spec={"descriptor": {"type": "x"}, "addOwnerRef": 1},
)
LABELS = {"addons.x-k8s.io/dashboard": "d"}


def test_an_application_selects_lists_kinds_once_and_has_the_version() -> None:
    objects = [sourced("Service", "a"), sourced("Service", "b"), sourced("DaemonSet", "c", "", "apps/v1"), APPLICATION]
    filled = fill_application(objects, LABELS, "2.7.0")
    assert filled[:3] == tuple(objects[:3])
    assert filled[3].obj["spec"] == {
        "addOwnerRef": 1,
        "selector": {"matchLabels": LABELS},
        "componentKinds": [
            {"group": "app.k8s.io", "kind": "Application"},
            {"group": "apps", "kind": "DaemonSet"},
            {"group": "", "kind": "Service"},
        ],
        "descriptor": {"type": "x", "version": "2.7.0"},
    }


def test_a_package_may_have_none_and_not_two() -> None:
    service = sourced("Service", "a")
    assert fill_application([service], LABELS, "1") == (service,)
    with pytest.raises(BadManifest, match=r"2 Applications: .*dashboard\.yaml"):
        fill_application([APPLICATION, APPLICATION], LABELS, "1")


def test_namespaces_that_it_cannot_show_are_named() -> None:
    objects = [sourced("Service", "a", "other"), sourced("Service", "b", "kube-system"), sourced("Namespace", "other")]
    assert unselected_namespaces([*objects, APPLICATION]) == ("other",)
    assert unselected_namespaces(objects) == ()

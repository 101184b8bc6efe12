"""Which part of a webhook's rule leaves a request out. Level: pure."""

from typing import Any

from kubetypes.json_values import JSON
from kubetypes.selectors import requirements
from kubetypes.webhook_rules import AskedWrite, failed_object_label, failed_part
from tests.tables import each

ASKED = AskedWrite("CREATE", "apps", "v1", "deployments", "scale", True)
RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments/scale"]}


@each(
    ("changes", "failed"),
    [
        ({}, ""),
        ({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}, ""),
        ({"resources": ["deployments/*"], "scope": "Namespaced"}, ""),
        ({"apiGroups": [""]}, "apiGroups"),
        ({"apiVersions": ["v1beta1"]}, "apiVersions"),
        ({"operations": ["UPDATE", "DELETE"]}, "operations"),
        ({"resources": ["*", "deployments", "pods/scale"]}, "resources"),
        ({"scope": "Cluster"}, "scope"),
    ],
)
def test_the_first_part_that_does_not_cover_a_request(changes: dict[str, Any], failed: str) -> None:
    assert failed_part(RULE | changes, ASKED) == failed


def test_an_object_selector_selects_what_was_or_what_will_be() -> None:
    wanted = requirements({"matchLabels": {"go": "yes"}})
    labelled: JSON = {"metadata": {"labels": {"go": "yes"}}}
    plain: JSON = {"metadata": {}}
    assert failed_object_label(wanted, (None, labelled)) is failed_object_label(wanted, (plain, labelled)) is None
    assert failed_object_label(wanted, (plain, None)) == wanted[0]

"""The rights of the cloud controller manager, by what is on. Level: pure."""

from hookrunner.cloud.rights import RIGHTS, ROLE, rights_of
from hookrunner.manifests.role_objects import Account, to_roles
from hookrunner.settings import load
from kubetypes.json_values import JSON
from tests.pages import DOCS
from tests.tables import each

EVERY_LOOP = {
    "nodes": ["get", "list", "watch", "patch", "delete"],
    "nodes/status": ["patch"],
    "services": ["list", "watch"],
    "services/status": ["patch"],
    "events": ["create", "patch"],
}
NETWORK = {"cluster-cidr": "10.0.0.0/8"}


def manifests(flags: dict[str, str]) -> list[JSON]:
    return to_roles(ROLE, rights_of(load(flags, "hookrunner", {})), Account("cloud", "manager"))


def everywhere(flags: dict[str, str]) -> dict[str, list[str]]:
    return {rule["resources"][0]: rule["verbs"] for rule in manifests(flags)[0]["rules"]}


@each(
    ("flags", "rules"),
    [
        (NETWORK, EVERY_LOOP),
        ({}, EVERY_LOOP),
        ({"node-delete-dry-run": "true"}, EVERY_LOOP | {"nodes": ["get", "list", "watch", "patch"]}),
        (
            {"controllers": "cloud-node"},
            {
                "nodes": ["get", "list", "watch", "patch"],
                "nodes/status": ["patch"],
                "events": ["create", "patch"],
            },
        ),
        (
            {"controllers": "service"},
            {
                "nodes": ["get", "list", "watch"],
                "services": ["list", "watch"],
                "services/status": ["patch"],
                "events": ["create", "patch"],
            },
        ),
        (
            NETWORK | {"controllers": "route"},
            {
                "nodes": ["get", "list", "watch"],
                "nodes/status": ["patch"],
                "events": ["create", "patch"],
            },
        ),
        ({"controllers": "route"}, {"nodes": ["get", "list", "watch"], "events": ["create", "patch"]}),
    ],
)
def test_rights_follow_from_what_is_on(flags: dict[str, str], rules: dict[str, list[str]]) -> None:
    assert everywhere(flags) == rules


def test_the_lease_is_reached_by_its_name_and_in_its_namespace_alone() -> None:
    role, binding = manifests({})[2:]
    assert (role["kind"], role["metadata"]["namespace"], binding["kind"]) == ("Role", "kube-system", "RoleBinding")
    assert [(rule.get("resourceNames"), rule["verbs"]) for rule in role["rules"]] == [
        (None, ["create"]),
        (["cloud-controller-manager"], ["get", "update"]),
    ]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": "cloud", "name": "manager"}]


def test_without_election_there_is_no_role() -> None:
    assert [obj["kind"] for obj in manifests({"leader-elect": "false"})] == ["ClusterRole", "ClusterRoleBinding"]


def test_the_page_has_the_rights_of_the_table() -> None:
    rows = [f"| `{right.resource}` | {', '.join(right.verbs)} | " for right in RIGHTS]
    page = (DOCS / "cloud.md").read_text()
    assert [row for row in rows if row not in page] == []

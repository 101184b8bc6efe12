"""Discovery documents: equal to a real API server's for what both serve, and custom kinds take their place in them.

Level: control plane."""

from dataclasses import replace
from typing import Any

import pytest

from kubesandbox.http import discovery
from kubesandbox.kinds import Kind, Kinds, Subresource, builtin
from tests.controlplane.kinds_data import AGGREGATED, GROUPS
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

ABSENT = {
    *("bindings", "componentstatuses", "nodes/proxy", "services/proxy", "serviceaccounts/token"),
    *(f"pods/{each}" for each in ("attach", "ephemeralcontainers", "exec", "log", "portforward", "proxy", "resize")),
    "certificatesigningrequests/approval",
}
"""What needs a node, a container or a signing key, of which a sandbox has none: it does not say that it had."""
SCALE = Subresource("scale", "autoscaling", "v1", "Scale", ("get", "patch", "update"))


def thing(version: str, plural: str = "things", group: str = "example.com") -> Kind:
    return Kind(
        group,
        version,
        "Thing",
        plural,
        namespaced=True,
        singular="thing",
        short_names=("th",),
        categories=("all",),
        subresources={"scale": SCALE},
        definition={"versions": [{"name": "v1", "served": True, "storage": True}]},
    )


@pytest.fixture
def kinds() -> Kinds:
    return Kinds(builtin())


def only_served(kinds: Kinds, group: str, resources: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a real server tells of resources and subresources (`pods/status`) that the sandbox serves too."""

    def served(name: str) -> bool:
        plural, _, below = name.partition("/")
        kind = kinds.get(group, GROUPS[group], plural)
        return kind is not None and (kind.subresources[below].served if below else kind.served)

    return [one for one in resources if served(one["name"])]


@each("group", GROUPS)
def test_resources_of_a_group_are_those_of_the_real_server(kinds: Kinds, oracle: Oracle, group: str) -> None:
    version = GROUPS[group]
    _, real = oracle.ask("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
    told: Any = discovery.resources(kinds, group, version)
    expected = only_served(kinds, group, real["resources"])
    # Some kinds are stored in a version that is not served; clients only look whether the hash changes.
    told_hashes = [one.pop("storageVersionHash", "") != "" for one in told["resources"]]
    assert told_hashes == [one.pop("storageVersionHash", "") != "" for one in expected]
    assert told == {**real, "resources": expected}
    assert {one["name"] for one in real["resources"]} - {one["name"] for one in expected} <= ABSENT


def test_aggregated_groups_are_those_of_the_real_server(kinds: Kinds, oracle: Oracle) -> None:
    def ours(body: Any) -> Any:
        return [item for item in body["items"] if item["metadata"].get("name", "") in GROUPS]

    real = [*oracle.read("/api", ours, AGGREGATED), *oracle.read("/apis", ours, AGGREGATED)]
    for item in real:
        group = item["metadata"].get("name", "")
        item["versions"] = [one for one in item["versions"] if one["version"] == GROUPS[group]]
        for version in item["versions"]:
            version["resources"] = [aggregated_served(kinds, group, one) for one in version["resources"]]
            version["resources"] = [one for one in version["resources"] if one]
    told: list[Any] = [discovery.aggregated(kinds, legacy=legacy)["items"] for legacy in (True, False)]
    assert told[0] + told[1] == real


def aggregated_served(kinds: Kinds, group: str, resource: dict[str, Any]) -> dict[str, Any]:
    names = [
        {"name": f"{resource['resource']}/{one['subresource']}", **one} for one in resource.get("subresources", [])
    ]
    below = [{key: value for key, value in one.items() if key != "name"} for one in only_served(kinds, group, names)]
    resource = {key: value for key, value in resource.items() if key != "subresources"}
    if not only_served(kinds, group, [{"name": resource["resource"]}]):
        return {}
    return resource | ({"subresources": below} if below else {})


def test_groups_are_in_the_real_servers_order(kinds: Kinds, oracle: Oracle) -> None:
    told: Any = discovery.groups(kinds)

    def names(body: Any) -> list[str]:
        return [one["name"] for one in body["groups"] if one["name"] in GROUPS]

    assert names(told) == oracle.read("/apis", names)


def test_one_group_is_described_alone_and_only_if_served(kinds: Kinds, oracle: Oracle) -> None:
    assert discovery.group(kinds, "apps") == oracle.ask("GET", "/apis/apps")[1]
    assert discovery.group(kinds, "nothing.example.com") is None
    assert discovery.resources(kinds, "apps", "v2") is None
    assert discovery.group(kinds, "") is None


def test_versions_of_a_custom_group_are_sorted_by_maturity(kinds: Kinds) -> None:
    versions = ["v1alpha1", "foo", "v2", "v1", "v10", "v1beta2", "v10beta3", "bar", "v1beta10"]
    kinds.replace("example.com", "things", [thing(version) for version in versions])
    told: Any = discovery.group(kinds, "example.com")
    order = ["v10", "v2", "v1", "v10beta3", "v1beta10", "v1beta2", "v1alpha1", "bar", "foo"]
    assert [one["version"] for one in told["versions"]] == order
    assert told["preferredVersion"] == {"groupVersion": "example.com/v10", "version": "v10"}


def test_custom_groups_come_last_by_name_and_go_with_their_definition(kinds: Kinds) -> None:
    kinds.replace("z.example.com", "things", [thing("v1", group="z.example.com")])
    kinds.replace("a.example.com", "things", [thing("v1", group="a.example.com")])
    told: Any = discovery.groups(kinds)
    assert [one["name"] for one in told["groups"]][-3:] == ["discovery.k8s.io", "a.example.com", "z.example.com"]
    kinds.replace("a.example.com", "things", [])
    assert discovery.group(kinds, "a.example.com") is None


def test_a_custom_kind_names_its_group_in_the_aggregated_form(kinds: Kinds) -> None:
    kinds.replace("example.com", "things", [thing("v1")])
    told: Any = discovery.aggregated(kinds, legacy=False)["items"]
    resource = told[-1]["versions"][0]["resources"][0]
    assert resource["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Thing"}


def test_the_storage_hash_is_of_the_stored_version(kinds: Kinds) -> None:
    stored = {"versions": [{"name": "v1beta1", "served": True, "storage": True}]}
    zebra = replace(thing("v2", "zebras", "kd1.example.com"), kind="Zebra", definition=stored)
    kinds.replace("kd1.example.com", "zebras", [zebra])
    told: Any = discovery.resources(kinds, "kd1.example.com", "v2")
    # What a real server told of these names.
    assert told["resources"][0]["storageVersionHash"] == "T0KR1EL5S8E="


def test_the_etag_changes_with_what_is_served(kinds: Kinds) -> None:
    before = discovery.etag(discovery.aggregated(kinds, legacy=False))
    kinds.replace("example.com", "things", [thing("v1")])
    assert discovery.etag(discovery.aggregated(kinds, legacy=False)) != before
    kinds.replace("example.com", "things", [])
    assert discovery.etag(discovery.aggregated(kinds, legacy=False)) == before


def test_the_release_is_one_that_clients_can_parse() -> None:
    release = discovery.release()
    assert str(release["gitVersion"]).startswith(f"v{release['major']}.{release['minor']}.")


def test_every_path_of_the_index_is_one_that_a_real_server_has_too(kinds: Kinds, oracle: Oracle) -> None:
    told: Any = discovery.index(kinds)["paths"]

    def ours(body: Any) -> list[str]:
        return [path for path in body["paths"] if not path.startswith("/apis/") or path.split("/")[2] in GROUPS]

    assert set(told) <= set(oracle.read("/", ours))


@each(
    ("path", "verbose", "text"),
    [
        ("/healthz", False, "ok"),
        ("/livez/ping", True, "ok"),
        ("/livez", True, "[+]ping ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n"),
        ("/healthz/nothing", False, None),
        ("/health", False, None),
    ],
)
def test_health_has_the_real_servers_words(path: str, verbose: bool, text: str | None) -> None:
    assert discovery.health(path, verbose=verbose) == text


def test_api_names_the_address() -> None:
    told: Any = discovery.legacy_versions("127.0.0.1:1")
    assert told["versions"] == ["v1"]
    assert told["serverAddressByClientCIDRs"] == [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:1"}]

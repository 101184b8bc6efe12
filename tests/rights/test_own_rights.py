"""The rights of hookrunner itself, by its flags. Level: pure."""

from pathlib import Path
from typing import Any

import orjson

from hookrunner.addons.addon_discovery import find_addons
from hookrunner.hooks.config.hook_config import parse
from hookrunner.model.bindings import Hook
from hookrunner.model.rights import merge
from hookrunner.rights.own_rights import Installation, own_rights
from hookrunner.settings import load
from tests.fakes.chart import ROOT
from tests.fakes.objects import definition

RULES = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]
MODULES = {"modules-dir": "modules"}


NOTHING = Installation()


def rights(flags: dict[str, str], installed: Installation = NOTHING) -> set[tuple[str, ...]]:
    """Namespace, resources, verbs, names."""
    found = merge(own_rights(load({"modules-dir": ":"} | flags, "hookrunner", {}), "ns", installed))
    return {
        (right.namespace, ",".join(right.resources), " ".join(right.verbs), ",".join(right.names)) for right in found
    }


def hook(**config: Any) -> Hook:
    return Hook("a.sh", Path("a.sh"), parse("a.sh", orjson.dumps({"configVersion": "v1", **config})))


def test_hooks_alone_need_nothing_of_their_own() -> None:
    assert rights({"hooks-dir": "hooks"}, Installation([hook(kubernetes=[{"kind": "Pod"}])])) == set()


def test_modules_need_their_config_map_records_and_events() -> None:
    assert rights(MODULES) == {
        ("ns", "configmaps", "get list watch patch", "hookrunner"),
        ("ns", "configmaps", "create", ""),
        ("ns", "secrets", "get list watch create update delete", ""),
        ("ns", "events", "create patch", ""),
        ("", "customresourcedefinitions", "list watch", ""),
        ("", "apiservices", "list watch", ""),
    }


def test_flags_name_other_objects() -> None:
    named = rights(MODULES | {"config-map": "mine", "config-secret": "hidden", "helm-driver": "configmap"})
    assert named - rights(MODULES) == {
        ("ns", "configmaps", "get list watch create update delete", ""),
        ("ns", "configmaps", "patch", "mine"),
        ("ns", "secrets", "get watch", "hidden"),
        ("ns", "secrets", "list", ""),
    }


def test_records_are_in_each_namespace_of_releases() -> None:
    more = rights(MODULES, Installation(namespaces=["ns", "web"])) - rights(MODULES)
    assert more == {("web", "secrets", "get list watch create update delete", "")}


def test_definitions_are_changed_by_name() -> None:
    more = rights(MODULES, Installation(definitions=[definition("example.com", "Thing", "v1")])) - rights(MODULES)
    assert more == {
        ("", "customresourcedefinitions", "get update", "things.example.com"),
        ("", "customresourcedefinitions", "list watch create", ""),
        ("", "customresourcedefinitions/status", "update", "things.example.com"),
    }


def test_instances_are_written_in_all_namespaces_where_they_are_not_reconciled_too() -> None:
    flags = {"addons-dir": str(ROOT / "addons"), "addons": "coredns", "addon-namespaces": "kube-system,dns"}
    offered = Installation(addons=find_addons([ROOT / "addons"], ["coredns"]).addons)
    ours = {right for right in rights(flags, offered) if "coredns" in right[1] + right[3]}
    assert ours == {
        ("", "coredns", "get list watch patch", ""),
        ("", "coredns/status", "patch", ""),
        ("", "coredns/finalizers", "update", ""),
        ("", "customresourcedefinitions", "get update", "coredns.addons.x-k8s.io"),
        ("", "customresourcedefinitions/status", "update", "coredns.addons.x-k8s.io"),
    }


def test_logins_are_read_from_their_secret_alone() -> None:
    flags = {"addons-dir": "addons", "addon-credentials": "secret:addons/logins"}
    assert ("addons", "secrets", "get", "logins") in rights(flags)
    assert rights(flags | {"addon-credentials": "/etc/logins"}) == rights({"addons-dir": "addons"})


def test_generic_needs_its_own_kind_and_no_other() -> None:
    flags = {"addons-dir": str(ROOT / "addons"), "addons": "coredns"}
    assert rights({**flags, "addon-generic-sources": "/srv"}) - rights(flags) == {
        ("", "generics", "get list watch", ""),
        ("", "generics/status", "patch", ""),
        ("", "customresourcedefinitions", "list watch create", ""),
        ("", "customresourcedefinitions", "get update", "generics.addons.x-k8s.io"),
        ("", "customresourcedefinitions/status", "update", "generics.addons.x-k8s.io"),
    }


def test_reviews_need_their_configurations_and_certificates() -> None:
    found = rights({}, Installation([hook(kubernetesValidating=[{"name": "a.example.com", "rules": RULES}])]))
    assert found == {
        ("", "validatingwebhookconfigurations", "list watch update delete", "hookrunner-hooks"),
        ("", "mutatingwebhookconfigurations", "list watch update delete", "hookrunner-hooks"),
        ("", "validatingwebhookconfigurations", "create", ""),
        ("ns", "secrets", "list watch update", "hookrunner-webhook-certs"),
        ("ns", "secrets", "create", ""),
    }


def test_a_port_that_is_named_has_a_certificate_without_any_hook() -> None:
    assert rights({"webhook-port": "9680"}) == {
        ("ns", "secrets", "list watch update", "hookrunner-webhook-certs"),
        ("ns", "secrets", "create", ""),
    }
    assert rights({"webhook-port": "9680", "webhook-certs": "secret:mine"}) == {("ns", "secrets", "list watch", "mine")}


def test_a_conversion_may_change_the_definition_of_its_kind_alone() -> None:
    conversions = [{"fromVersion": "v1", "toVersion": "v2"}]
    up = {"name": "up", "crdName": "things.example.com", "conversions": conversions}
    found = rights({}, Installation([hook(kubernetesCustomResourceConversion=[up])]))
    assert {right for right in found if "definitions" in right[1]} == {
        ("", "customresourcedefinitions", "list watch", ""),
        ("", "customresourcedefinitions", "update", "things.example.com"),
    }


def test_the_cloud_has_the_rights_of_its_own_table() -> None:
    assert ("", "nodes/status", "patch", "") in rights({"cloud-provider": "./simcloud"})


def test_list_of_addons_needs_its_kind_and_the_kinds_that_it_watches() -> None:
    definition = "addons.discovery.addons.k8s.io"
    flags = {"hooks-dir": "hooks", "discovery": "true", "discovery-kinds": "pods,webs.example.com"}
    assert rights(flags) == {
        ("", "addons", "list watch create patch delete", ""),
        ("", "addons/status", "patch", ""),
        ("", "customresourcedefinitions", "get update", definition),
        ("", "customresourcedefinitions", "create", ""),
        ("", "customresourcedefinitions/status", "update", definition),
        ("", "pods", "list watch", ""),
        ("", "webs", "list watch", ""),
    }


def test_required_accounts_are_acted_as_where_instances_are() -> None:
    flags = {"addons-dir": str(ROOT / "addons"), "addon-namespaces": "a,b"}
    assert rights(flags | {"addon-accounts": "require"}) - rights(flags) == {
        (namespace, *right, "")
        for namespace in ("a", "b")
        for right in (("serviceaccounts", "get impersonate"), ("namespaces", "get"))
    }

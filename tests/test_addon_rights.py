"""The rules that the chart has for each shipped addon are those that its packages need. Level: pure."""

import json
from collections.abc import Iterable

import pytest
import yaml

from hookrunner.manifests.role_objects import to_line
from hookrunner.model.rights import VERBS, Right, merge
from tests.addon_rights import RULES, WATCHING, addons, needed_for, rules_of
from tests.controlplane.rights import rights_in
from tests.fakes.chart import render_rights


@pytest.mark.slow
@pytest.mark.parametrize("addon", addons())
def test_the_chart_has_the_rules_of_the_packages(addon: str) -> None:
    """After a change: `python -m tests.addon_rights`. With the addon alone, the chart grants what `rbac` prints."""
    needed = needed_for(addon, namespace="default")
    expected = rules_of(addon, needed)
    assert {path: path.read_text() for path in expected} == expected
    assert shown(granted(addon)) == shown(needed.all)


def test_each_shipped_addon_has_its_file_and_no_other_has() -> None:
    for directory in (RULES, WATCHING):
        assert sorted(file.stem for file in directory.glob("*")) == addons()


def test_no_file_grants_everything() -> None:
    rules = [
        rule
        for directory in (RULES, WATCHING)
        for file in directory.glob("*.yaml")
        for read in [yaml.safe_load(file.read_text())]
        for same in (read["rules"], *read.get("namespaces", {}).values())
        for rule in same
    ]
    assert {verb for rule in rules for verb in rule["verbs"]} <= {*VERBS} - {"*", "escalate", "impersonate"}
    assert [rule for rule in rules if "*" in {*rule["resources"], *rule["apiGroups"]}] == []


@pytest.mark.slow
def test_the_chart_grants_what_rbac_prints_for_two_addons() -> None:
    two = "dashboard", "metrics-server"
    assert shown(granted(*two)) == shown(needed_for(*two, namespace="default").all)


@pytest.mark.slow
def test_the_chart_grants_for_all_addons_what_it_grants_for_each() -> None:
    assert shown(granted()) == shown([right for addon in addons() for right in granted(addon)])


@pytest.mark.slow
def test_the_chart_grants_no_more_where_accounts_are_required() -> None:
    offered = json.dumps({"enabled": True, "names": ["metrics-server"], "accounts": "require", "namespaces": ["*"]})
    rendered = render_rights("watch", "--set-json", f"addons={offered}")
    needed = needed_for("metrics-server", namespace="default", **{"addon-accounts": "require"}).all
    assert shown(rights_in(rendered)) == shown(needed)
    written = {right.resources for right in needed if {*right.verbs} & {"create", "update", "patch", "delete"}}
    assert not written & {("deployments",), ("clusterroles",), ("services",), ("serviceaccounts",)}


def granted(*names: str) -> list[Right]:
    """What the chart grants for these addons, or all, without `clusterAdmin`."""
    offered = json.dumps({"enabled": True, "names": names})
    return [*rights_in(render_rights("watch", "--set-json", f"addons={offered}"))]


def shown(rights: Iterable[Right]) -> set[tuple[str, str]]:
    return {(right.namespace, to_line(right)) for right in merge(rights)}

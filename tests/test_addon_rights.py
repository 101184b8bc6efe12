"""The rules that the chart has for each shipped addon are those that its packages need. Level: pure."""

import pytest
import yaml

from hookrunner.model.rights import VERBS
from tests.addon_rights import RULES, addons, rules_of


@pytest.mark.slow
@pytest.mark.parametrize("addon", addons())
def test_the_chart_has_the_rules_of_the_packages(addon: str) -> None:
    """After a change: `python -m tests.addon_rights`."""
    assert (RULES / f"{addon}.yaml").read_text() == rules_of(addon)


def test_each_shipped_addon_has_its_file_and_no_other_has() -> None:
    assert sorted(file.stem for file in RULES.glob("*")) == addons()


def test_no_file_grants_everything() -> None:
    rules = [
        rule
        for file in RULES.glob("*.yaml")
        for read in [yaml.safe_load(file.read_text())]
        for same in (read["rules"], *read.get("namespaces", {}).values())
        for rule in same
    ]
    assert {verb for rule in rules for verb in rule["verbs"]} <= {*VERBS} - {"*", "escalate", "impersonate"}
    assert [rule for rule in rules if "*" in {*rule["resources"], *rule["apiGroups"]}] == []

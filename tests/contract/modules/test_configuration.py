"""The promise to users: what the ConfigMap's keys may say (docs/modules.md). Level: pure."""

import json

import yaml

from hookrunner.values import config_sections
from tests.contract.golden import Case, cases, plain
from tests.tables import each


@each("case", cases("modules/configuration.golden"), ids=lambda case: case.name)
def test_configmap_data_is_parsed_or_refused_by_section(case: Case) -> None:
    """`data` of a ConfigMap; refused are single sections, and the others stay."""
    found = config_sections.parse(yaml.safe_load(case.given) or {})
    if case.refused:
        assert [f"{key}: {told}" for key, told in found.problems.items()] == case.expected.splitlines()
    else:
        assert plain(found) == json.loads(case.expected)


@each("case", cases("modules/sections.golden"), ids=lambda case: case.name)
def test_a_section_patched_by_a_hook_is_written_as_yaml(case: Case) -> None:
    """The values as JSON, and the text that the ConfigMap gets."""
    text = config_sections.written(json.loads(case.given))
    assert text.strip() == case.expected
    assert config_sections.parse({"it": text}).sections == {"it": json.loads(case.given)}

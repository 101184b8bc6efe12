"""The promise to hooks of modules: what `VALUES_JSON_PATCH_PATH` and `CONFIG_VALUES_JSON_PATCH_PATH` may say, and how
wrong ones are reported (docs/hooks.md).

Level: pure."""

import json

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks import patches
from tests.contract.golden import Case, cases, plain
from tests.tables import each


@each("case", cases("modules/value_patches.golden"), ids=lambda case: case.name)
def test_value_patch_file_is_applied_or_refused(case: Case) -> None:
    if case.refused:
        with pytest.raises(BadOutput) as error:
            patches.parse_values_patch(case.given)
        assert str(error.value) == case.expected
    else:
        assert plain(patches.parse_values_patch(case.given)) == json.loads(case.expected)

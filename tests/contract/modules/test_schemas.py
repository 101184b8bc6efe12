"""The promise to authors of modules: what `openapi/config-values.yaml` and `openapi/values.yaml` mean
(docs/modules.md).

Of each case the schemas, the value and the value before it are given as YAML; `as` is which of the schemas judges
(`config` unless said). What comes out is the value with its defaults, or what is wrong with it.

Level: pure.
"""

import json
from pathlib import Path

import pytest
import yaml

from hookrunner.errors import BadModule
from hookrunner.values.schemas.schema_files import Schemas, load
from kubetypes.json_values import JSON
from tests.contract.golden import Case, cases


@pytest.mark.parametrize("case", cases("modules/schemas.golden"), ids=lambda case: case.name)
def test_schemas_accept_complete_or_refuse_values(case: Case, tmp_path: Path) -> None:
    given = yaml.safe_load(case.given)
    schema = getattr(loaded(given, tmp_path), given.get("as", "config"))
    value = schema.defaults(given["value"])
    assert schema.problems(value, given.get("before")) == (case.expected.splitlines() if case.refused else [])
    assert case.refused or value == json.loads(case.expected)


@pytest.mark.parametrize("case", cases("modules/no_schemas.golden"), ids=lambda case: case.name)
def test_invalid_schema_files_are_refused(case: Case, tmp_path: Path) -> None:
    with pytest.raises(BadModule) as error:
        loaded(yaml.safe_load(case.given), tmp_path)
    assert str(error.value).removeprefix(f"{tmp_path}/") == case.expected


def loaded(given: JSON, directory: Path) -> Schemas:
    (directory / "openapi").mkdir()
    for name in ("config-values", "values"):
        if name in given:
            (directory / "openapi" / f"{name}.yaml").write_text(given[name])
    return load(directory, "it")

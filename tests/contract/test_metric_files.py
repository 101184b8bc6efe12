"""The promise to hook authors: what a metrics file may say, and the errors about what it must not say. Level: pure."""

import json

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks.metric_operations import parse
from tests.contract.golden import Case, cases, plain
from tests.tables import each


@each("case", cases("metrics.golden"), ids=lambda case: case.name)
def test_metrics_file_is_parsed_or_refused(case: Case) -> None:
    if case.refused:
        with pytest.raises(BadOutput) as error:
            parse(case.given)
        assert str(error.value) == case.expected
    else:
        assert plain(parse(case.given)) == json.loads(case.expected)

"""The promise to hook authors: what files of metrics and of patches, of objects and of values (docs/hooks.md), may say,
and the errors about what they must not say. Level: pure."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from hookrunner.errors import BadOutput
from hookrunner.hooks import metric_operations, patches
from tests.contract.golden import Case, cases, plain
from tests.tables import each

READERS: dict[str, Callable[[bytes], Any]] = {
    "metrics.golden": metric_operations.parse,
    "patches.golden": patches.parse,
    "modules/value_patches.golden": patches.parse_values_patch,
}


@each(
    ("read", "case"),
    [(read, case) for file, read in READERS.items() for case in cases(file)],
    ids=lambda value: value.name if isinstance(value, Case) else value.__name__,
)
def test_patch_file_is_parsed_or_refused(read: Callable[[bytes], Any], case: Case) -> None:
    if case.refused:
        with pytest.raises(BadOutput) as error:
            read(case.given)
        assert str(error.value) == case.expected
    else:
        assert plain(read(case.given)) == json.loads(case.expected)

"""The promise to hook authors: what `--config` may say, what it means, and the errors about what it must not say.

Expected values leave defaults out; the defaults themselves are in tests/hooks/config/test_v1.py.

Level: pure.
"""

import json

import pytest

from hookrunner.errors import BadHookConfig
from hookrunner.hooks.config.hook_config import parse
from tests.contract.golden import Case, cases, plain
from tests.tables import each


@each("case", cases("configs.golden"), ids=lambda case: case.name)
def test_config_answer_is_parsed_or_refused(case: Case) -> None:
    if case.refused:
        with pytest.raises(BadHookConfig) as error:
            parse("hook.sh", case.given)
        assert error.value.problems == case.expected.splitlines()
    else:
        assert plain(parse("hook.sh", case.given)) == json.loads(case.expected)

"""Objects that break rules: the sandbox refuses for the same reasons at the same fields as a real API server.

Level: control plane."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kubesandbox.builtin.changed import changed
from tests.kubesandbox.builtin.ours import Object, comparable, mine, theirs
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

HERE = Path(__file__).parent
LEAST: dict[str, Object] = {}
for one in yaml.load_all((HERE / "minimal.yaml").read_text(), yaml.CSafeLoader):
    LEAST.setdefault(one["kind"], one)


def cases() -> list[Any]:
    """Every object of `bad.yaml`, called by its kind and its change."""
    groups = yaml.load((HERE / "bad.yaml").read_text(), yaml.CSafeLoader)
    return [
        pytest.param(changed(LEAST[group["of"]], case), id=f"{group['of']}-{case}"[:80])
        for group in groups
        for case in group["cases"]
    ]


@each("obj", cases)
def test_it_is_refused_as_a_real_server_refuses_it(oracle: Oracle, obj: Object) -> None:
    answer = comparable(theirs(oracle, obj))
    assert answer[0] == 422
    assert comparable(mine(obj)) == answer

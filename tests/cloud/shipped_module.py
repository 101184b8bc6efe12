"""The objects of the shipped module 060, as its cases state them."""

from pathlib import Path
from typing import Any

import yaml

from hookrunner.testing.cases.object_changes import with_changes

CASES = Path(__file__).parents[2] / "modules" / "060-cloud-controller-manager" / "tests"


def cleaning_objects() -> list[Any]:
    """The objects of the module's case that cleans up, its Helm hook among them."""
    [expect] = [
        case["expect"]
        for case in yaml.safe_load((CASES / "cloud-controller-manager.test.yaml").read_text())
        if "onDisable: clean" in yaml.safe_dump(case)
    ]
    defaults = list(yaml.safe_load_all((CASES / "defaults.yaml").read_text()))
    return with_changes(with_changes(defaults, expect["objects"]), expect["hooks"])

"""What an `enabled` script is given and what its answer means, for each carrier that it can have: one set of cases
(carriers/enabled.json).

Level: pure."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hookrunner.errors import ScriptFailed
from hookrunner.modules.enabled import ScriptValues
from hookrunner.modules.scripts import Scripts
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings
from tests.contract.test_carriers import HERE, install, is_forked, records
from tests.modules.conftest import module

__all__ = ["records"]

CASES = json.loads((HERE / "enabled.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("carrier", ["files", "fork"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"].replace(" ", "-"))
async def test_a_script(tmp_path: Path, records: list[str], case: Any, carrier: str) -> None:
    script = tmp_path / "enabled"
    install(HERE / "enabled_actor.py", script)
    script.with_name("enabled.script.json").write_text(json.dumps(case["does"]))
    large = {"long": "x" * case["values"]} if "values" in case else {}
    values = {"global": {}, "m": {"x": 12345678901, **large}}
    documents = ScriptValues({"m": {"x": 1.5}}, values)
    children = Children(Patience(kill=0.5, linger=0.05))
    settings = HooksSettings(
        tmp_dir=tmp_path / "tmp", environ={"PATH": os.environ["PATH"]}, python_fork=carrier == "fork"
    )
    asking = Scripts(settings, children, case.get("timeout", 30)).ask(
        replace(module("m"), script=script), documents, ("a", "b")
    )
    if "fails" in case:
        with pytest.raises(ScriptFailed, match=case["fails"]):
            await asking
    else:
        answer = await asking
        assert (answer.wanted, answer.reason) == (case["wanted"], case.get("reason", ""))
        assert answer.usage
        assert answer.usage.max_rss_bytes > 0
    if "timeout" not in case:  # on a busy machine it may not even have begun
        given = json.loads(script.with_name("enabled.seen").read_text())
        assert given["values"]["m"] == values["m"]
        assert given == case.get("sees", given)
    assert sorted(records) == sorted(case.get("logs", records))
    assert is_forked(children, script) == (carrier == "fork")
    await children.interpreters.stop()
    assert [*(tmp_path / "tmp").iterdir()] == []

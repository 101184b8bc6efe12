"""What is measured of `enabled` scripts. Level: pure."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hookrunner.errors import ScriptFailed
from hookrunner.metrics.names import Metrics
from hookrunner.model.modules import Module
from hookrunner.model.operations import Usage
from hookrunner.modules.enabled import ScriptAnswer, ScriptValues
from hookrunner.modules.scripts import MeteredScripts

MODULE = Module("dns", "dns", 1, Path("/nowhere"), Path("/nowhere"))
LABELS = '{activation="OperatorStartup",binding="enabled",hook="enabled",module="dns",queue="main"}'


class Says:
    """A script; `None` is one that fails."""

    def __init__(self, answer: ScriptAnswer | None) -> None:
        self._answer = answer

    async def ask(self, module: Module, documents: ScriptValues, enabled: Sequence[str]) -> ScriptAnswer:
        if not self._answer:
            raise ScriptFailed("no")
        return self._answer


def measured(answer: ScriptAnswer | None, metrics: Metrics) -> MeteredScripts:
    return MeteredScripts(Says(answer), metrics, lambda: "OperatorStartup")


async def test_a_run_is_measured_like_that_of_a_hook_and_is_no_success_of_one() -> None:
    metrics = Metrics("")
    await measured(ScriptAnswer(True, usage=Usage(1.5, 0.25, 0.125, 4096)), metrics).ask(
        MODULE, ScriptValues({}, {}), []
    )
    text = metrics.exposition().decode()
    assert "module_hook_success_total{" not in text
    for name, value in (
        ("run_seconds_sum", "1.5"),
        ("run_user_cpu_seconds_sum", "0.25"),
        ("run_sys_cpu_seconds_sum", "0.125"),
        ("run_max_rss_bytes", "4096"),
    ):
        assert f"module_hook_{name}{LABELS} {value}\n" in text


async def test_a_script_that_fails_is_no_error_of_a_hook() -> None:
    metrics = Metrics("")
    with pytest.raises(ScriptFailed):
        await measured(None, metrics).ask(MODULE, ScriptValues({}, {}), [])
    assert "module_hook_errors_total{" not in metrics.exposition().decode()

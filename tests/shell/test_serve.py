"""`hook::serve`: a hook of the framework that stays, run by the carrier of resident hooks. Level: pure."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.config.schema import HookKind
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.hooks.resident.line_carrier import FILE_FROM
from hookrunner.hooks.workspace import InstancePaths, ValuesPaths, Workspace
from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.hook_runs import ExitedBadly, InstanceInput, Values
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings
from tests.shell.conftest import LIBRARY

STARTUP, TICK = Context("onStartup", ContextType.STARTUP), Context("tick", ContextType.SCHEDULE)
CONFIG = b"{configVersion: v1, onStartup: 1, settings: {resident: true}}"
SCRIPT = """
calls=0
__on_startup() {
  calls=$((calls + 1))
  echo '{"name": "n", "set": '"${calls}"'}' > "${METRICS_PATH}"
  printf 'operation: Delete\\nkind: Pod\\nname: a\\n' > "${KUBERNETES_PATCH_PATH}"
  echo 600 > "${RUN_AGAIN_PATH}"
}
__on_schedule::tick() {
  printf 'operation: Delete\\nkind: Pod\\nname: a\\n' > "${KUBERNETES_PATCH_PATH}"
  false
}
__on_after_helm() {
  values::set m.a "$(values::get m.b)"
  jq -c '{type: .kind, status: "True"}' "${ADDON_OBJECT_PATH}" > "${CONDITIONS_PATH}"
  test "${ADDON_PACKAGE_DIR}" = /package
}
"""


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[HookProcesses]:
    environ = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    processes = HookProcesses(HooksSettings(tmp_dir=tmp_path / "tmp", environ=environ), Children(Patience()))
    yield processes
    await processes.close()
    assert [*tmp_path.glob("tmp.*")] == []  # the directory of its files


def hook(directory: Path, module: str = "") -> Hook:
    path = directory / "hook.sh"
    path.write_text(f'#!/usr/bin/env bash\nsource {LIBRARY}\n{SCRIPT}\nhook::serve "$@"\n')
    path.chmod(0o755)
    return Hook("hook.sh", path, parse("h", CONFIG, HookKind.MODULE if module else HookKind.PLAIN), module)


@pytest.mark.slow
async def test_each_run_is_handled_by_itself_and_answered_by_files(tmp_path: Path, processes: HookProcesses) -> None:
    serving = hook(tmp_path)
    for _ in range(2):
        answer = (await processes.run(serving, [STARTUP], {})).answer
        assert (answer.metrics[0].value, [operation.name for operation in answer.objects]) == (1.0, ["a"])
        assert answer.again_after == 600
    ((_, state),) = processes.residents()
    assert (state.processes, state.restarts) == (1, {})


@pytest.mark.slow
async def test_a_handler_that_fails_fails_its_run_only(tmp_path: Path, processes: HookProcesses) -> None:
    serving = hook(tmp_path)
    with pytest.raises(ExitedBadly, match=r"hook\.sh FAILED: exit status 1, see the log"):
        await processes.run(serving, [TICK], {})
    assert (await processes.run(serving, [STARTUP], {})).answer.metrics
    ((_, state),) = processes.residents()
    assert (state.processes, state.restarts) == (1, {})


@pytest.mark.slow
async def test_a_hook_of_an_addon_has_values_and_instance(tmp_path: Path, processes: HookProcesses) -> None:
    """So many values that the run comes as a file."""
    values = Values(
        b"{}", b'{"m": {"b": "x", "c": "%s"}}' % (b"c" * FILE_FROM), InstanceInput(b'{"kind": "Busy"}', "/package")
    )
    contexts = [Context("afterHelm", ContextType.LIFECYCLE)]
    answer = (await processes.run(hook(tmp_path, "m"), contexts, {}, values=values)).answer
    assert [(one.path, one.value) for one in answer.values] == [("/m/a", "x")]
    assert [one.type for one in answer.conditions or ()] == ["Busy"]


def test_each_variable_of_a_run_is_set_for_hooks_that_stay() -> None:
    files = Workspace("a", "b", "c", "d", "e", ValuesPaths(*"abcd"), InstancePaths(*"abc"))
    text = LIBRARY.with_name("hook.sh").read_text()
    assert [name for name in files.environment({}) if f"{name}=" not in text] == []

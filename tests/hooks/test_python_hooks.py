"""Python hooks are asked for their configuration and run in forks of a prepared interpreter. Level: pure."""

import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.hooks.catalog import load
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.jq.program import Jq
from hookrunner.model.contexts import Context, ContextType
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings

pytestmark = pytest.mark.slow  # each starts a Python

HOOK = """#!/usr/bin/env python3
import json, os, sys
if sys.argv[1:] == ["--config"]:
    print(json.dumps({"configVersion": "v1", "onStartup": 1, "settings": SETTINGS}))
else:
    with open(os.environ["METRICS_PATH"], "w") as file:
        file.write(json.dumps({"name": "modules", "action": "set", "value": len(sys.modules)}))
"""


@pytest.fixture
async def forking() -> AsyncIterator[Children]:
    children = Children(Patience(kill=0.3))
    yield children
    await children.stop(0.0)


async def run(settings: HooksSettings, children: Children, jq: Jq, **own: object) -> str:
    """The carrier of the only hook's run, which must give the same answer by each."""
    assert settings.directory
    path = settings.directory / "hook.py"
    path.write_text(HOOK.replace("SETTINGS", repr(own)))
    path.chmod(0o755)
    os.utime(path, (1e9, 1e9))
    settings = replace(settings, environ={"PATH": str(Path(sys.executable).parent)})
    [hook] = (await load(settings, children, jq)).hooks
    children.interpreters.reports.clear()
    startup = Context("onStartup", ContextType.STARTUP)
    ran = await HookProcesses(settings, children).run(hook, [startup], {})
    assert [operation.name for operation in ran.answer.metrics] == ["modules"]
    return children.interpreters.reports.get(str(path), "not asked")


async def test_a_python_hook_is_forked(settings: HooksSettings, forking: Children, jq: Jq) -> None:
    assert await run(settings, forking, jq) == "a fork of a prepared Python (prepared: json, os, sys)"


async def test_a_hook_may_refuse(settings: HooksSettings, forking: Children, jq: Jq) -> None:
    assert await run(settings, forking, jq, fork=False) == "not asked"


async def test_the_flag_turns_it_off(settings: HooksSettings, forking: Children, jq: Jq) -> None:
    assert await run(replace(settings, python_fork=False), forking, jq) == "not asked"
    assert not forking.interpreters.pids

"""What only a process can do wrong: end badly, hang, flood, leave something behind. And: what ships is checked.

Level: pure."""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from simcloud_lib.state import first_state

from hookrunner.cloud.checks.probe import Probe
from hookrunner.cloud.checks.program_runner import ProcessRunner
from hookrunner.cloud.checks.provider_check import CheckOptions, RuleStatus, check_provider
from hookrunner.cloud.provider import verbs
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.testing.starters.provider_starter import write_provider
from tests.cloud.checks.first_calls import FirstCallsRunner, in_place, served
from tests.cloud.checks.sample_provider import nodes_of
from tests.providers.fake_rest_cloud import TOKEN, rest_cloud
from tests.providers.provider_calls import PROVIDERS, load_provider
from tests.providers.test_libvirt import VIRSH


def variables_of(executable: Path, **more: str) -> dict[str, str]:
    path = os.environ["PATH"]
    return {"PATH": f"{executable.parent}:{Path(sys.executable).parent}:{path}", **more}


def probe_of(executable: Path, timeout: float = 60.0, **environment: str) -> Probe:
    runner = ProcessRunner(executable, variables_of(executable, **environment), Children(Patience()))
    return Probe(runner, "kubernetes", timeout)


@asynccontextmanager
async def served_probe(executable: Path, **environment: str) -> AsyncIterator[Probe]:
    """The first call of each verb is a process, later ones go to one that serves."""
    variables = variables_of(executable, **environment)
    async with served(executable, variables) as ask:
        processes = ProcessRunner(executable, variables, Children(Patience()))
        yield Probe(FirstCallsRunner(processes, ask), "kubernetes", 60.0)


@pytest.mark.parametrize(
    ("script", "timeout", "rule", "message"),
    [
        ("exit 3", 60, "exit-code", "ended with exit status 3"),
        ("no-such-program", 60, "exit-code", "the end of its log: "),
        ("kill -9 $$", 60, "exit-code", "ended with killed by SIGKILL"),
        ("sleep 60", 0.5, "deadline", "had not ended after 0.5 s"),
        ("trap '' TERM; cat >/dev/null; head -c 20M /dev/zero | tr '\\0' x", 60, "one-document", "more than 2 MiB"),
        ("echo hello", 60, "one-document", "is not JSON: 'hello'"),
    ],
)
async def test_a_bad_end_is_said(tmp_path: Path, script: str, timeout: float, rule: str, message: str) -> None:
    reply = await probe_of(executable(tmp_path, script), timeout).ask(verbs.CAPABILITIES, {})
    assert reply.problem
    assert reply.problem.rule == rule
    assert message in reply.problem.text


async def test_a_process_that_is_left_behind_is_named_and_ended(tmp_path: Path) -> None:
    named = "until grep -q sleep /proc/$!/comm; do :; done"  # it has the shell's name before it is executed
    script = f"sleep 61 >&- 2>&- & {named}; echo '{{\"result\": {{}}}}'"
    reply = await probe_of(executable(tmp_path, script)).ask(verbs.LB_DELETE, {})
    assert reply.printed.left_behind == ("sleep",)


async def test_a_program_that_cannot_be_started_is_an_ending(tmp_path: Path) -> None:
    reply = await probe_of(tmp_path / "missing").ask(verbs.CAPABILITIES, {})
    assert reply.problem
    assert "missing" in reply.problem.text


def executable(directory: Path, script: str) -> Path:
    path = directory / "provider"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


async def broken_rules(probe: Probe, *names: str, writes: bool = True) -> dict[str, tuple[str, ...]]:
    outcomes = [outcome async for outcome in check_provider(probe, CheckOptions(tuple(nodes_of(list(names))), writes))]
    return {
        outcome.rule: outcome.texts
        for outcome in outcomes
        if outcome.status in (RuleStatus.BROKEN, RuleStatus.DOUBTFUL)
    }


CARELESS = """#!PYTHON -IS
import json, subprocess, sys, threading

def answer(request):
    result = {"providerName": "careless", "interfaces": {"routes": True}, "features": {"serve": True}}
    if request["verb"] == "routes-list":
        subprocess.run(COMMAND, shell=True)
        result = {"routes": []}
    print(json.dumps({"requestID": request["requestID"], "result": result}), flush=True)

if sys.argv[1] == "serve":
    for line in iter(sys.stdin.readline, ""):
        threading.Thread(target=answer, args=(json.loads(line),)).start()
else:
    answer({**json.load(sys.stdin), "verb": sys.argv[1]})
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("head -n 1 >/dev/null", "were lost. A program that it starts"),
        ("echo connected", "while it answered routes-list. A program that it starts"),
        ("true", ""),
    ],
)
async def test_a_child_that_reads_requests_or_prints_is_found(tmp_path: Path, command: str, message: str) -> None:
    path = tmp_path / "provider"
    path.write_text(CARELESS.replace("PYTHON", sys.executable).replace("COMMAND", repr(command)))
    path.chmod(0o755)
    broken = await broken_rules(probe_of(path), writes=False)
    assert message in "".join(broken.get("serve-children", ()))
    assert ("serve-children" in broken) == bool(message)


@pytest.mark.slow
async def test_simcloud_keeps_all_rules(tmp_path: Path) -> None:
    cloud = tmp_path / "cloud.json"
    cloud.write_text(json.dumps(first_state() | {"capabilities": {"features": {"serve": True}}}))
    async with served_probe(PROVIDERS / "simcloud", CLOUD_CONFIG=str(cloud)) as probe:
        assert await broken_rules(probe, "worker-1", "worker-2") == {}


@pytest.mark.slow
async def test_the_inventory_keeps_all_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "machines.json"
    pool = {"addresses": "192.0.2.1-192.0.2.9", "state": str(tmp_path / "state")}
    file.write_text(f"machines: [{{name: rack-1}}, {{name: rack-2}}]\nloadBalancers: {pool}\n")
    monkeypatch.setenv("CLOUD_CONFIG", str(file))
    probe = probe_of(PROVIDERS / "inventory", CLOUD_CONFIG=str(file))
    later = in_place(load_provider(PROVIDERS / "inventory").answer_request)
    runner = FirstCallsRunner(probe.runner, later)
    assert await broken_rules(replace(probe, runner=runner), "rack-1", "rack-2") == {}


@pytest.mark.slow
async def test_the_example_in_shell_keeps_all_rules(tmp_path: Path) -> None:
    virsh = tmp_path / "virsh"
    virsh.write_text(VIRSH)
    virsh.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert await broken_rules(probe_of(PROVIDERS / "libvirt", PATH=path), "a", "b") == {}


@pytest.mark.slow
async def test_the_example_in_python_keeps_all_rules() -> None:
    with rest_cloud() as cloud:
        async with served_probe(PROVIDERS / "rest-example", CLOUD_URL=cloud.url, CLOUD_TOKEN=TOKEN) as probe:
            assert await broken_rules(probe, "node-1", "node-2") == {}


@pytest.mark.slow
async def test_a_new_provider_in_python_keeps_all_rules(tmp_path: Path) -> None:
    async with served_probe(write_provider("my-cloud", "python", tmp_path)) as probe:
        assert await broken_rules(probe, "worker-1", "worker-3") == {}

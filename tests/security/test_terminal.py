"""What hooks, objects, files and values say never reaches a terminal as something that it obeys. Level: sandbox."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

import hookrunner
from tests.fakes.command_line import Command, Endpoint
from tests.flows.modules.world import World

ATTACK = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\rhidden"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
FAILING = r"""#!/bin/bash
[ "$1" = --config ] && { echo '{"configVersion":"v1","onStartup":1}'; exit; }
printf '\033]0;owned\007\033[2J\302\233' >&2
exit 1
"""
ROWS = {
    "modules": [
        {"name": ATTACK, "weight": 1, "version": ATTACK, "ready": False, "state": ATTACK, "phase": ATTACK}
        | {"revision": 1, "since": 1.0, "reason": ATTACK, "refused": ATTACK, "drift": [ATTACK], "records": [ATTACK]}
    ]
}


async def test_queue_list_prints_escapes_of_hooks_visibly(world: World) -> None:
    world.write("hooks/bad.sh", FAILING)
    await world.start(ready=False)
    await world.operator.wait_log("Will retry after delay")  # then the queue has what it printed
    printed = {form: world.operator.command("queue", "list", "-o", form) for form in ("text", "json", "yaml")}
    assert {form: OBEYED.findall(text) for form, text in printed.items()} == {form: [] for form in printed}
    assert [form for form, text in printed.items() if "owned" not in text] == []
    assert "\\x1b]0;owned" in repr(json.loads(printed["json"]))


COMMANDS = {
    "queue list": "/queue/list.text",
    "queue main": "/queue/main.text",
    "hook list": "/hook/list.text",
    "config list": "/config/list.text",
    "hook snapshot a": "/hook/a/snapshots.text",
    "raw /x": "/x",
    "module list": "/module/list.json",
    "module graph": "/graph?format=text",
    "module values a": "/module/a/values.yaml",
    "module values a --explain": "/module/a/values.json?explain=true",
    "module config a": "/module/a/config.yaml",
    "module patches a": "/module/a/patches.yaml",
    "module snapshots a": "/module/a/snapshots.yaml",
    "module render a": "/module/a/render",
    "module render a --diff": "/module/a/render?diff=true",
    "module adopt a": "/module/a/adopt",
    "module rollback a": "/module/a/rollback",
    "module resource-monitor": "/module/resource-monitor.yaml",
    "global values": "/global/values.yaml",
}


@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_prints_terminal_escapes(command: Command, endpoint: Endpoint, words: str) -> None:
    answers = {
        "module list": orjson.dumps(ROWS).decode(),
        "module values a --explain": orjson.dumps([{"path": ATTACK, "layer": ATTACK, "value": ATTACK}]).decode(),
        "module render a --diff": f"--- {ATTACK}\n+++ {ATTACK}\n@@ {ATTACK}\n+{ATTACK}\n-{ATTACK}\n",
    }
    endpoint.answers = {COMMANDS[words]: answers.get(words, f"{ATTACK}\n")}
    ended = command(*words.split(), "--debug-unix-socket", str(endpoint.socket))
    assert OBEYED.findall(ended.out + ended.err) == []
    assert "hidden" in ended.out


def test_errors_print_no_terminal_escapes(command: Command, endpoint: Endpoint) -> None:
    for words in (("hook", "snapshot", ATTACK), (ATTACK,), ("queue", ATTACK), ("hook", "lint", ATTACK)):
        ended = command(*words, *(["--debug-unix-socket", str(endpoint.socket)] if "snapshot" in words else []))
        assert (ended.code > 0, OBEYED.findall(ended.out + ended.err)) == (True, [])


@pytest.mark.parametrize("words", ["hook run HOOK", "hook run HOOK -o json", "hook run HOOK -o yaml", "hook lint HOOK"])
def test_tools_print_output_of_hooks_without_escapes(command: Command, tmp_path: Path, words: str) -> None:
    (hook := tmp_path / "hook\x1b[2J.sh").write_text(FAILING.replace('"onStartup":1', '"onStartup":"\\033[2J"', 0))
    hook.chmod(0o755)
    ended = command(*(str(hook) if word == "HOOK" else word for word in words.split()))
    assert OBEYED.findall(ended.out + ended.err) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "color", "json"])
def test_the_log_prints_no_terminal_escapes_also_in_stack_traces(kind: str) -> None:
    """Only our own colours are there."""
    script = (
        f"import sys; from hookrunner import log; log.configure({kind!r}, 'info', sys.stdout)\n"
        f"try: raise ValueError({ATTACK!r})\nexcept ValueError: log.get('x').exception({ATTACK!r}, a={ATTACK!r})\n"
        "log.flush(9)"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout.decode()
    assert "owned" in printed
    assert set(OBEYED.findall(re.sub(r"\x1b\[\d*m", "", printed))) <= ({"\x7f"} if kind == "json" else set())


def test_only_one_file_of_the_command_line_prints() -> None:
    printing = []
    for file in (Path(hookrunner.__file__).parent / "cli").rglob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        words = {ast.unparse(call) for call in calls}
        if words & {"click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write"}:
            printing.append(file.name)
    assert printing == ["output.py"]

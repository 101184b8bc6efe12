"""Resident hooks under a running program: they serve, they end with it, and whichever side is killed, nothing is lost.

Level: sandbox."""

import json
import os
from functools import partial
from pathlib import Path
from signal import SIGKILL, SIGTERM

from tests.flows.operator import Operator
from tests.flows.test_sandbox import Api, operating
from tests.flows.waiting import until

CONFIG = {
    "configVersion": "v1",
    "settings": {"resident": {"idle": "0"}},
    "kubernetes": [{"name": "cms", "kind": "ConfigMap", "executeHookOnSynchronization": False}],
}
HOOK = f"""#!/usr/bin/env python3
import json, os, signal, sys
if "--config" in sys.argv:
    print('{json.dumps(CONFIG)}')
    sys.exit()
told = os.environ["TOLD"]
for message in map(json.loads, os.fdopen(3)):
    if "hello" in message:
        os.write(4, b'{{"hello": {{"version": 1}}}}\\n')
    elif run := message.get("run"):
        with open(f"{{told}}/h.py.jsonl", "a") as file:
            file.write(json.dumps(run["contexts"]) + "\\n")
        is_held = os.path.exists(f"{{told}}/hold")
        open(f"{{told}}/pid-{{os.getpid()}}", "w").close()
        if is_held:
            signal.pause()
        os.write(4, json.dumps({{"answer": {{"id": run["id"]}}}}).encode() + b"\\n")
open(f"{{told}}/ended", "w").close()
"""


def flags(tmp_path: Path) -> tuple[str, ...]:
    return ("--sandbox", f"--sandbox-kubeconfig={tmp_path / 'own'}", f"--data={tmp_path / 'data'}")


def pids(program: Operator) -> list[int]:
    return [int(path.name.removeprefix("pid-")) for path in program.told.glob("pid-*")]


def hears_of(program: Operator, name: str) -> bool:
    return ("Added", name) in program.events("h.py")


async def test_one_process_serves_all_events_and_ends_with_the_program(tmp_path: Path) -> None:
    async with operating(tmp_path, {"h.py": HOOK}, *flags(tmp_path)) as program:
        api = Api(tmp_path / "own")
        for name in ("a", "b", "c"):
            api.create(name)
            await until(partial(hears_of, program, name), f"the event of {name}")
        assert len(pids(program)) == 1
        assert program.metric("hook_process_places", hook="h.py") == 1
        assert program.metric("hook_process_restarts_total") == 0
        assert program.metric("prepared_python_memory_bytes") > 1_000_000  # of the one that answered --config
    assert (program.told / "ended").exists()
    await program.alone()


async def test_a_process_that_is_killed_in_a_run_is_replaced_and_the_run_is_tried_again(tmp_path: Path) -> None:
    async with operating(tmp_path, {"h.py": HOOK}, *flags(tmp_path)) as program:
        program.tell("hold")
        Api(tmp_path / "own").create("a")
        await until(lambda: pids(program), "the run")
        (program.told / "hold").unlink()
        os.kill(pids(program)[0], SIGKILL)
        record = await program.wait_log("Will retry")
        assert "killed by SIGKILL" in record["error"]
        await program.has_run("h.py", 2)
        assert program.events("h.py") == [("Added", "a"), ("Added", "a")]
        assert program.metric("hook_process_restarts_total", hook="h.py", reason="failed") == 1
        await until(lambda: program.queue_list()["main"] == [], "an empty queue")


async def test_a_run_that_outlasts_the_grace_is_ended_and_the_exit_code_reports_it(tmp_path: Path) -> None:
    program = Operator(tmp_path, tmp_path / "kc", (*flags(tmp_path), "--shutdown-grace=200ms"))
    program.write_hooks({"h.py": HOOK})
    program.tell("hold")
    program.start()
    try:
        await program.ready()
        Api(tmp_path / "own").create("a")
        await until(lambda: pids(program), "the run")
        assert await program.stop() == 1
        await program.alone()
    finally:
        program.kill()


async def test_a_program_that_is_killed_leaves_no_process_and_the_next_one_runs_what_is_left(tmp_path: Path) -> None:
    program = Operator(tmp_path, tmp_path / "kc", flags(tmp_path))
    program.write_hooks({"h.py": HOOK})
    program.start()
    try:
        await program.ready()
        Api(tmp_path / "own").create("a")
        await program.has_run("h.py")
        await until(lambda: program.queue_list()["main"] == [], "the end of the run")
        program.send(SIGKILL)
        await program.ended()
        await program.alone()
        assert (program.told / "ended").exists()
        program.start()
        await program.ready()
        Api(tmp_path / "own").create("b")
        await until(lambda: ("Added", "b") in program.events("h.py"), "the event after the restart")
        assert await program.stop(SIGTERM) == 0
    finally:
        program.kill()

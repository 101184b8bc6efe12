"""What is shown of resident hooks: at /readyz, in metrics, in queue dumps. Level: sandbox."""

import json

from hookrunner.engine.resident_status import export_residents
from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from tests.engine.conftest import Bench
from tests.fakes.cluster import until

CONFIG = {"configVersion": "v1", "onStartup": 1, "settings": {"resident": True}}
BEGIN = f"""#!/bin/bash
if [ "$1" = --config ]; then echo '{json.dumps(CONFIG)}'; exit; fi
"""
HELLO = """read -r line <&3; echo '{"hello": {"version": 1, "capabilities": ["progress"]}}' >&4; read -r line <&3
"""


def write(bench: Bench, script: str) -> None:
    path = bench.directory / "hooks" / "a.sh"
    path.write_text(BEGIN + script)
    path.chmod(0o755)


async def test_a_run_shows_its_progress_and_its_process(bench: Bench, jq: Jq, client: Client) -> None:
    write(bench, HELLO + """echo '{"progress": {"id": "r1", "message": "3 of 10"}}' >&4; read -r line <&3\n""")
    await bench.start(jq, client)
    await until(lambda: bool(bench.shown()) and "3 of 10" in bench.shown()[0])
    assert bench.shown()[0].startswith("HookRun::onStartup:a.sh:running for ")
    export(bench)
    lines = bench.metrics.exposition().decode().splitlines()
    assert 'hook_process_places{hook="a.sh"} 1' in lines
    assert 'hook_process_places_in_use{hook="a.sh"} 1' in lines
    for name in ("memory_bytes", "age_seconds"):
        (value,) = (line.split()[1] for line in lines if line.startswith(f'hook_process_{name}{{hook="a.sh"}} '))
        assert float(value) > 0
    assert bench.status.conditions()["residents"] == (True, "")
    await bench.executor.processes.close()


async def test_a_hook_that_is_not_ready_is_named_and_keeps_nothing_unready(
    bench: Bench, jq: Jq, client: Client
) -> None:
    write(bench, "echo no library >&2; exit 1\n")
    await bench.start(jq, client)
    await until(lambda: "failures 1" in "".join(bench.shown()))
    assert bench.status.conditions()["residents"] == (
        True,
        "a.sh: a.sh --resident: exit status 1: no library",
    )
    export(bench)
    lines = bench.metrics.exposition().decode().splitlines()
    assert 'hook_process_restarts_total{hook="a.sh",reason="failed"} 1' in lines
    assert 'hook_process_crash_loop{hook="a.sh"} 0' in lines
    await bench.executor.processes.close()


async def test_without_resident_hooks_nothing_is_shown(bench: Bench, jq: Jq, client: Client) -> None:
    bench.hook("a.sh", {"onStartup": 1})
    await bench.start(jq, client)
    await bench.wait_for_runs("a.sh", 1)
    assert "residents" not in bench.status.conditions()


async def test_a_removed_hook_leaves_no_process(bench: Bench, jq: Jq, client: Client) -> None:
    write(bench, HELLO + """echo '{"answer": {"id": "r1"}}' >&4; read -r line <&3\n""")
    await bench.start(jq, client)
    await until(lambda: any(state.processes for _, state in bench.executor.processes.residents()))
    await bench.idle()
    bench.engine.unregister(bench.engine.hooks["a.sh"])
    assert [*bench.executor.processes.residents()] == []


def export(bench: Bench) -> None:
    export_residents(bench.metrics, bench.executor.processes)

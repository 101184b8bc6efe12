"""What hookrunner shows its users: metrics, readiness, logs, and the debug commands. Level: control plane."""

import json
import re

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import HOLD, hook, watching
from tests.flows.waiting import until


async def test_a_run_is_counted_in_the_metrics(operator: Start, cms: ConfigMaps) -> None:
    program = await operator({"h.sh": watching(cms.namespace, queue="q")})
    cms.create("new")
    await until(
        lambda: program.metric("hook_run_success_total", hook="h.sh", binding="cms", queue="q") == 1, "its success"
    )
    assert program.metric("hook_run_success_total", hook="h.sh", queue="main") == 1
    assert program.metric("hook_run_seconds_count", hook="h.sh", queue="q") == 1
    assert program.metric("kube_snapshot_objects", hook="h.sh", binding="cms") == 1
    assert program.metric("hook_enable_kubernetes_bindings_success", hook="h.sh") == 1
    assert program.metric("hook_run_max_rss_bytes", hook="h.sh", queue="q") > 100_000
    ended = lambda: program.metric("event_latency_seconds_count", stage="done", hook="h.sh") == 2  # noqa: E731
    await until(ended, "the end of both runs")
    # A Synchronization is no event that was received.
    assert program.metric("event_latency_seconds_count", stage="queued", hook="h.sh") == 1


async def test_metrics_measure_the_time_of_filters_and_events(operator: Start, cms: ConfigMaps) -> None:
    cms.create("old")
    program = await operator({"h.sh": watching(cms.namespace, jqFilter=".data | length")})
    cms.create("new")
    await program.has_run("h.sh", 2)
    assert program.metric("kube_jq_filter_duration_seconds_count", hook="h.sh", binding="cms") == 2
    assert program.metric("kube_event_duration_seconds_count", hook="h.sh", binding="cms") >= 1


async def test_metrics_show_a_hook_while_it_runs(operator: Start) -> None:
    program = await operator({"h.sh": hook({"onStartup": 1}, HOLD)}, ready=False)
    await program.has_run("h.sh")
    await until(lambda: program.metric("hook_running_seconds", hook="h.sh") > 0.05, "its age")
    assert program.metric("hook_processes") == 1
    [task] = program.queue_list()["main"]
    assert re.fullmatch(r"HookRun::onStartup:h\.sh:running for [0-9.]+s", task)
    assert "startup" in program.readyz().messages
    program.tell("go")
    await program.ready()
    assert program.metric("hook_processes") == 0


async def test_output_of_a_hook_is_logged_with_its_source(operator: Start, cms: ConfigMaps) -> None:
    program = await operator({"h.sh": watching(cms.namespace, 'echo "hello there"; echo "oh dear" >&2\n')})
    for words in ("hello there", "oh dear"):
        record = await program.wait_log(words)
        assert (record["hook"], record["binding"], record["queue"]) == ("h.sh", "cms", "main")


async def test_debug_commands_show_queues_hooks_and_snapshots(operator: Start, cms: ConfigMaps) -> None:
    cms.create("a", x="1")
    program = await operator({"h.sh": watching(cms.namespace, queue="q", jqFilter=".data.x")})
    shown = "Summary:\n- 'main' queue: empty.\n- 1 other queue (0 active, 1 empty): 0 tasks.\n- no tasks to handle.\n"
    assert program.command("queue", "list") == shown
    assert json.loads(program.command("hook", "list", "-o", "json")) == ["h.sh"]
    snapshot = json.loads(program.command("hook", "snapshot", "h.sh", "-o", "json"))["cms"]
    assert [entry["filterResult"] for entry in snapshot["snapshot"]] == ["1"]
    assert snapshot["operations"]["sinceStart"]["count"] == 1


async def test_the_log_level_is_changed_while_it_runs(operator: Start, cms: ConfigMaps) -> None:
    program = await operator({"h.sh": watching(cms.namespace)})
    program.command("config", "set", "log.level", "error")
    levels = {entry["name"]: entry["value"] for entry in json.loads(program.command("config", "list", "-o", "json"))}
    assert levels == {"log.level": "error"}

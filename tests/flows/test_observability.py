"""What hookrunner shows its users: metrics, readiness and logs. Level: control plane."""

import re

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import HOLD, hook, watching
from tests.flows.waiting import until


async def test_a_run_is_counted_and_measured_and_its_output_logged(operator: Start, cms: ConfigMaps) -> None:
    output = 'echo "hello there"; echo "oh dear" >&2\n'
    program = await operator({"h.sh": watching(cms.namespace, output, queue="q", jqFilter=".data | length")})
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
    assert program.metric("kube_jq_filter_duration_seconds_count", hook="h.sh", binding="cms") == 1
    assert program.metric("kube_event_duration_seconds_count", hook="h.sh", binding="cms") >= 1
    for words in ("hello there", "oh dear"):
        record = await program.wait_log(words)
        assert (record["hook"], record["binding"]) == ("h.sh", "cms")
        assert record["queue"] in ("main", "q")
    # A Synchronization is no event that was received.
    assert program.metric("event_latency_seconds_count", stage="queued", hook="h.sh") == 1


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

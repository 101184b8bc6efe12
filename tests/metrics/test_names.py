"""The metrics about hookrunner itself: their names on the wire, and what happens to their values.

The bookkeeping of counters and histograms (`series`) is tested through the text that it ends in.

Level: pure.
"""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hookrunner.errors import StartRefused
from hookrunner.metrics.names import RUNTIME_SAMPLES, Metrics, rows, ticks
from hookrunner.metrics.recorders import Requests
from hookrunner.metrics.runtime import registry
from tests.tables import each

REFERENCE = """
live_ticks counter
tasks_queue_length gauge queue
tasks_queue_action_duration_seconds histogram queue_action,queue_name
d8_telemetry_*tasks_queue_compaction_operations_total counter hook,queue_name
d8_telemetry_*tasks_queue_compaction_tasks_by_hook gauge hook,queue_name
hook_enable_kubernetes_bindings_seconds gauge hook
hook_enable_kubernetes_bindings_errors_total counter hook
hook_enable_kubernetes_bindings_success gauge hook
hook_run_seconds histogram binding,hook,queue
hook_run_user_cpu_seconds histogram binding,hook,queue
hook_run_sys_cpu_seconds histogram binding,hook,queue
hook_run_max_rss_bytes gauge binding,hook,queue
hook_run_errors_total counter binding,hook,queue
hook_run_allowed_errors_total counter binding,hook,queue
hook_run_success_total counter binding,hook,queue
task_wait_in_queue_seconds_total counter binding,hook,queue
kube_snapshot_objects gauge binding,hook,queue
kube_jq_filter_duration_seconds histogram binding,hook,queue
kube_event_duration_seconds histogram binding,hook,queue
kubernetes_client_watch_errors_total counter error_type
binding_monitor_missing_total counter binding
factory_informer_dead_total counter gvr,namespace
kubernetes_client_request_result_total counter code,component,host,method
kubernetes_client_rate_limiter_latency_seconds histogram url,verb
kubernetes_client_request_latency_seconds histogram component,url,verb
"""
"""Metrics of shell-operator; `*` is where the prefix goes if not in front."""

MODULES = """
binding_count gauge hook,module
config_values_errors_total counter
modules_discover_errors_total counter
module_delete_errors_total counter module
module_run_errors_total counter module
module_run_seconds histogram activation,module
module_helm_seconds histogram activation,module
helm_operation_seconds histogram activation,module,operation
modules_helm_release_redeployed_total counter module
modules_absent_resources_total counter module,resource
module_hook_run_seconds histogram activation,binding,hook,module,queue
module_hook_run_user_cpu_seconds histogram activation,binding,hook,module,queue
module_hook_run_sys_cpu_seconds histogram activation,binding,hook,module,queue
module_hook_run_max_rss_bytes gauge activation,binding,hook,module,queue
module_hook_allowed_errors_total counter activation,binding,hook,module,queue
module_hook_errors_total counter activation,binding,hook,module,queue
module_hook_success_total counter activation,binding,hook,module,queue
global_hook_run_seconds histogram activation,binding,hook,queue
global_hook_run_user_cpu_seconds histogram activation,binding,hook,queue
global_hook_run_sys_cpu_seconds histogram activation,binding,hook,queue
global_hook_run_max_rss_bytes gauge activation,binding,hook,queue
global_hook_allowed_errors_total counter activation,binding,hook,queue
global_hook_errors_total counter activation,binding,hook,queue
global_hook_success_total counter activation,binding,hook,queue
convergence_seconds counter activation
convergence_total counter activation
tasks_queue_head_info gauge hook,module,queue,task_type
mm_module_info gauge critical,enabled,module
mm_module_enabled gauge module,version
mm_module_maintenance gauge module,state
"""
"""Metrics of addon-operator."""


def touch_everything(metrics: Metrics) -> None:
    """Give each declared family one series."""
    for row in rows():
        family = row.__get__(metrics, Metrics)
        match family.kind:
            case "counter":
                family.add(0.0, *row.labels)  # type: ignore[attr-defined]
            case "gauge":
                family.set(0.0, *row.labels)  # type: ignore[attr-defined]
            case _:
                family.observe(0.0, *row.labels)  # type: ignore[attr-defined]


def own_lines(metrics: Metrics) -> list[str]:
    """The text without what the library says about the process."""
    return metrics.exposition().decode().partition("# HELP python_")[0].splitlines()


@each("line", REFERENCE.split("\n")[1:-1])
def test_each_metric_of_the_predecessor_has_its_exact_name_type_and_labels(line: str) -> None:
    name, kind, labels = [*line.split(), ""][:3]
    metrics = Metrics("shell_operator_")
    touch_everything(metrics)
    full = name.replace("*", "shell_operator_") if "*" in name else "shell_operator_" + name
    assert_shown(own_lines(metrics), full, kind, labels)


@pytest.mark.slow
@each("line", MODULES.split("\n")[1:-1])
def test_each_metric_of_modules_has_its_exact_name_type_and_labels(line: str) -> None:
    name, kind, labels = [*line.split(), ""][:3]
    metrics = Metrics("addon_operator_")
    touch_everything(metrics)
    assert_shown(own_lines(metrics), f"addon_operator_{name}", kind, labels)


def test_enabled_module_has_a_metric_without_prefix() -> None:
    metrics = Metrics("p_")
    metrics.telemetry_module_enabled.set(1, "a", "1.2.3")
    assert 'd8_telemetry_module_enabled{module="a",version="1.2.3"} 1' in own_lines(metrics)


def assert_shown(text: list[str], full: str, kind: str, labels: str) -> None:
    """There is such a family, and its first series has these labels."""
    first = next(text[place + 1] for place, row in enumerate(text) if row == f"# TYPE {full} {kind}")
    shown = ",".join(pair.partition("=")[0] for pair in first.partition("{")[2].partition("}")[0].split(",") if pair)
    assert shown.removesuffix(",le") == labels
    assert first.startswith(full + ("_bucket" if kind == "histogram" else "") + ("{" if labels else " "))


def test_no_suffix_is_added_to_any_name() -> None:
    metrics = Metrics("p_")
    touch_everything(metrics)
    declared = {row.name.format("p_") for row in rows()}
    shown = {line.split()[2] for line in own_lines(metrics) if line.startswith("# TYPE")}
    assert shown == declared
    assert not any("_created" in line or "live_ticks_total" in line for line in own_lines(metrics))


GOLDEN = """\
# HELP p_factory_informer_dead_total Shared watches that were found dead and started again.
# TYPE p_factory_informer_dead_total counter
p_factory_informer_dead_total{gvr="v1/pods",namespace=""} 1
# HELP p_kubernetes_client_rate_limiter_latency_seconds Time that requests waited for the client's own limit or for \
the server's Retry-After.
# TYPE p_kubernetes_client_rate_limiter_latency_seconds histogram
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="0.005"} 0
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="0.01"} 0
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="0.025"} 0
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="0.05"} 0
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="0.1"} 0
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="0.25"} 1
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="0.5"} 1
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="1"} 1
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="2.5"} 1
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="5"} 1
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="10"} 1
p_kubernetes_client_rate_limiter_latency_seconds_bucket{url="/api",verb="GET",le="+Inf"} 1
p_kubernetes_client_rate_limiter_latency_seconds_sum{url="/api",verb="GET"} 0.25
p_kubernetes_client_rate_limiter_latency_seconds_count{url="/api",verb="GET"} 1
# HELP p_live_ticks 1 at the start and 1 more every 10 seconds.
# TYPE p_live_ticks counter
p_live_ticks 1
# HELP p_tasks_queue_length Tasks in the queue, waiting or running.
# TYPE p_tasks_queue_length gauge
p_tasks_queue_length{queue="main"} 0
p_tasks_queue_length{queue="slow"} 2"""


def test_the_text_of_a_counter_a_gauge_and_a_histogram_byte_for_byte() -> None:
    metrics = Metrics("p_")
    metrics.factory_informer_dead.inc("v1/pods", "")
    metrics.tasks_queue_length.from_function(lambda: [(("slow",), 2), (("main",), 0)])
    metrics.kubernetes_client_rate_limiter_latency_seconds.observe(0.25, "GET", "/api")
    assert "\n".join(own_lines(metrics)) == GOLDEN


def test_run_histograms_have_the_intended_buckets() -> None:
    metrics = Metrics("")
    metrics.hook_runs.seconds.observe(30, "h", "b", "q")
    bounds = [line.split('le="')[1].split('"')[0] for line in own_lines(metrics) if "hook_run_seconds_bucket" in line]
    assert " ".join(bounds) == "0 0.02 0.05 0.1 0.2 0.5 1 2 5 10 20 50 100 200 500 +Inf"


def test_histograms_of_modules_have_the_documented_buckets() -> None:
    metrics = Metrics("")
    for family in (metrics.module_run_seconds, metrics.module_helm_seconds):
        family.observe(30, "m", "")
    bounds = [line.split(',le="')[1].split('"')[0] for line in own_lines(metrics) if "_seconds_bucket" in line]
    assert " ".join(bounds) == " ".join(["0 0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2 0.5 1 2 5 10 +Inf"] * 2)


@each(
    ("family", "labels"),
    [
        ("hook_run", ("h", "b", "q")),
        ("module_hook", ("m", "h", "b", "q", "")),
        ("global_hook", ("h", "b", "q", "OperatorStartup")),
    ],
)
def test_the_three_run_counters_of_a_hook_appear_together(family: str, labels: tuple[str, ...]) -> None:
    metrics = Metrics("")
    getattr(metrics, f"{family.removesuffix('_run')}_runs").errors.inc(*labels)
    values = {line.split("{")[0]: line.split()[-1] for line in own_lines(metrics) if line.startswith(family)}
    assert values == {
        f"{family}_errors_total": "1",
        f"{family}_allowed_errors_total": "0",
        f"{family}_success_total": "0",
    }


def test_only_series_of_module_hooks_have_the_label_module() -> None:
    metrics = Metrics("")
    metrics.task_wait_in_queue_seconds.add(1, "h", "b", "q")
    metrics.task_wait_in_queue_seconds.add(2, "h", "b", "q", "")
    metrics.task_wait_in_queue_seconds.add(4, "h", "b", "q", "m")
    metrics.event_latency_seconds.observe(1, "done", "h", "b", "m")
    metrics.kube_snapshot_objects.from_function(lambda: [(("h", "b", "q"), 5), (("h", "b", "q", "m"), 6)])
    assert {line for line in own_lines(metrics) if line.startswith(("task", "kube"))} == {
        'task_wait_in_queue_seconds_total{binding="b",hook="h",queue="q"} 3',
        'task_wait_in_queue_seconds_total{binding="b",hook="h",module="m",queue="q"} 4',
        'kube_snapshot_objects{binding="b",hook="h",queue="q"} 5',
        'kube_snapshot_objects{binding="b",hook="h",module="m",queue="q"} 6',
    }
    assert 'event_latency_seconds_count{binding="b",hook="h",module="m",stage="done"} 1' in own_lines(metrics)


def test_a_gauge_from_a_function_is_read_at_each_scrape() -> None:
    metrics, lengths = Metrics(""), {("main",): 1.0}
    metrics.tasks_queue_length.from_function(lengths.items)
    assert 'tasks_queue_length{queue="main"} 1' in own_lines(metrics)
    lengths[("main",)] = 7
    assert 'tasks_queue_length{queue="main"} 7' in own_lines(metrics)


def test_wrong_number_of_label_values_raises() -> None:
    with pytest.raises(ValueError, match=r"hook_run_success_total takes the labels \('hook', 'binding', 'queue'\)"):
        Metrics("").hook_runs.success.inc("h")


def test_queue_action_durations_can_be_left_out() -> None:
    metrics = Metrics("", queue_actions=False)
    metrics.tasks_queue_action_duration_seconds.observe(1, "main", "put")
    assert not any("queue_action" in line for line in own_lines(metrics))


@each(("uptime", "value"), [(0, 1), (9.9, 1), (10, 2), (3600, 361)])
def test_live_ticks_grow_every_ten_seconds(uptime: float, value: int) -> None:
    assert ticks(uptime) == value


@each("prefix", ["my-app_", "9_", "ä"])
def test_invalid_prefix_refuses_the_start(prefix: str) -> None:
    with pytest.raises(StartRefused, match="choose another prefix"):
        Metrics(prefix)


def test_metrics_of_process_and_interpreter_are_exported() -> None:
    names = {family.name for family in text_string_to_metric_families(Metrics().exposition().decode())}
    assert {"process_resident_memory_bytes", "python_info", "hookrunner_live_ticks"} <= names


def test_hooks_may_have_no_name_of_process_and_interpreter() -> None:
    """The list is ours, so that a start need not import the library."""
    names = {sample.name for family in registry().collect() for sample in family.samples}
    assert names == RUNTIME_SAMPLES <= Metrics().sample_names()


def test_a_finished_request_is_counted_and_timed() -> None:
    metrics = Metrics("")
    Requests(metrics).request_finished("GET", "/api/v1/pods", "10.0.0.1", "200", 0.03)
    lines = own_lines(metrics)
    assert 'kubernetes_client_request_result_total{code="200",component="main",host="10.0.0.1",method="GET"} 1' in lines
    assert 'kubernetes_client_request_latency_seconds_sum{component="main",url="/api/v1/pods",verb="GET"} 0.03' in lines


def test_requests_that_change_objects_are_counted_apart() -> None:
    metrics = Metrics("")
    Requests(metrics, "object_patcher").request_finished("PATCH", "/api/v1/pods/{name}", "10.0.0.1", "200", 0.03)
    labels = 'code="200",component="object_patcher",host="10.0.0.1",method="PATCH"'
    assert f"kubernetes_client_request_result_total{{{labels}}} 1" in own_lines(metrics)


def test_forgotten_module_leaves_no_series() -> None:
    metrics = Metrics("")
    metrics.module_run_errors.inc("a.b")
    metrics.module_run_seconds.observe(1.0, "a.b", "")
    metrics.tasks_queue_action_duration_seconds.observe(1.0, "addon/a.b", "AddLast")
    metrics.filter_errors.inc("h", "b", "a.b")
    metrics.forget_module("a.b", "addon/a.b")
    assert [line for line in metrics.exposition().decode().splitlines() if "a.b" in line] == []


def test_other_modules_keep_their_series_when_one_is_forgotten() -> None:
    metrics = Metrics("")
    metrics.module_run_errors.inc("a")
    metrics.module_run_errors.inc("b")
    metrics.forget_module("b", "module/b")
    assert b'module_run_errors_total{module="a"} 1' in metrics.exposition()
    assert b'module="b"' not in metrics.exposition()

"""Every metric that hookrunner exports about itself: one row each, with name, labels, buckets and meaning.

Names and labels up to `kubernetes_client_*` are shell-operator's, with its mistakes corrected (docs/differences.md);
the last block is ours; those of modules are in `modules.py`, of addons in `addons.py`, of the cloud in `cloud.py`.
`{}` in a name is the prefix.
Each row of `Metrics` is a live family on a `Metrics` object. Gauges of states are not written but read at the scrape
(`from_function`). Series of module hooks have the label `module` besides, as in addon-operator.

Rates of things that happen to hooks are counted where they happen; this file only says what they are called.
"""

import re
import time
from collections.abc import Iterator
from typing import Any

from hookrunner.errors import StartRefused
from hookrunner.metrics.addons import AddonMetrics
from hookrunner.metrics.cloud import CloudMetrics
from hookrunner.metrics.exposition import pieces, sample_names
from hookrunner.metrics.hook_runs import HookRunRows
from hookrunner.metrics.modules import ModuleMetrics
from hookrunner.metrics.series import (
    MODULE,
    MODULE_AND_KIND,
    Counter,
    Family,
    Histogram,
    Row,
    counter,
    gauge,
    histogram,
    rows_of,
)

RUNTIME_SAMPLES = frozenset(
    (
        "process_cpu_seconds_total",
        "process_max_fds",
        "process_open_fds",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_virtual_memory_bytes",
        "python_gc_collections_total",
        "python_gc_objects_collected_total",
        "python_gc_objects_uncollectable_total",
        "python_info",
    )
)
"""The names of what `runtime.py` adds."""

_BINDING = ("hook", "binding", "queue")
_HOOK = ("hook",)
_RESOURCE = ("gvr", "namespace")
_ACTIONS = (0, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_FILTERS = (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_RUNS = (0, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
_REQUESTS = (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
_LATENCIES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)


class Metrics(ModuleMetrics, AddonMetrics, CloudMetrics):
    """All families under one prefix, and the text of `/metrics`.

    Raises StartRefused for a prefix that no metric name may start with.
    """

    live_ticks = counter("{}live_ticks", (), "1 at the start and 1 more every 10 seconds.")

    tasks_queue_length = gauge("{}tasks_queue_length", ("queue",), "Tasks in the queue, waiting or running.")
    tasks_queue_action_duration_seconds = histogram(
        "{}tasks_queue_action_duration_seconds",
        ("queue_name", "queue_action"),
        "Time that one operation on a queue took.",
        _ACTIONS,
    )
    tasks_queue_compaction_operations = counter(
        "d8_telemetry_{}tasks_queue_compaction_operations_total",
        ("queue_name", "hook"),
        "How often waiting tasks of a hook were merged into one to shorten the queue.",
        optional=MODULE,
    )
    tasks_queue_compaction_tasks_by_hook = gauge(
        "d8_telemetry_{}tasks_queue_compaction_tasks_by_hook",
        ("queue_name", "hook"),
        "Tasks of a hook in the queue, while they are more than 20.",
        optional=MODULE,
    )
    task_wait_in_queue_seconds = counter(
        "{}task_wait_in_queue_seconds_total",
        _BINDING,
        "Seconds that tasks waited before each of their runs.",
        optional=MODULE,
    )

    hook_enable_kubernetes_bindings_seconds = gauge(
        "{}hook_enable_kubernetes_bindings_seconds",
        ("hook",),
        "Duration of the last attempt to start the watches.",
        optional=MODULE,
    )
    hook_enable_kubernetes_bindings_errors = counter(
        "{}hook_enable_kubernetes_bindings_errors_total",
        ("hook",),
        "Failed attempts to start the watches.",
        optional=MODULE,
    )
    hook_enable_kubernetes_bindings_success = gauge(
        "{}hook_enable_kubernetes_bindings_success",
        ("hook",),
        "1 if the last attempt to start the watches worked.",
        optional=MODULE,
    )

    hook_runs = HookRunRows("{}hook", _BINDING, "a task that ran a hook", _RUNS, counted="{}hook_run")

    kube_snapshot_objects = gauge(
        "{}kube_snapshot_objects", _BINDING, "Objects in the snapshot of a binding.", optional=MODULE_AND_KIND
    )
    kube_jq_filter_duration_seconds = histogram(
        "{}kube_jq_filter_duration_seconds", _BINDING, "Time to filter one object.", _FILTERS, optional=MODULE_AND_KIND
    )
    kube_event_duration_seconds = histogram(
        "{}kube_event_duration_seconds",
        _BINDING,
        "Time to handle one watch event, filter and queueing.",
        _FILTERS,
        optional=MODULE_AND_KIND,
    )
    kubernetes_client_watch_errors = counter(
        "{}kubernetes_client_watch_errors_total",
        ("error_type",),
        "Watches that ended: expired, eof, unexpected-eof or fail.",
    )
    binding_monitor_missing = counter(
        "{}binding_monitor_missing_total", ("binding",), "Snapshots asked of a binding that nothing watches."
    )
    factory_informer_dead = counter(
        "{}factory_informer_dead_total", _RESOURCE, "Shared watches that were found dead and started again."
    )
    kubernetes_client_request_result = counter(
        "{}kubernetes_client_request_result_total",
        ("component", "code", "method", "host"),
        "Requests to the Kubernetes API by status code; <error> if no answer came.",
    )
    kubernetes_client_rate_limiter_latency_seconds = histogram(
        "{}kubernetes_client_rate_limiter_latency_seconds",
        ("verb", "url"),
        "Time that requests waited for the client's own limit or for the server's Retry-After.",
    )
    kubernetes_client_request_latency_seconds = histogram(
        "{}kubernetes_client_request_latency_seconds",
        ("component", "verb", "url"),
        "Time from sending a request to the head of the answer.",
        _REQUESTS,
    )

    kubernetes_watch_stalls = counter(
        "{}kubernetes_watch_stalls_total", _RESOURCE, "Watches that fell silent and were resumed."
    )
    kubernetes_watch_relists = counter(
        "{}kubernetes_watch_relists_total", _RESOURCE, "Complete lists after the first one of a watch."
    )
    event_latency_seconds = histogram(
        "{}event_latency_seconds",
        ("stage", "hook", "binding"),
        "Way of an event, seconds since the stage before: queued (since received), started, done.",
        _LATENCIES,
        optional=MODULE,
    )
    tasks_queue_head_age_seconds = gauge(
        "{}tasks_queue_head_age_seconds",
        ("queue", "hook"),
        "Age of the task at the head of the queue.",
        optional=MODULE,
    )
    tasks_dropped = counter(
        "{}tasks_dropped_total", _BINDING, "Tasks given up after their last attempt.", optional=MODULE
    )
    binding_waiting = gauge(
        "{}binding_waiting", ("hook", "binding", "reason"), "1 while a binding cannot work.", optional=MODULE
    )
    filter_errors = counter(
        "{}filter_errors_total", ("hook", "binding"), "Objects that the filter failed on.", optional=MODULE
    )
    hook_processes = gauge("{}hook_processes", (), "Hook processes that run now.")
    hook_process_restarts = counter(
        "{}hook_process_restarts_total",
        ("hook", "reason"),
        "Ends of a resident hook's processes: `failed` before a hello or in a run, or replaced because of `runs`,"
        " `memory`, `file`, or because the hook `asked`.",
        optional=MODULE,
    )
    hook_process_age_seconds = gauge(
        "{}hook_process_age_seconds", _HOOK, "Age of the oldest process of a resident hook.", optional=MODULE
    )
    hook_process_memory_bytes = gauge(
        "{}hook_process_memory_bytes", _HOOK, "Memory (RSS) of all processes of a resident hook.", optional=MODULE
    )
    hook_process_places = gauge(
        "{}hook_process_places", _HOOK, "Runs that the processes of a resident hook can have at once.", optional=MODULE
    )
    hook_process_places_in_use = gauge(
        "{}hook_process_places_in_use", _HOOK, "Runs that they have now.", optional=MODULE
    )
    hook_process_crash_loop = gauge(
        "{}hook_process_crash_loop",
        _HOOK,
        "1 while the processes of a resident hook have ended five times in a row without an answer.",
        optional=MODULE,
    )
    prepared_python_memory_bytes = gauge(
        "{}prepared_python_memory_bytes",
        ("interpreter",),
        "Resident memory of the processes that Python hooks are forked from, by the path of their interpreter.",
    )
    background_crashes = counter(
        "{}background_crashes_total", ("task",), "Unexpected ends of tasks that were started again: please report."
    )
    background_failing = gauge(
        "{}background_failing", ("task",), "1 for a task that fails again and again, which makes the program not ready."
    )
    hook_running_seconds = gauge(
        "{}hook_running_seconds", _BINDING, "For how long the present run of a hook lasts.", optional=MODULE
    )

    hook_metrics_samples = gauge("{}hook_metrics_samples", (), "Samples that hooks export, as their bounds count them.")
    hook_metrics_refused = counter(
        "{}hook_metrics_refused_total",
        ("hook",),
        "Metrics operations of a hook that were refused: beyond a bound, or in conflict with what is there.",
        optional=MODULE,
    )

    webhook_reviews = counter(
        "{}webhook_reviews_total",
        ("type", "webhook", "result"),
        "Admission and conversion reviews by what came of them: allowed, denied, converted, failed, limit or unknown.",
    )
    webhook_seconds = histogram(
        "{}webhook_seconds",
        ("type", "webhook", "stage"),
        "Time of reviews: waited (for its turn and for snapshots), hook, total.",
        _LATENCIES,
    )
    webhook_running = gauge("{}webhook_running", (), "Reviews that are being answered or wait for their turn.")
    webhook_certificate_expiry = gauge(
        "{}webhook_certificate_expiry_timestamp_seconds",
        ("server",),
        "When the certificate that a webhook server shows will expire, in seconds since 1970.",
    )
    webhook_registered = gauge(
        "{}webhook_registered",
        ("kind", "name"),
        "1 while a registration in the cluster (a webhook configuration, a CRD) is as it should be.",
    )

    def __init__(self, prefix: str = "hookrunner_", queue_actions: bool = True) -> None:
        if not re.fullmatch(r"([a-zA-Z_:][a-zA-Z0-9_:]*)?", prefix):
            raise StartRefused(
                f"--prometheus-metrics-prefix '{prefix}': a metric name may hold letters, digits, '_' and ':' only "
                "and not start with a digit; choose another prefix"
            )
        self.prefix = prefix
        self._hidden = () if queue_actions else (self.tasks_queue_action_duration_seconds,)
        started = time.monotonic()
        self.live_ticks.from_function(lambda: [((), ticks(time.monotonic() - started))])
        for runs in (self.hook_runs, self.global_hook_runs, self.module_hook_runs):
            Counter.accompany(runs.errors, runs.allowed_errors, runs.success)

    def sample_names(self) -> frozenset[str]:
        """The names that the program's own samples have or may have."""
        ours = (sample_names(row.name.format(self.prefix), Histogram.kind) for row in rows())
        return RUNTIME_SAMPLES.union(*ours)

    def exposition(self) -> bytes:
        """The text of `/metrics`."""
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """The same in pieces: ours by name, then `python_*` and `process_*` (where Go's client has `go_*`)."""
        shown = (family for family in self._families() if family not in self._hidden)
        ordered = sorted(shown, key=lambda family: family.name)
        yield from pieces(line for family in ordered for line in family.lines())
        # 17 ms, which a start need not pay.
        from hookrunner.metrics.runtime import exposition

        yield exposition()

    def forget_module(self, module: str, queue: str) -> None:
        """Drop all series about a module, or about its own queue: it will not come back."""
        for family in self._families():
            family.forget("module", module)
            family.forget("queue", queue)
            family.forget("queue_name", queue)

    def _families(self) -> list[Family[Any]]:
        return [family for family in vars(self).values() if isinstance(family, Family)]


def ticks(uptime: float) -> int:
    """The value of `live_ticks` after `uptime` seconds."""
    return 1 + int(uptime // 10)


def rows() -> list[Row[Family[Any]]]:
    """The table, in the order of the files."""
    return rows_of(Metrics)

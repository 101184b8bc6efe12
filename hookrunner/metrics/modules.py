"""Metrics of modules and their hooks, and of global hooks: names, labels and buckets are those of addon-operator's
documents, which its code misses; the last block is ours.
"""

from hookrunner.metrics.hook_runs import HookRunRows
from hookrunner.metrics.series import Rows, counter, gauge, histogram

_BUCKETS = (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_STEP = ("module", "activation")
_GLOBAL = ("hook", "binding", "queue", "activation")
_MODULE = ("module", *_GLOBAL)


class ModuleMetrics(Rows):
    """The rows. The label `activation` is `OperatorStartup` during the start, else empty."""

    binding_count = gauge("{}binding_count", ("module", "hook"), "Bindings of a module's hook.")

    config_values_errors = counter(
        "{}config_values_errors_total",
        (),
        "1 when a section of the configuration is refused, and 1 for each 5 s that it stays so.",
    )
    modules_discover_errors = counter(
        "{}modules_discover_errors_total", (), "Failed attempts to find out which modules are on."
    )
    module_run_errors = counter("{}module_run_errors_total", ("module",), "Runs of the module that failed.")
    module_delete_errors = counter("{}module_delete_errors_total", ("module",), "Failed attempts to delete it.")
    module_run_seconds = histogram("{}module_run_seconds", _STEP, "Duration of a run of the module.", _BUCKETS)
    module_helm_seconds = histogram(
        "{}module_helm_seconds", _STEP, "Time of a run that went into rendering and the release.", _BUCKETS
    )
    helm_operation_seconds = histogram(
        "{}helm_operation_seconds",
        (*_STEP, "operation"),
        "Time of one step of a run: check-upgrade, template or upgrade.",
        _BUCKETS,
    )
    modules_helm_release_redeployed = counter(
        "{}modules_helm_release_redeployed_total", ("module",), "Releases that another client had changed or broken."
    )
    modules_absent_resources = counter(
        "{}modules_absent_resources_total",
        ("module", "resource"),
        "Objects of a release that were found missing, as namespace/kind/name.",
    )

    module_hook_runs = HookRunRows("{}module_hook", _MODULE, "a run of a module's hook", _BUCKETS)
    global_hook_runs = HookRunRows("{}global_hook", _GLOBAL, "a run of a global hook", _BUCKETS)

    convergence_seconds = counter(
        "{}convergence_seconds", ("activation",), "Seconds that passes over all modules have taken together."
    )
    convergence_total = counter("{}convergence_total", ("activation",), "Passes over all modules.")
    tasks_queue_head_info = gauge(
        "{}tasks_queue_head_info", ("queue", "module", "task_type", "hook"), "1 for the task at the head of a queue."
    )
    mm_module_info = gauge("{}mm_module_info", ("module", "enabled", "critical"), "1 for each module.")
    mm_module_enabled = gauge(
        "{}mm_module_enabled", ("module", "version"), "1 for each module that is on and has a version."
    )
    telemetry_module_enabled = gauge(
        "d8_telemetry_module_enabled", ("module", "version"), "The same without a prefix, for those who ask for it."
    )
    mm_module_maintenance = gauge(
        "{}mm_module_maintenance", ("module", "state"), "1 while a module's objects are left alone on request."
    )

    config_values_refused = gauge(
        "{}config_values_refused",
        ("section",),
        "1 while the last good values of a section are used in place of bad ones.",
    )
    module_phase = gauge(
        "{}module_phase",
        ("module", "phase", "reason"),
        "1 for the phase that a module is in, and why it gets no further.",
    )
    module_last_success_timestamp_seconds = gauge(
        "{}module_last_success_timestamp_seconds", ("module",), "When the module was last brought about completely."
    )
    module_drift = gauge("{}module_drift", ("module",), "Objects of the module that are not as they were applied.")

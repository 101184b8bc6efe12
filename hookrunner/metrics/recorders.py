"""Count and time what happens: runs of hooks, and requests of a Kubernetes client.

Plain hooks, global hooks and module hooks have families of their own, for the dashboards of both predecessors. Labels
and what counts are theirs: in the families of addon-operator `binding` is the type of the binding, and the runs that
are part of a module's run count in `module_run_errors_total` alone.
"""

from collections.abc import Callable

from hookrunner.metrics.hook_runs import HookRuns
from hookrunner.metrics.names import Metrics
from hookrunner.model.bindings import LIFECYCLE, MAIN, Hook
from hookrunner.model.modules import GLOBAL
from hookrunner.model.operations import Usage
from hookrunner.model.tasks import OPERATOR_STARTUP, HookRun


class RunMetrics:
    """Counts and times runs. `clock` gives monotonic seconds."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._plain, self._global, self._module = metrics.hook_runs, metrics.global_hook_runs, metrics.module_hook_runs

    def of(self, order: HookRun) -> tuple[HookRuns, tuple[str, ...]]:
        """The families of a run, and its labels in them."""
        match order.module:
            case "":
                return self._plain, order.labels
            case module if module == GLOBAL:
                return self._global, _typed(order)
            case module:
                return self._module, (module, *_typed(order))

    def took(self, order: HookRun, seconds: float) -> None:
        """A run is over, with any outcome."""
        families, labels = self.of(order)
        families.seconds.observe(seconds, *labels)

    def used(self, order: HookRun, usage: Usage) -> None:
        """What its process took."""
        families, labels = self.of(order)
        families.user_cpu.observe(usage.user_seconds, *labels)
        families.system_cpu.observe(usage.system_seconds, *labels)
        families.max_rss.set(usage.max_rss_bytes, *labels)

    def succeeded(self, order: HookRun) -> None:
        """It ended well."""
        if not _is_part_of_module_run(order):
            families, labels = self.of(order)
            families.success.inc(*labels)

    def failed(self, order: HookRun, allowed: bool = False) -> None:
        """It failed; `allowed` says that the queue goes on (`allowFailure`)."""
        if not _is_part_of_module_run(order):
            families, labels = self.of(order)
            (families.allowed_errors if allowed else families.errors).inc(*labels)

    def not_enabled(self, hook: Hook) -> None:
        """Bindings of a global hook could not be enabled at once. addon-operator names the file here."""
        self._global.errors.inc(hook.path.name, "GlobalEnableKubernetesBindings", MAIN, OPERATOR_STARTUP)


def _typed(order: HookRun) -> tuple[str, ...]:
    """Hook, type of the binding, queue and activation."""
    hook, _, queue = order.labels
    return (hook, order.binding_type, queue, order.activation)


def _is_part_of_module_run(order: HookRun) -> bool:
    """Is it a run of a lifecycle binding of a module's hook, whose failure is that of the module's run?"""
    return order.module not in ("", GLOBAL) and order.binding_type in LIFECYCLE


class Requests:
    """Counts the requests of a Kubernetes client, which declares what it wants to call: this class fits it. `component`
    tells the clients of one process apart."""

    def __init__(self, metrics: Metrics, component: str = "main") -> None:
        self._metrics = metrics
        self._component = component

    def request_finished(self, verb: str, url: str, host: str, code: str, seconds: float) -> None:
        """An answer came, or none: then `code` is `<error>`. `url` has no names of objects in it."""
        self._metrics.kubernetes_client_request_result.inc(self._component, code, verb, host)
        self._metrics.kubernetes_client_request_latency_seconds.observe(seconds, self._component, verb, url)

    def waited(self, verb: str, path_template: str, seconds: float) -> None:
        """A request was held back for so long before it was sent."""
        self._metrics.kubernetes_client_rate_limiter_latency_seconds.observe(seconds, verb, path_template)

"""The metrics of runs of hooks, once for each kind of hook: plain hooks, global hooks and module hooks have families of
their own, for the dashboards of both predecessors.

    module_hook = HookRunRows("{}module_hook", ("module", "hook"), "a run of a module's hook", (0.1, 1, 10))
"""

from collections.abc import Sequence
from typing import Any

from hookrunner.metrics.series import Counter, Gauge, Histogram, Row, Rows, counter, gauge, histogram
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HookRuns:
    """The live families of one kind of hook."""

    seconds: Histogram
    user_cpu: Histogram
    system_cpu: Histogram
    max_rss: Gauge
    errors: Counter
    allowed_errors: Counter
    success: Counter


class HookRunRows:
    """The rows of one kind of hook, which become rows of the class that names them; on an object of it the live
    families. `name` is what all begin with, `counted` what the counters begin with, if that is another name."""

    def __init__(self, name: str, labels: Sequence[str], run: str, buckets: Sequence[float], counted: str = "") -> None:
        counted, cpu = counted or name, "CPU time of its process and their children."
        self._rows: tuple[Row[Any], ...] = (
            histogram(f"{name}_run_seconds", labels, f"Duration of {run}.", buckets),
            histogram(f"{name}_run_user_cpu_seconds", labels, f"User {cpu}", buckets),
            histogram(f"{name}_run_sys_cpu_seconds", labels, f"System {cpu}", buckets),
            gauge(f"{name}_run_max_rss_bytes", labels, "Peak resident memory of its last process."),
            counter(f"{counted}_errors_total", labels, "Runs that failed and will be repeated."),
            counter(f"{counted}_allowed_errors_total", labels, "Runs that failed, as allowFailure permits."),
            counter(f"{counted}_success_total", labels, "Runs that ended well."),
        )

    def __set_name__(self, owner: type[Rows], attribute: str) -> None:
        self._names = [f"{attribute}_{number}" for number in range(len(self._rows))]
        for name, row in zip(self._names, self._rows, strict=True):
            setattr(owner, name, row)
            row.__set_name__(owner, name)

    def __get__(self, rows: Rows, owner: type[Rows]) -> HookRuns:
        return HookRuns(*(getattr(rows, name) for name in self._names))

"""What is shown of resident hooks: their metrics, and at `/readyz` those whose processes cannot be started.

Reading changes nothing.
"""

from collections.abc import Callable, Iterator

from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import LabelValues
from hookrunner.model.status import ResidentDump, one_line, some


def resident_trouble(processes: HookProcesses) -> str | None:
    """The hooks whose processes end before they answer, and why; empty if every one answers, None without resident
    hooks."""
    states = list(processes.residents())
    troubles = [
        f"{hook.name}: {'in a crash loop: ' if state.in_crash_loop else ''}{one_line(state.trouble)}"
        for hook, state in states
        if state.trouble
    ]
    return some(troubles, "; ") if states else None


def export_residents(metrics: Metrics, processes: HookProcesses) -> None:
    """Let the gauges about them be read at each scrape."""

    def values(read: Callable[[ResidentDump], float]) -> Callable[[], Iterator[tuple[LabelValues, float]]]:
        return lambda: (((hook.label, *hook.owner), read(state)) for hook, state in processes.residents())

    metrics.hook_process_age_seconds.from_function(values(lambda state: state.age))
    metrics.hook_process_memory_bytes.from_function(values(lambda state: state.memory))
    metrics.hook_process_places.from_function(values(lambda state: state.places))
    metrics.hook_process_places_in_use.from_function(values(lambda state: state.in_use))
    metrics.hook_process_crash_loop.from_function(values(lambda state: state.in_crash_loop))
    metrics.hook_process_restarts.from_function(
        lambda: (
            ((hook.label, reason, *hook.owner), float(count))
            for hook, state in processes.residents()
            for reason, count in state.restarts.items()
        )
    )

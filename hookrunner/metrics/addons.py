"""Metrics of addons: the present state of each instance, what its runs took, and packages.

States are gauges that are read at the scrape. Series with the labels `addon`, `namespace` and `name` are those of one
instance and go with it; `namespace` is empty for kinds without one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Literal, TypeAlias

from hookrunner.metrics.series import Rows, counter, gauge, histogram

INSTANCE = ("addon", "namespace", "name")
"""The labels of an instance."""

RunStep: TypeAlias = Literal["resolve", "fetch", "hooks", "render", "apply"]

_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300)


class AddonMetrics(Rows):
    """The rows."""

    addon_info = gauge(
        "{}addon_info", (*INSTANCE, "version", "channel"), "1 for the installed version of each instance."
    )
    addon_phase = gauge("{}addon_phase", (*INSTANCE, "phase"), "1 for the phase of each instance.")
    addon_healthy = gauge("{}addon_healthy", INSTANCE, "1 while the instance is Current, else 0.")
    addon_objects = gauge("{}addon_objects", (*INSTANCE, "status"), "Its objects by their kstatus.")
    addon_update_available = gauge(
        "{}addon_update_available", (*INSTANCE, "version"), "1 while its channel has this other version."
    )
    addon_run_seconds = histogram(
        "{}addon_run_seconds",
        (*INSTANCE, "step"),
        "Time of one step of a run: resolve, fetch, hooks (before the release), render or apply.",
        _BUCKETS,
    )
    addon_run_errors = counter(
        "{}addon_run_errors_total", (*INSTANCE, "reason"), "Runs that failed, by the reason that the status shows."
    )

    addon_channel_reads = counter(
        "{}addon_channel_reads_total",
        ("source", "result"),
        "Channels of addons that were asked for: read, or the reason why one cannot be used.",
    )
    addon_package_fetches = counter(
        "{}addon_package_fetches_total",
        ("source", "result"),
        "Packages of addons that were asked for: read, fetched, cached, or the reason why one cannot be used.",
    )
    addon_package_cache_bytes = gauge("{}addon_package_cache_bytes", (), "Size of the packages in the cache.")

    @contextmanager
    def time_addon_step(self, instance: tuple[str, ...], step: RunStep) -> Iterator[None]:
        """Measure a step of an instance's run, however it ends. No labels: it is not measured."""
        began = monotonic()
        try:
            yield
        finally:
            if instance:
                self.addon_run_seconds.observe(monotonic() - began, *instance, step)

    def forget_addon(self, instance: tuple[str, str, str]) -> None:
        """Drop what was counted and measured of an instance: it is gone."""
        for family in (self.addon_run_seconds, self.addon_run_errors):
            family.forget_prefix(instance)

"""Counts what the loops and the provider's calls report, in the families of `metrics/cloud.py`."""

from hookrunner.metrics.cloud import CloudMetrics


class CallMeter:
    """Counts calls of the provider."""

    def __init__(self, metrics: CloudMetrics) -> None:
        self._metrics = metrics

    def called(self, verb: str, code: str, seconds: float) -> None:
        """A call has ended; `code` is that of its error, or OK."""
        self._metrics.cloud_provider_calls.inc(verb, code)
        self._metrics.cloud_provider_call_seconds.observe(seconds, verb)


class NodeCounters:
    """Counts what happens to Nodes."""

    def __init__(self, metrics: CloudMetrics) -> None:
        self._metrics = metrics

    def node_initialized(self, seconds: float) -> None:
        """A Node was initialised, so many seconds after it was created: also under upstream's two names."""
        self._metrics.cloud_node_init_seconds.observe(seconds)
        self._metrics.cloud_provider_taint_removal_delay_seconds.observe(seconds)
        self._metrics.initial_node_sync_delay_seconds.observe(seconds)

    def node_deleted(self, result: str) -> None:
        """A Node was deleted, or would have been, or could not be."""
        self._metrics.cloud_node_deletes.inc(result)

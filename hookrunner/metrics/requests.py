"""Counts the requests of a Kubernetes client. The client declares what it wants to call; this class fits it."""

from hookrunner.metrics.names import Metrics


class Requests:
    """`component` tells apart the clients of one process."""

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

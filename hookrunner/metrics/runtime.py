"""What prometheus_client knows of this process: `python_*` and `process_*`, where Go's client has `go_*`.

The library is imported with this file, at the first scrape.
"""

from functools import cache

from prometheus_client.exposition import generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import CollectorRegistry


def exposition() -> bytes:
    """These families, as text."""
    return generate_latest(registry())


@cache
def registry() -> CollectorRegistry:
    """Not the library's own, which others in this process may fill."""
    collected = CollectorRegistry()
    GCCollector(collected)
    PlatformCollector(collected)
    ProcessCollector(registry=collected)
    return collected

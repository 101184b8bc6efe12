"""The Prometheus text format 0.0.4, with every name exactly as it was declared.

prometheus_client's own writer adds `_total` to each counter, which would rename `live_ticks` and every counter of a
hook; so the lines are written here and only the nouns (`Metric`, `Sample`) and the number format are the library's.
OpenMetrics demands that suffix, so it is never offered: a scraper that asks for it gets 0.0.4, which all read.

Source: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from collections.abc import Iterable, Iterator

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_IN_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})
_IN_LABEL = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def render(metrics: Iterable[Metric]) -> bytes:
    """One text of all metrics that have samples; a metric without any is left out, as Go's client does."""
    lines = (line for metric in metrics if metric.samples for line in _family(metric))
    # A hook's file name may hold bytes that are not UTF-8. A "?" in one label beats an answer without any metric.
    return "".join(lines).encode(errors="replace")


def number(value: float) -> str:
    """As Go prints it: `1`, not `1.0`. Queries match `le="1"` as text."""
    return str(floatToGoString(value)).removesuffix(".0")  # type: ignore[no-untyped-call]


def _family(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.documentation.translate(_IN_HELP)}\n"
    yield f"# TYPE {metric.name} {metric.type}\n"
    for sample in metric.samples:
        yield _line(sample)


def _line(sample: Sample) -> str:
    pairs = ",".join(f'{name}="{value.translate(_IN_LABEL)}"' for name, value in sample.labels.items())
    return f"{sample.name}{{{pairs}}} {number(sample.value)}\n" if pairs else f"{sample.name} {number(sample.value)}\n"

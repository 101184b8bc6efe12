"""What Prometheus itself can read. The parser of prometheus_client takes more, NUL in a label's value among it.

Source: https://github.com/prometheus/prometheus/blob/main/model/textparse/promlex.l
"""

import re

_NAME, _LABEL = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r"[a-zA-Z_][a-zA-Z0-9_]*"
_VALUE = r'"(?:\\[^\n\0]|[^\\"\0])*"'
_PAIRS = rf"{_LABEL}={_VALUE}(?:,{_LABEL}={_VALUE})*"
_LINE = re.compile(rf"(?:# (?:HELP|TYPE) {_NAME} [^\n\0]*|{_NAME}(?:\{{{_PAIRS}\}})? [^{{ \t\n\0]+)\n")


def assert_prometheus_reads(page: str) -> None:
    """Raise AssertionError with the first line that it cannot read."""
    position = 0
    while position < len(page):
        line = _LINE.match(page, position)
        assert line, f"Prometheus cannot read {page[position : position + 200]!r}"
        position = line.end()

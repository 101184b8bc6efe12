"""Ages: the figures that kubectl shows, at every step of the scale. Level: pure."""

from datetime import UTC, datetime

import pytest

from kubesandbox.columns.ages import between, human, since
from tests.tables import each

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


# What client-go's HumanDuration gives.
@each(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (0.99, "0s"),
        (119, "119s"),
        (120, "2m"),
        (2 * MINUTE + 10, "2m10s"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE, "10m"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 59, "3h"),
        (5 * HOUR + 3 * MINUTE, "5h3m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR + 30 * MINUTE, "8h"),
        (48 * HOUR - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR + 9 * DAY, "8y"),
    ],
)
def test_a_duration_has_two_or_three_figures(seconds: float, shown: str) -> None:
    assert human(seconds) == shown


@each(
    ("timestamp", "shown"),
    [
        ("2026-11-21T11:59:55Z", "5s"),
        ("2026-11-21T11:57:49.500000Z", "2m10s"),
        ("2026-11-21T13:00:00+02:00", "60m"),
        ("0001-01-01T00:00:00Z", "<unknown>"),
        (None, "<unknown>"),
        ("", "<unknown>"),
    ],
)
def test_the_time_since_a_timestamp(timestamp: str | None, shown: str) -> None:
    assert since(timestamp, NOW) == shown


@each("text", ["yesterday", "2026-11-21T11:59:55", "2026-11-21"])
def test_what_is_no_timestamp_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        since(text, NOW)


def test_the_time_between_two_timestamps() -> None:
    assert between("2026-10-01T00:00:00Z", "2026-10-01T00:03:07Z") == "3m7s"

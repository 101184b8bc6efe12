"""The crontab dialect and what it means, by tables. Random crontabs: test_cron_reference.py. Level: pure."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from hookrunner import cron
from hookrunner.errors import BadCrontab
from tests.tables import each


def firings(crontab: str, start: str, count: int, zone: str = "UTC") -> list[str]:
    """The next `count` firings after a local time, as local times."""
    local = ZoneInfo(zone)
    parsed = cron.parse(crontab, local)
    moment: float | None = datetime.fromisoformat(start).replace(tzinfo=local).timestamp()
    found = []
    for _ in range(count):
        assert moment is not None
        moment = parsed.next_after(moment)
        found.append("never" if moment is None else f"{datetime.fromtimestamp(moment, local):%Y-%m-%d %H:%M:%S}")
    return found


@each(
    ("crontab", "expected"),
    [
        ("* * * * *", ["2026-01-01 00:01:00", "2026-01-01 00:02:00"]),
        ("*/5 * * * * *", ["2026-01-01 00:00:35", "2026-01-01 00:00:40"]),
        ("5/20 * * * *", ["2026-01-01 00:05:00", "2026-01-01 00:25:00"]),
        ("10-40/15 3 * * *", ["2026-01-01 03:10:00", "2026-01-01 03:25:00"]),
        ("7-7 0-0/5 * * *", ["2026-01-01 00:07:00", "2026-01-02 00:07:00"]),
        ("0 0 ? * ?", ["2026-01-02 00:00:00", "2026-01-03 00:00:00"]),
        ("0 12 * * mon-FRI", ["2026-01-01 12:00:00", "2026-01-02 12:00:00"]),
        ("0 0 * * 7", ["2026-01-04 00:00:00", "2026-01-11 00:00:00"]),
        ("0 0 * * 6-7", ["2026-01-03 00:00:00", "2026-01-04 00:00:00"]),
        ("0 0 * * 5/2", ["2026-01-02 00:00:00", "2026-01-09 00:00:00"]),
        ("0 0 1 Feb *", ["2026-02-01 00:00:00", "2027-02-01 00:00:00"]),
        ("0 0 31 * *", ["2026-01-31 00:00:00", "2026-03-31 00:00:00"]),
        ("0 0 29 2 *", ["2028-02-29 00:00:00", "2032-02-29 00:00:00"]),
        ("59 59 23 31 12 *", ["2026-12-31 23:59:59", "2027-12-31 23:59:59"]),
        ("0 0 30 2 *", ["never"]),
        ("@yearly", ["2027-01-01 00:00:00"]),
        ("@annually", ["2027-01-01 00:00:00"]),
        ("@monthly", ["2026-02-01 00:00:00"]),
        ("@weekly", ["2026-01-04 00:00:00"]),
        ("@daily", ["2026-01-02 00:00:00"]),
        ("@midnight", ["2026-01-02 00:00:00"]),
        ("@hourly", ["2026-01-01 01:00:00"]),
    ],
)
def test_a_crontab_fires_at_these_times(crontab: str, expected: list[str]) -> None:
    assert firings(crontab, "2026-01-01 00:00:30", len(expected)) == expected


@each(
    ("crontab", "expected"),
    [
        ("0 0 13 * 5", ["2026-01-02", "2026-01-09", "2026-01-13"]),  # either
        ("0 0 13 * *", ["2026-01-13", "2026-02-13", "2026-03-13"]),
        ("0 0 */10 * 1", ["2026-05-11", "2026-06-01", "2026-08-31"]),  # a star in one: both
        ("0 0 13 * */2", ["2026-01-13", "2026-06-13", "2026-08-13"]),
        ("0 0 13 * ?,5", ["2026-01-13", "2026-02-13", "2026-03-13"]),
        ("0 0 1-31 * 5", ["2026-01-02", "2026-01-03", "2026-01-04"]),  # every day, but no star: either
    ],
)
def test_both_days_must_match_if_one_has_a_star(crontab: str, expected: list[str]) -> None:
    assert [text[:10] for text in firings(crontab, "2026-01-01 00:00:30", 3)] == expected


@each(
    ("oddity", "same_as"),
    [
        ("+5 * * * *", "5 * * * *"),
        ("*,5 * * * *", "* * * * *"),
        (",5 * * * *", "5 * * * *"),
        ("5,, * * * *", "5 * * * *"),
        ("*/100 * * * *", "0 * * * *"),
        (" 5\t* * * *\n", "5 * * * *"),
        ("0 0 * * 7/2", "0 0 * * 0"),
        ("? 1 * * *", "* 1 * * *"),
        ("0/30 1 * * *", "*/30 1 * * *"),
        ("@every -1h", "@every 1s"),
        ("@every 10ms", "@every 1s"),
        ("@every 0", "@every 1s"),
        ("@every 1m1.9s", "@every 61s"),
        ("@every 1.15m", "@every 69s"),
        ("@every .5h", "@every 30m"),
        ("@every 1h30m", "@every 5400000000µs"),
        ("TZ=Europe/Berlin @every 1m", "@every 1m"),
    ],
)
def test_oddities_are_read_as_before(oddity: str, same_as: str) -> None:
    assert cron.parse(oddity) == cron.parse(same_as)


@each(
    ("crontab", "names"),
    [
        ("60 * * * *", ["minute", "0 to 59"]),
        ("60 * * * * *", ["second"]),
        ("* 24 * * *", ["hour", "0 to 23"]),
        ("* * 0 * *", ["day of month", "1 to 31"]),
        ("* * * 13 *", ["month", "1 to 12 or jan to dec"]),
        ("* * * * 8", ["day of week", "0 to 7 or sun to sat"]),
        ("* * * * mon-sun", ["day of week", "backwards"]),
        ("30-10 * * * *", ["minute", "backwards"]),
        ("*/0 * * * *", ["a step is not a number from 1 on"]),
        ("*/-1 * * * *", ["minute"]),
        ("-5 * * * *", ["minute", "cannot be read"]),
        ("*-5 * * * *", ["minute", "cannot be read"]),
        ("1-2-3 * * * *", ["minute", "cannot be read"]),
        ("1/2/3 * * * *", ["minute", "cannot be read"]),
        (", * * * *", ["minute", "says nothing"]),
        ("1_0 * * * *", ["minute"]),
        ("٣ * * * *", ["minute"]),
        ("9" * 5000 + " * * * *", ["minute"]),
        ("jan * * * *", ["minute"]),
        ("* * * january *", ["month"]),
        ("0 0 L * *", ["day of month", "L, W and # are not supported"]),
        ("0 0 15W * *", ["day of month"]),
        ("0 0 * * 1#2", ["day of week"]),
        ("* * * *", ["4 fields", "write 5"]),
        ("* * * * * * *", ["7 fields"]),
        ("", ["0 fields"]),
        ("TZ=UTC", ["0 fields"]),
        ("@Yearly", ["@yearly"]),
        ("@every", ["@every 1h30m"]),
        ("@every 5", ["@every", "not a duration"]),
        ("@every 1d", ["@every"]),
        ("@every 1h 5m", ["3 fields"]),
        ("@every 9999999999h", ["not a duration"]),
        ("@every " + "9" * 5000 + "h", ["not a duration"]),
        ("TZ=Mars/Olympus * * * * *", ["Europe/Berlin"]),
        ("TZ= * * * * *", ["time zone"]),
        ("CRON_TZ=America * * * * *", ["time zone"]),
        ("TZ=../../etc/passwd * * * * *", ["time zone"]),
    ],
)
def test_a_bad_crontab_is_refused_with_its_field_and_what_is_allowed(crontab: str, names: list[str]) -> None:
    with pytest.raises(BadCrontab) as refused:
        cron.parse(crontab)
    assert str(refused.value).startswith("crontab: ")
    assert [name for name in names if name not in str(refused.value)] == []


@each("prefix", ["TZ", "CRON_TZ"])
def test_a_zone_in_the_text_wins_over_the_one_given(prefix: str) -> None:
    assert cron.parse(f"{prefix}=Asia/Tokyo 0 9 * * *", UTC) == cron.parse("0 9 * * *", ZoneInfo("Asia/Tokyo"))


def test_every_counts_from_the_arming_in_whole_seconds() -> None:
    every = cron.parse("@every 90s")
    assert every.next_after(1000.7, armed=1000.7) == 1090.0
    assert every.next_after(1090.0, armed=1000.7) == 1180.0
    assert every.next_after(1500.2, armed=1000.7) == 1540.0


def test_the_moment_itself_is_not_after_it() -> None:
    hourly = cron.parse("@hourly", UTC)
    assert (hourly.next_after(3599.9), hourly.next_after(3600.0)) == (3600.0, 7200.0)


@pytest.fixture
def in_berlin() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_berlin")
@pytest.mark.parametrize("crontab", ["30 2 * * *", "*/15 * * * *", "*/20 1-3 * * *"])
@pytest.mark.parametrize("day", ["2026-03-28 12:00", "2026-10-24 12:00"])
def test_without_a_zone_the_process_local_time_counts(crontab: str, day: str) -> None:
    here, berlin = cron.parse(crontab), cron.parse(crontab, ZoneInfo("Europe/Berlin"))
    moment = datetime.fromisoformat(day).timestamp()
    for _ in range(80):
        due = here.next_after(moment)
        assert due is not None
        assert due == berlin.next_after(moment)
        moment = due


@each(
    ("crontab", "zone", "start", "expected"),
    [
        ("30 2 * * *", "America/New_York", "2026-03-07 12:00", ["2026-03-08 03:00:00", "2026-03-09 02:30:00"]),
        ("15,45 2 * * *", "America/New_York", "2026-03-07 12:00", ["2026-03-08 03:00:00", "2026-03-09 02:15:00"]),
        ("30 1 * * *", "America/New_York", "2026-10-31 12:00", ["2026-11-01 01:30:00", "2026-11-02 01:30:00"]),
        ("30 * * * *", "America/New_York", "2026-03-08 01:00", ["2026-03-08 01:30:00", "2026-03-08 03:30:00"]),
        ("*/30 2 * * *", "America/New_York", "2026-03-07 12:00", ["2026-03-08 03:00:00", "2026-03-09 02:00:00"]),
        (
            "*/30 1 * * *",
            "America/New_York",
            "2026-11-01 00:00",
            ["2026-11-01 01:00:00", "2026-11-01 01:30:00"] * 2 + ["2026-11-02 01:00:00"],
        ),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", ["2026-10-04 02:30:00", "2026-10-05 02:15:00"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04 12:00", ["2026-04-05 01:45:00", "2026-04-06 01:45:00"]),
        ("0 12 * * *", "Pacific/Apia", "2011-12-29 00:00", ["2011-12-29 12:00:00", "2011-12-31 12:00:00"]),
        ("0 12 30 * *", "Pacific/Apia", "2011-12-01 00:00", ["2012-01-30 12:00:00"]),
        ("0 * 1 7 *", "America/New_York", "2026-01-15 12:00", ["2026-07-01 00:00:00", "2026-07-01 01:00:00"]),
        ("0 0 29 2 */7", "UTC", "2088-03-01 00:00", ["2128-02-29 00:00:00", "2156-02-29 00:00:00"]),
        ("0 0 * * *", "America/Havana", "2026-03-07 12:00", ["2026-03-08 01:00:00", "2026-03-09 00:00:00"]),
    ],
)
def test_clock_changes_neither_lose_nor_double_a_named_time(
    crontab: str, zone: str, start: str, expected: list[str]
) -> None:
    assert firings(crontab, start, len(expected), zone) == expected

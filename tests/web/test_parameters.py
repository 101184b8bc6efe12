"""Runtime parameters: lasting and temporary values, on virtual time, and how they are listed. Level: pure."""

import asyncio
import time

import pytest

from hookrunner import log
from hookrunner.errors import BadConfig
from hookrunner.web.debug import Parameter, Parameters, log_level

pytestmark = pytest.mark.looptime

WORDS = ("info", "debug", "error")


def recorded() -> tuple[Parameters, list[str]]:
    """`log.level` without its effect, which is recorded."""
    applied: list[str] = []

    def apply(value: str) -> None:
        if value not in WORDS:
            raise ValueError(f"no level '{value}'")
        applied.append(value)

    return Parameters([Parameter("log.level", "Level of the log.", "info", apply, (("debug", 1800.0),))]), applied


def shown(parameters: Parameters) -> dict[str, str]:
    (row,) = parameters.as_json()
    return dict(row)


def test_new_parameter_has_its_default() -> None:
    assert shown(recorded()[0]) == {
        "name": "log.level",
        "description": "Level of the log.",
        "default": "info",
        "value": "info",
    }


async def test_value_without_a_duration_is_permanent() -> None:
    parameters, applied = recorded()
    parameters.set("log.level", "error")
    assert (applied, shown(parameters)["value"], "expireAt" in shown(parameters)) == (["error"], "error", False)


async def test_expired_value_restores_the_last_permanent_one() -> None:
    parameters, applied = recorded()
    parameters.set("log.level", "error")
    parameters.set("log.level", "info", 60)
    await asyncio.sleep(59.9)
    assert shown(parameters)["value"] == "info"
    await asyncio.sleep(0.2)
    assert (applied, shown(parameters)["value"], "expireAt" in shown(parameters)) == (
        ["error", "info", "error"],
        "error",
        False,
    )


async def test_debug_level_expires_after_half_an_hour_by_default() -> None:
    parameters, applied = recorded()
    parameters.set("log.level", "debug")
    await asyncio.sleep(1801)
    assert applied == ["debug", "info"]


async def test_later_change_replaces_an_earlier_expiry() -> None:
    parameters, applied = recorded()
    parameters.set("log.level", "debug", 60)
    parameters.set("log.level", "error")
    await asyncio.sleep(100)
    assert applied == ["debug", "error"]


async def test_debug_level_of_the_settings_is_permanent() -> None:
    applied: list[str] = []
    parameters = Parameters([Parameter("log.level", "", "debug", applied.append, (("debug", 1800.0),))])
    parameters.set("log.level", "info", 60)
    await asyncio.sleep(61)
    assert (applied, "expireAt" in shown(parameters)) == (["info", "debug"], False)


def test_wrong_value_is_refused_and_shown_until_a_valid_one() -> None:
    parameters, applied = recorded()
    with pytest.raises(BadConfig, match="'value' parameter is invalid: no level 'loud'"):
        parameters.set("log.level", "loud")
    assert (applied, shown(parameters)["value"], shown(parameters)["lastError"]) == ([], "info", "no level 'loud'")
    parameters.set("log.level", "error")
    assert "lastError" not in shown(parameters)


def test_unknown_parameter_is_refused() -> None:
    with pytest.raises(BadConfig, match=r'unknown runtime parameter "log\.colour"'):
        recorded()[0].set("log.colour", "red")


async def test_parameter_table_has_columns_of_30_20_20_and_40(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)
    parameters, _ = recorded()
    parameters.set("log.level", "debug", 60)
    assert parameters.as_text() == (
        f"{'NAME':30} {'VALUE':20} {'EXPIRE AT':20} {'DESCRIPTION':40}\n"
        f"{'log.level':30} {'debug':20} {'1970-01-01T00:01:00Z':20} {'Level of the log.':40}\n"
    )
    with pytest.raises(BadConfig):
        parameters.set("log.level", "loud")
    assert f"{'Error: no level ' + repr('loud'):40}\n" in parameters.as_text()


def test_log_level_parameter_changes_the_log() -> None:
    before = log.current_level()
    parameters = Parameters([log_level(before)])
    try:
        parameters.set("log.level", "error")
        assert log.current_level() == "error"
        with pytest.raises(BadConfig, match="'value' parameter is invalid: unknown log level 'loud'"):
            parameters.set("log.level", "loud")
    finally:
        log.set_level(before)

"""Texts on which a matcher that backtracks stands still: values of a ConfigMap, answers of servers, lines of hooks.

The event loop matches them, so that one of them would end reviews, probes and everything else.

Level: sandbox.
"""

import json
from collections.abc import Callable

import pytest

from hookrunner import ranges
from hookrunner.jq import complaints
from hookrunner.kube import refusals
from hookrunner.process.output import LINE_CAP, Records
from hookrunner.releases.objects import apply_refusals
from hookrunner.values.schemas.keywords import text_format
from tests.examples import several
from tests.flows.modules.hooks import configmap
from tests.flows.modules.test_deleted_configuration import configuration
from tests.flows.modules.world import World
from tests.flows.waiting import until
from tests.security.stalls import computing_at_most
from tests.tables import each

LONG = 200_000
SHORTER = several(LONG)
"""By day still seconds of work for each of four texts, if it grows with the square of the length; else milliseconds."""
BACKTRACKS = "^([a-z0-9]+-?)+$"
SCHEMA = f"""\
type: object
properties:
  host: {{type: string, pattern: '{BACKTRACKS}'}}
  wait: {{type: string, format: duration}}
  names:
    type: object
    patternProperties: {{'{BACKTRACKS}': {{type: string}}}}
    additionalProperties: false
"""
HOSTILE = {
    "pattern": {"host": "a" * 40 + "!"},
    "patternProperties": {"names": {"a" * 40 + "!": "x"}},
    "format": {"wait": "1" * LONG},
    "a pattern and a megabyte": {"host": "a" * 900_000 + "!"},
}


@pytest.fixture
async def running(world: World) -> World:
    """A program with a module whose schema has a pattern as many have."""
    template = configmap("a", "host: {{ .Values.a.host | quote }}")
    world.module("010-a", {"values.yaml": "a: {host: none}\n", "templates/cm.yaml": template})
    world.module("010-a", {"openapi/config-values.yaml": SCHEMA})
    await world.configure(aEnabled="true")
    await world.start()
    return world


@each("value", HOSTILE.values(), ids=HOSTILE)
async def test_a_value_that_makes_patterns_backtrack_is_refused_in_time(running: World, value: object) -> None:
    await running.configure(a=json.dumps(value))
    await until(lambda: configuration(running)[1], "the section shown as refused")
    await running.until(lambda: _rejected(running), True, "an Event that the section is refused")
    await running.configure(a="host: good")
    await running.becomes("a", host="good")
    await until(lambda: not configuration(running)[1], "the section shown as read")


async def _rejected(world: World) -> bool:
    events = (await world.ask("GET", world.path(resource="events"), None))["items"]
    return any(event["reason"] == "ConfigRejected" for event in events)


MESSAGES: dict[str, Callable[[str], object]] = {
    "refusal": lambda text: refusals.without_values(f'x: Invalid value: "{text}', {}),
    "path": lambda text: refusals.without_elements(f".spec{text}"),
    "conflict": apply_refusals.disputes,
    "immutable": lambda text: apply_refusals.immutable(f"za[a{text}"),
    "items": lambda text: list(apply_refusals.items([{}], text)),
    "unknown fields": lambda text: apply_refusals.faults(f"failed to create typed patch object (a): {text}"),
    "jq": lambda text: complaints.of_failure(text, "."),
    "hook's line": lambda text: [Records().feed(line) for line in ("{", text[:LINE_CAP])],
    "version": ranges.parse,
}
FORMATS = ("duration", "email", "uri", "hostname", "cidr", "date-time", "ipv6", "byte", "mac", "uuid")
REPEATED = (
    '"\\',
    "[=",
    "[=\\",
    "`",
    ",.",
    "[a",
    'conflict with "',
    "conflict with ",
    "object (",
    "a=",
    "a",
    "1",
    " ",
    ".",
    ": ",
)


@each("read", MESSAGES.values(), ids=MESSAGES)
@each("part", REPEATED)
def test_messages_that_quote_a_users_text_are_matched_in_linear_time(read: Callable[[str], object], part: str) -> None:
    with computing_at_most(60):
        try:
            read(part * (LONG // len(part)))
        except ValueError as refused:
            print(refused)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@each("part", [*REPEATED, "(", "<", "@", "a@", "a.", "%", ":", "0:", "h1"])
def test_values_of_formats_are_matched_in_linear_time(name: str, part: str) -> None:
    has_format = text_format(name)
    assert has_format is not None
    long = part * (SHORTER // len(part))
    with computing_at_most(5):
        for text in (long, f"{long}!", f"{long}>", f"x{long}"):
            assert not has_format(text) or name in ("uri", "email", "byte", "duration")

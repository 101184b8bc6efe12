"""A bad jq program never takes the operator down. Ten thousand texts are compiled at night, a part of them by day. The
process survives by being asked once more, and each text is a filter or a `BadFilter`, nothing else. The seed is fixed:
a failure can be repeated.

Level: pure.
"""

import asyncio
import random
from collections.abc import Iterator

import pytest

from hookrunner.errors import BadFilter
from hookrunner.jq.filters import Filter
from hookrunner.jq.program import Jq
from tests.examples import several

PROGRAMS = several(10_000)
SYNTAX = r"""
    . .a .b[] .[0] .[1:2] .. [ ] { } ( ) | , ; : ? // ?// / * + - % = |= == != < >= $x $__loc__ $ENV @json @foo "\(1)"
    def f: f; reduce foreach as if then elif else end try catch label break import include input limit map( select(
    test( path( getpath( splits( tojson fromjson ) ) ) ] } "a" "\( " ' # \ é 1 1e1000 nan empty error halt env
"""
PIECES = [*SYNTAX.split(), "\0", "\ud800", "\U0001f600", "\n"]


def programs() -> Iterator[str]:
    dice = random.Random(27)
    for _ in range(PROGRAMS):
        yield dice.choice(["", " "]).join(dice.choices(PIECES, k=dice.randint(1, 12)))


async def compile_each(jq: Jq, texts: Iterator[str]) -> list[Filter | BadFilter]:
    """Several of these share one iterator, so that the workers are busy all the time."""
    results: list[Filter | BadFilter] = []
    for text in texts:
        try:
            results.append(await jq.compile(text))
        except BadFilter as error:
            results.append(error)
    return results


@pytest.mark.slow
async def test_random_programs_are_filters_or_bad_filters() -> None:
    texts = programs()
    async with Jq() as jq:
        results = [
            result for part in await asyncio.gather(*(compile_each(jq, texts) for _ in range(4))) for result in part
        ]
        assert len(results) == PROGRAMS
        assert {type(result) for result in results} == {Filter, BadFilter}
        assert await jq.apply(await jq.compile(". + 1"), [1]) == [b"2"]

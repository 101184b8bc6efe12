"""What an answer costs: time grows as its size does, and one of the largest holds up the event loop for a moment only.

Times are of the processor, the best of three: other processes do not count. But a neighbour on the machine may take the
processor's caches, which a large text needs and a small one does not. So how time grows is measured again, round by
round, until it is linear: the best of all rounds counts for each size, and work that is not linear never is.

Level: pure.
"""

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import pairwise

import orjson
import pytest

from hookrunner.cloud.answers import ProviderError, Want
from hookrunner.cloud.provider import wire_results
from hookrunner.cloud.provider.capability_results import MOST_IN_A_BATCH
from hookrunner.cloud.provider.result_fields import MOST_ITEMS
from hookrunner.cloud.provider.wire_answers import ANSWER, read_answer
from kubetypes.json_values import JSON
from tests.fakes.cost import cpu_seconds

pytestmark = pytest.mark.slow
_FACTOR = 3
"""By how much a size may cost more than its share, beside a tenth of it: a processor's caches hold small ones."""
_ROUNDS = 10
"""Ten times as much text costs ten times its share in each of them, if time grows with its square."""
_STEP = 10
"""A step of the loop may take so many times as long as `orjson.loads` of 1 MiB, or this:"""
_SHORT = 0.06
"""Seconds: what the parser takes for 1 MiB differs from 3 to 8 ms with what else the process holds."""


def filled(begin: str, part: Callable[[int], str], end: str, number: int) -> bytes:
    """So many parts, or as many as an answer may have bytes for."""
    length = max(len(part(0).encode()), len(part(number).encode())) + 1
    number = min(number, (ANSWER.size - len(begin + end)) // length)
    return (begin + ",".join(part(index) for index in range(number)) + end).encode()


def machine(index: int) -> str:
    """A usual entry of an answer about instances: 12 values."""
    return (
        f'{{"name":"worker-{index}","state":"running","providerID":"sim:///{index}","instanceType":"small",'
        '"zone":"zone-a","region":"region-1","addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}'
    )


SHAPES: dict[str, Callable[[int], bytes]] = {
    "a repeated key": lambda size: filled("{", lambda i: f'"k{i}":0', f',"k{size - 1}":0}}', size - 1),
    "keys": lambda size: filled("{", lambda i: f'"k{i}":0', "}", size),
    "long keys": lambda size: filled("{", lambda i: f'"{i:034d}":0', "}", size),
    "objects": lambda size: filled('{"a":[', lambda i: '{"k":0}', "]}", size // 2),
    "the last repeats one": lambda size: filled('{"a":[', lambda i: '{"k":0}', ',{"k":0,"k":1}]}', size // 2 - 2),
    "numbers": lambda size: filled('{"a":[', lambda i: "1.2345678901234567e-100", "]}", size - 2),
    "escapes": lambda size: filled('{"a":"', lambda i: r"\"\n\\", '"}', size * 5),
    "deep": lambda size: filled('{"a":[', lambda i: "[" * 100 + "]" * 100, "]}", size // 101),
    "instances": lambda size: filled('{"instances":[', machine, "]}", size // 12),
}
LISTS: dict[str, Callable[[int], JSON]] = {
    "instances": lambda number: {"instances": [orjson.loads(machine(index)) for index in range(number)]},
    "routes": lambda number: {"routes": [{"destinationCIDR": "10.0.0.0/24", "targetNode": "a"}] * number},
    "null": lambda number: {"routes": [None] * number},
    "balancers": lambda number: {"loadBalancers": [{"name": "a", "uid": "u"}] * number},
    "unusable balancers": lambda number: {"loadBalancers": [{"name": 7}] * number},
    "labels": lambda number: {"instances": [{"name": "worker-1", "additionalLabels": dict.fromkeys(_names(number))}]},
    "ingress": lambda number: {"status": {"ingress": [{"ip": "10.0.0.1", "ports": [{}] * 3}] * number}},
    "results": lambda number: {"create": [{"error": {"code": "Boom", "message": "no room " * 10}}] * number},
}
READERS: dict[str, Callable[[JSON, int], object]] = {
    "routes": lambda result, _: wire_results.read_routes(result),
    "loadBalancers": lambda result, _: wire_results.read_load_balancers(result),
    "instances": lambda result, number: wire_results.read_instances(result, NAMES[:number], set(Want)),
    "status": lambda result, _: wire_results.read_ensured(result),
    "create": lambda result, number: wire_results.read_applied(result, number, 0),
}


def _names(number: int) -> list[str]:
    return [f"worker-{index}" for index in range(number)]


NAMES: list[str] = _names(MOST_IN_A_BATCH)


def seconds(work: Callable[[], object]) -> float:
    """The processor time of the fastest of three."""
    return min(_once(work) for _ in range(3))


def _once(work: Callable[[], object]) -> float:
    def refusals_too() -> None:
        with suppress(ProviderError):
            work()

    return cpu_seconds(refusals_too)


def unit() -> float:
    """What `orjson.loads` takes for 1 MiB."""
    text = filled('{"instances":[', machine, "]}", 100_000)[: 1 << 20]
    text = text[: text.rindex(b",{")] + b"]}"
    return seconds(lambda: orjson.loads(text))


def longest_step() -> float:
    """Seconds."""
    return max(_STEP * unit(), _SHORT)


def too_slow(measure: Callable[[], Iterable[tuple[str, float]]]) -> dict[str, str]:
    """What takes too long, each time that it is measured: other work of the machine may slow down one."""
    slow: dict[str, str] = {}
    for _ in range(_ROUNDS):
        most = longest_step()
        slow = {name: f"{taken * 1000:.0f} ms of {most * 1000:.0f}" for name, taken in measure() if taken > most}
        if not slow:
            break
    return slow


def test_an_answer_of_the_allowed_size_is_parsed_in_one_short_step() -> None:
    texts = {name: make(ANSWER.values - 10) for name, make in SHAPES.items()}
    assert {name for name, text in texts.items() if len(text) > ANSWER.size} == set()
    assert too_slow(lambda: [(name, seconds(partial(read_answer, text))) for name, text in texts.items()]) == {}


def test_a_result_of_the_allowed_length_is_read_in_one_short_step() -> None:
    sizes = (MOST_ITEMS, 50_000)
    assert too_slow(lambda: [(name, reading(name, number)) for name in LISTS for number in sizes]) == {}


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_as_the_text(shape: str) -> None:
    texts = [SHAPES[shape](size) for size in (990, 9_900, 49_500)]
    best = [math.inf] * len(texts)
    for _ in range(_ROUNDS):
        taken = [seconds(partial(read_answer, text)) / len(text) for text in texts]
        best = [*map(min, best, taken)]
        if all(larger <= _FACTOR * smaller for smaller, larger in pairwise(best)):
            return
    pytest.fail(f"seconds for a byte of a small, a medium and a large text: {best}")


def reading(name: str, number: int) -> float:
    """Seconds of reading a result with so many entries."""
    result = LISTS[name](number)
    (kind,) = result
    return seconds(lambda: READERS[kind](result, number))

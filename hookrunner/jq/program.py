"""jq programs, compiled once, safe for any text: the room's public face.

A simple program (`compiler.py`) runs in this process, at once. Every other one runs in a worker process with a deadline
and a memory limit (`pool.py`), because libjq can neither be interrupted nor survive running out of memory. A program
that fails, hangs or kills its worker costs that one object its result and nothing else.

Whatever runs it, a result is JSON written by us, compact and with sorted keys, so that equal results are equal bytes.
Differences to shell-operator: docs/differences.md.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import orjson

from hookrunner.errors import BadFilter, FilterFailed
from hookrunner.jq.filters import Filter
from hookrunner.jq.pool import Pool
from kubetypes.json_values import JSON


class Jq:
    """Compiles and applies programs. Enter it once, in `app.py`; leaving it ends the workers.

    `workers` processes at most, started when first needed. `deadline` in seconds of CPU is for each object, `memory` in
    bytes for each worker's address space (Linux), `idle` in seconds until a worker that has nothing to do is ended.
    """

    def __init__(self, workers: int = 2, deadline: float = 5.0, memory: int = 512 << 20, idle: float = 60.0) -> None:
        self._pool = Pool(workers, deadline, memory, idle)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.close()

    async def compile(self, program: str) -> Filter:
        """Raises `BadFilter` with libjq's reason and position. Safe for any text."""
        if not program.strip():
            raise BadFilter("the jq program is blank: write `.` for the whole object, or leave the filter out")
        # 0.2 MB, which a start without programs need not pay.
        from hookrunner.jq.compiler import outputs_of
        from hookrunner.jq.syntax import NotSimple

        try:
            return Filter(program, outputs_of(program))
        except NotSimple:
            await self._pool.check(program)
            return Filter(program)

    async def apply(self, filter: Filter, objects: Sequence[JSON]) -> list[bytes | FilterFailed]:
        """The results for a batch, in order; an object that fails has its error in that place. See `apply_now`."""
        if filter.simple:
            return [_outcome(filter, obj) for obj in objects]
        return await self._pool.results(filter.program, [_input(obj) for obj in objects])

    async def outputs(self, filter: Filter, obj: JSON) -> list[JSON]:
        """All outputs for one object, which may share parts with it. Raises `FilterFailed`."""
        if filter.simple:
            return filter.outputs_now(obj)
        outputs: list[JSON] = orjson.loads(await self._pool.outputs(filter.program, _input(obj)))
        return outputs


def _outcome(filter: Filter, obj: JSON) -> bytes | FilterFailed:
    try:
        return filter.apply_now(obj)
    except FilterFailed as error:
        return error


def _input(obj: JSON) -> bytes | FilterFailed:
    """Sorted keys make libjq visit them in that order, as gojq does."""
    try:
        return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        return FilterFailed(f"the object cannot be given to jq: {error}")

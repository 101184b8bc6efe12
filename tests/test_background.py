"""Tasks beside everything else."""

import asyncio

from structlog.contextvars import get_contextvars

from hookrunner import log
from hookrunner.background import Background


async def test_a_task_writes_nothing_into_its_log_that_whoever_started_it_has_bound() -> None:
    """A queue may be opened while some module is run; its records are not that module's."""
    found = [{"none": "yet"}]

    async def look() -> None:
        found[:] = [get_contextvars()]

    async with asyncio.TaskGroup() as group:
        with log.bound(module="a"):
            Background(group).keep("look", look)
    assert found == [{}]

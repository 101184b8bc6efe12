"""Runs a provider for `cloud check` as a process once for each verb, and asks later questions without a new process.

A check asks some sixty questions, and a Python that starts for each of them computes longer than all rules together.
How a call ends, what it prints and what it leaves behind is seen in the first call of each verb; what the rules are
about, the answers, comes from the same functions of the provider either way.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from hookrunner.cloud.checks import probe
from hookrunner.cloud.checks.probe import Printed, ProviderRunner
from hookrunner.cloud.provider.wire_answers import ANSWER

Ask = Callable[[str, bytes], Awaitable[bytes]]


class FirstCallsRunner:
    """`later` answers the request of a verb that a process has answered before. Each `serve` is a process."""

    def __init__(self, processes: ProviderRunner, later: Ask) -> None:
        self._processes = processes
        self._later = later
        self._called = set[str]()

    async def run(self, argument: str, given: bytes, timeout: float) -> Printed:
        if argument in self._called and argument != "serve":
            async with asyncio.timeout(timeout):
                return Printed(await self._later(argument, given))
        self._called.add(argument)
        return await self._processes.run(argument, given, timeout)

    def serving(self) -> AbstractAsyncContextManager[probe.Ask]:
        return self._processes.serving()


def in_place(answer_request: Callable[[str, Any], Any]) -> Ask:
    """Ask a function of the provider, which returns the document of the answer."""

    async def ask(verb: str, given: bytes) -> bytes:
        return json.dumps(answer_request(verb, json.loads(given))).encode()

    return ask


@asynccontextmanager
async def served(executable: Path, environment: Mapping[str, str]) -> AsyncIterator[Ask]:
    """Ask one process, `<executable> serve`, which has ended in the end."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        executable, "serve", cwd=executable.parent, env=environment, stdin=pipe, stdout=pipe, limit=ANSWER.size
    )
    assert process.stdin
    assert process.stdout
    writer, reader = process.stdin, process.stdout

    async def ask(verb: str, given: bytes) -> bytes:
        writer.write(given + b"\n")
        return await reader.readline()

    try:
        yield ask
    finally:
        writer.close()
        assert await process.wait() == 0

"""When capabilities are asked for, in virtual time: until they come, every ten minutes, and for another file.

Level: pure."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hookrunner.cloud.answers import CloudCapabilities
from hookrunner.cloud.provider.capability_watch import CapabilityWatch
from hookrunner.cloud.provider.cloud_verb import CloudVerb, Q, R
from hookrunner.cloud.provider.provider_calls import ProviderCalls
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.wire_answers import unavailable
from hookrunner.metrics.names import Metrics
from hookrunner.process.child import Patience
from hookrunner.process.children import Children

pytestmark = pytest.mark.looptime


class Program(ProviderCalls):
    """Answers at once, or fails; notes when it was asked."""

    def __init__(self, program: ProviderProgram) -> None:
        super().__init__(program, Children(Patience()), Metrics())
        self.asked: list[float] = []
        self.failure = ""
        self.name = "sim"
        self.interfaces = {"instances": True}

    async def call(self, verb: CloudVerb[Q, R], question: Q, lane: str = "") -> R:
        self.asked.append(round(asyncio.get_running_loop().time()))
        if self.failure:
            raise unavailable(self.failure)
        return verb.read({"providerName": self.name, "interfaces": self.interfaces}, question)


class World:
    """The watch, its program, and what it has adopted: names, and whether the file was another one."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "cloud"
        self.file.write_text("one")
        program = ProviderProgram(self.file, {})
        self.adopted: list[tuple[str, bool]] = []
        self.program = Program(program)
        self.watch = CapabilityWatch(program, self.program, self._adopt)

    def _adopt(self, capabilities: CloudCapabilities, is_replaced: bool) -> None:
        self.adopted.append((capabilities.provider_name, is_replaced))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.watch.run())
        yield
        task.cancel()
        await asyncio.wait([task])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_failures_are_repeated_less_and_less_often_until_it_answers(world: World) -> None:
    world.program.failure = "exit status 1"
    async with world.running():
        await asyncio.sleep(200)
        assert world.program.asked == [0, 1, 3, 7, 15, 31, 63, 123, 183]
        assert world.watch.condition == (False, "capabilities: Unavailable: exit status 1")
        world.program.failure = ""
        await world.watch.answered.wait()
        assert asyncio.get_running_loop().time() == pytest.approx(243)
    assert (world.watch.condition, world.adopted) == ((True, ""), [("sim", False)])


@pytest.mark.slow
async def test_they_are_asked_every_ten_minutes_and_a_later_failure_is_only_a_message(world: World) -> None:
    async with world.running():
        await asyncio.sleep(601)
        world.program.failure = "exit status 1"
        await asyncio.sleep(601)
        assert world.watch.condition == (True, "capabilities: Unavailable: exit status 1")
        assert world.adopted == [("sim", False), ("sim", False)]
    assert world.program.asked[:4] == [0, 600, 1200, 1201]


async def test_a_provider_that_offers_nothing_is_told_so(world: World) -> None:
    world.program.interfaces = {"instances": False}
    async with world.running():
        await asyncio.sleep(1)
        ready, message = world.watch.condition
        assert (ready, message.partition(":")[0]) == (True, "it offers nothing")
        world.program.interfaces = {"instances": True}
        await asyncio.sleep(600)
        assert world.watch.condition == (True, "")


@pytest.mark.slow
async def test_what_it_offers_is_logged_once_and_when_it_changes(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    async with world.running():
        await asyncio.sleep(1300)
        world.program.interfaces = {"instances": True, "routes": True}
        await asyncio.sleep(600)
    told = [line for line in capfd.readouterr().err.splitlines() if "provider answers" in line]
    assert [re.findall(r"instances|routes", line) for line in told] == [["instances"], ["instances", "routes"]]


async def test_another_file_is_asked_within_seconds(world: World) -> None:
    async with world.running():
        await asyncio.sleep(60)
        world.program.name = "new"
        other = world.file.with_name("other")
        other.write_text("two")
        other.replace(world.file)
        await asyncio.sleep(6)
        assert world.adopted == [("sim", False), ("new", True)]
        world.file.unlink()
        world.program.failure = "the file is not there"
        await asyncio.sleep(60)
    assert world.adopted[2:] == []
    assert world.watch.condition[0]

"""A younger process that desires another state: does it still exist? Level: sandbox."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.registration.reconcile import CHALLENGE, claim
from hookrunner.registration.registered_object import Challenge
from hookrunner.registration.webhook_objects import VALIDATING, registrations
from hookrunner.settings import KubeSettings
from kubesandbox.sandbox import Options, serving
from tests.registration.world import World, entry_names

pytestmark = pytest.mark.looptime
ONE, TWO = "one.example.com", "two.example.com"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """In virtual time, so on the sandbox only."""
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(serving(Options()))
        credentials, metrics = Credentials(KubeSettings(), Connection(sandbox.url)), Metrics("")
        other = await stack.enter_async_context(Client(credentials, Requests(metrics)))
        yield World(credentials, other, metrics, stack)


async def test_registrations_of_an_ended_process_are_taken_over(world: World) -> None:
    gone, _ = await world.registrar(world.desired(world.validating(TWO)), started=2.0)
    await gone.publish(b"")
    here, meter = await world.registrar(world.desired(world.validating(ONE)), started=1.0)
    async with world.kept(here):
        assert "started later" in here.condition()[1]
        await asyncio.sleep(100)
        assert here.condition() == (True, "")
    found = await world.get(VALIDATING)
    assert entry_names(found) == [ONE]
    assert CHALLENGE not in found["metadata"]["annotations"]
    assert len(meter.writes) == 2


async def test_registrations_of_a_running_process_stay(world: World) -> None:
    young, answers = await world.registrar(world.desired(world.validating(TWO)), started=2.0)
    old, questions = await world.registrar(world.desired(world.validating(ONE)), started=1.0)
    await young.publish(b"")
    async with world.kept(young, old):
        await asyncio.sleep(80)
        assert "started later" in old.condition()[1]
    found = await world.get(VALIDATING)
    assert entry_names(found) == [TWO]
    assert CHALLENGE not in found["metadata"]["annotations"]
    assert (questions.writes, answers.writes) == (["PUT 200"], ["POST 201", "PUT 200"])


@pytest.mark.slow
async def test_the_same_question_is_asked_less_and_less_often(world: World) -> None:
    registration = registrations(world.desired(world.validating(ONE)))[0]
    await world.create(VALIDATING, {"metadata": {"name": world.name}})
    challenge, asked = Challenge(world.other, registration, claim(1.0)), []
    for turn in range(140):
        assert not await challenge.lacks_answer()
        if (await world.get(VALIDATING))["metadata"].get("annotations"):
            asked.append(turn)
            await world.edit(VALIDATING, lambda obj: obj["metadata"].pop("annotations"))
    assert asked == [0, 2, 6, 14, 30, 62, 126]

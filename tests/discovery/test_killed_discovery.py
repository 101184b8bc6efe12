"""A process that dies at one of its writes, and the next one. Level: sandbox."""

import asyncio
from functools import partial

import pytest

from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings
from kubesandbox.sandbox import Sandbox
from tests.discovery.listing import Seen, listing
from tests.fakes.deaths import Death

pytestmark = [pytest.mark.looptime, pytest.mark.slow]


class HangingClient(Client):
    """Of a process that dies at a write: nothing is answered from then on."""

    def __init__(self, url: str, death: Death) -> None:
        super().__init__(Credentials(KubeSettings(), Connection(url)), Requests(Metrics("")))
        self.death = death

    async def send(self, call: ApiCall) -> bytes:
        return await self.death.step(partial(super().send, call), counts=call.method != "GET")


async def begin(seen: Seen) -> None:
    """One addon is listed, and has no component any more; another one is new, and so are the components of a third,
    whose object a user has created."""
    await seen.label("a", "old")
    async with listing(seen.client, "configmaps"):
        assert await seen.shown() == {"old": "a"}
    await seen.unlabel("a")
    await seen.label("b", "new")
    await seen.label("c", "theirs")
    await seen.create("theirs")


async def end(seen: Seen) -> None:
    for name in ("b", "c"):
        await seen.unlabel(name)
    async with listing(seen.client, "configmaps"):
        assert await seen.shown() == {}


@pytest.mark.parametrize("done", [True, False])
async def test_next_process_finishes_what_a_killed_one_has_begun(client: Client, sandbox: Sandbox, done: bool) -> None:
    seen, at, has_died = Seen(client), 0, True
    while has_died:
        await begin(seen)
        death = Death(at, done)
        async with HangingClient(sandbox.url, death) as mortal, listing(mortal, "configmaps"):
            await asyncio.sleep(5)
        async with listing(client, "configmaps"):
            assert await seen.shown(5) == {"new": "b", "theirs": "c"}, at
        await end(seen)
        at, has_died = at + 1, death.happened.is_set()
    assert at == 6, "it dies at a deletion, a creation, a label and two statuses"

"""Faults on demand, by Python and by HTTP: each does what it says, so often as it says, and goes away again.

Level: sandbox."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest

from kubesandbox.faults import Fault
from kubesandbox.status import Refused
from tests.flows.waiting import until
from tests.kubesandbox.conftest import Client

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


class Watching:
    """An open watch; events as they come."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self) -> Any:
        return orjson.loads(await asyncio.wait_for(self._response.content.readline(), 30) or b"null")


@asynccontextmanager
async def watching(client: Client, path: str = f"{CONFIGMAPS}?watch=1&resourceVersion=") -> AsyncIterator[Watching]:
    """A watch from now on."""
    url = f"{client.sandbox.url}{path}{client.sandbox.store.revision}"
    async with client.session.get(url, timeout=aiohttp.ClientTimeout(total=None)) as response:
        yield Watching(response)


async def test_an_answer_is_given_so_many_times(client: Client) -> None:
    client.sandbox.faults.add(Fault("answer", "GET /api/v1/namespaces/default", times=2, status=503, retry_after=7))
    answers = [await client.send("GET", CONFIGMAPS) for _ in range(3)]
    assert [answer.status for answer in answers] == [503, 503, 200]
    assert (answers[0].body["reason"], answers[0].headers["Retry-After"]) == ("ServiceUnavailable", "7")
    assert (await client.send("GET", "/api/v1/nodes")).status == 200


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "Unauthorized"), (403, "Forbidden"), (410, "Expired"), (429, "TooManyRequests")]
)
async def test_refusals_have_the_apis_reasons(client: Client, status: int, reason: str) -> None:
    client.sandbox.faults.add(Fault("answer", status=status))
    assert (await client.send("GET", CONFIGMAPS)).body["reason"] == reason


async def test_a_refused_connection_ends_without_an_answer(client: Client) -> None:
    number = client.sandbox.faults.add(Fault("refuse", CONFIGMAPS))
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.send("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    client.sandbox.faults.remove(number)
    assert (await client.send("GET", CONFIGMAPS)).body["items"] == []


async def test_a_delay_delays(client: Client) -> None:
    client.sandbox.faults.add(Fault("delay", seconds=60))
    asked = asyncio.create_task(client.send("GET", CONFIGMAPS))
    done, _ = await asyncio.wait([asked], timeout=0.05)
    assert not done
    asked.cancel()


async def test_what_is_stalled_goes_on_when_the_fault_goes(client: Client) -> None:
    async with watching(client) as events:
        client.sandbox.faults.add(Fault("stall", "watch=1"))
        await client.create(CONFIGMAPS, {"metadata": {"name": "a"}})
        reading = asyncio.create_task(events.next())
        done, _ = await asyncio.wait([reading], timeout=0.05)
        assert not done
        client.sandbox.faults.clear()
        assert (await reading)["object"]["metadata"]["name"] == "a"


async def test_dropped_events_are_lost(client: Client) -> None:
    async with watching(client) as events:
        client.sandbox.faults.add(Fault("drop", times=1))
        await client.create(CONFIGMAPS, {"metadata": {"name": "lost"}})
        await client.create(CONFIGMAPS, {"metadata": {"name": "told"}})
        assert (await events.next())["object"]["metadata"]["name"] == "told"


async def test_garbled_events_are_half_lines(client: Client) -> None:
    async with watching(client) as events:
        client.sandbox.faults.add(Fault("garble", "watch=1", times=1))
        for name in ("half", "whole"):
            await client.create(CONFIGMAPS, {"metadata": {"name": name}})
        with pytest.raises(orjson.JSONDecodeError):
            await events.next()
        assert (await events.next())["object"]["metadata"]["name"] == "whole"


async def test_open_watches_are_cut_in_the_middle(client: Client) -> None:
    async with watching(client) as events:
        assert client.sandbox.faults.watching("configmaps") == 1
        assert client.sandbox.faults.cut("pods") == 0
        assert client.sandbox.faults.cut("configmaps") == 1
        with pytest.raises(aiohttp.ClientError):
            await events.next()


async def test_open_watches_expire(client: Client) -> None:
    async with watching(client) as events:
        assert await client.sandbox.faults.expire() == 1
        event = await events.next()
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        assert await events.next() is None


async def test_events_can_be_made_up(client: Client) -> None:
    async with watching(client) as events:
        await client.sandbox.faults.inject({"type": "NONSENSE"})
        assert await events.next() == {"type": "NONSENSE"}


async def test_bytes_are_sent_as_they_are(client: Client) -> None:
    async with watching(client) as events:
        assert await client.sandbox.faults.inject(b'{"type":"ONE"}\n{"type":') == 1
        await client.sandbox.faults.inject(b'"TWO"}\n')
        assert [await events.next() for _ in range(2)] == [{"type": "ONE"}, {"type": "TWO"}]


async def test_a_compaction_is_asked_for_over_http(client: Client) -> None:
    old = (await client.send("GET", CONFIGMAPS)).body["metadata"]["resourceVersion"]
    await client.create(CONFIGMAPS, {"metadata": {"name": "a"}})
    assert (await client.send("POST", "/_sandbox/compact")).body == {"compacted": client.sandbox.store.revision}
    async with client.session.get(f"{client.sandbox.url}{CONFIGMAPS}?watch=1&resourceVersion={old}") as response:
        assert (await Watching(response).next())["object"]["reason"] == "Expired"


async def test_faults_are_made_shown_and_removed_over_http(client: Client) -> None:
    made = await client.send("POST", "/_sandbox/faults", {"what": "answer", "match": "configmaps", "status": 429})
    assert (await client.send("GET", CONFIGMAPS)).status == 429
    (shown,) = (await client.send("GET", "/_sandbox/faults")).body["faults"]
    assert (shown["number"], shown["what"]) == (made.body["number"], "answer")
    await client.send("DELETE", f"/_sandbox/faults/{shown['number']}")
    assert (await client.send("GET", CONFIGMAPS)).status == 200
    assert (await client.send("GET", "/_sandbox/requests")).body["requests"] == [f"GET {CONFIGMAPS}"] * 2


async def test_watches_are_cut_and_expired_over_http(client: Client) -> None:
    async with watching(client):
        assert (await client.send("POST", "/_sandbox/expire?match=pods")).body == {"watches": 0}
        assert (await client.send("POST", "/_sandbox/cut?match=configmaps")).body == {"watches": 1}


NO_FAULTS = (
    b"",
    b"[]",
    b'{"what": "explode"}',
    b'{"what": "answer", "status": 200}',
    b'{"what": "delay", "seconds": "x"}',
    b'{"what": "answer", "times": "often"}',
    b'{"nonsense": 1}',
    b'{"what": "answer", "match": 5}',
    b'{"what": "answer", "match": null}',
)


@pytest.mark.parametrize("body", NO_FAULTS)
async def test_what_is_no_fault_is_refused(client: Client, body: bytes) -> None:
    answer = await client.send("POST", "/_sandbox/faults", body)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert (await client.send("GET", CONFIGMAPS)).status == 200


@pytest.mark.parametrize("number", ["x", "²", "9" * 5000, "-1"])
async def test_a_number_that_is_none_is_no_path(client: Client, number: str) -> None:
    assert (await client.send("DELETE", f"/_sandbox/faults/{number}")).status == 404


def test_a_fault_that_is_none_is_refused_in_python_too() -> None:
    with pytest.raises(Refused, match="there are delay, answer, refuse, stall, drop, garble"):
        Fault("explode")  # type: ignore[arg-type]


async def test_a_client_that_goes_leaves_no_watch_behind(client: Client) -> None:
    async with watching(client):
        assert client.sandbox.faults.watching() == 1
    await until(lambda: not client.sandbox.faults.watching(), "the watch ends")

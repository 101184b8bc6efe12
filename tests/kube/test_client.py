"""One request and its answer: errors, repetitions, credentials, streams. Level: sandbox."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from hookrunner.errors import (
    ApiError,
    Conflict,
    Cut,
    Denied,
    KubeError,
    NotFound,
    NotLeader,
    Silent,
    Throttled,
    Unreachable,
)
from hookrunner.kube.back_off import TokenBucket
from hookrunner.kube.client import ApiCall, Client, FencedClient, template
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Options
from tests.controlplane.processes import free_port
from tests.fakes.objects import config_map
from tests.flows.waiting import until
from tests.kube.server import ApiServer, api_server
from tests.tables import each

pytestmark = pytest.mark.looptime
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("status", "reason", "leaf"),
    [(404, "NotFound", NotFound), (409, "Conflict", Conflict), (403, "Forbidden", Denied), (418, "", ApiError)],
)
async def test_an_error_answer_becomes_its_error(
    api: ApiServer, client: Client, status: int, reason: str, leaf: type[ApiError]
) -> None:
    api.faults.add(Fault("answer", status=status))
    with pytest.raises(leaf, match="a fault that the sandbox was given") as caught:
        await client.get(MAPS)
    assert (caught.value.status, caught.value.reason) == (status, reason)
    assert len(api.requests) == 1


@asynccontextmanager
async def balancer(status: int, text: str, seen: list[web.BaseRequest]) -> AsyncIterator[Connection]:
    """What stands before an API server and answers for it."""

    async def answer(http: web.BaseRequest) -> web.Response:
        seen.append(http)
        return web.Response(text=text, status=status)

    async with RawTestServer(answer) as server:
        yield Connection(str(server.make_url("")).rstrip("/"))


async def test_answer_without_a_status_names_the_server_and_the_request(metrics: Metrics) -> None:
    async with balancer(502, "<html>Bad gateway</html>", []) as connection, client_of(connection, metrics) as client:
        with pytest.raises(ApiError, match="GET /api/v1/x: HTTP 502 Bad Gateway: <html>Bad gateway</html>"):
            await client.get("/api/v1/x")


async def test_an_answer_that_cannot_be_read_is_an_error_of_the_api(metrics: Metrics) -> None:
    for text in ("<html>Welcome</html>", "[" * 3000):
        async with balancer(200, text, []) as connection, client_of(connection, metrics) as client:
            with pytest.raises(KubeError, match="GET /api/v1/x: the answer cannot be read as JSON"):
                await client.get("/api/v1/x")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_request_is_repeated_after_the_servers_pause(api: ApiServer, client: Client, method: str) -> None:
    api.faults.add(Fault("answer", times=1, status=429, retry_after=3))
    api.faults.add(Fault("answer", times=1, status=503, retry_after=1))
    began = asyncio.get_running_loop().time()
    await client.send(ApiCall(method, MAPS, body=config_map("a") if method == "POST" else None))
    assert asyncio.get_running_loop().time() - began >= 4
    assert len(api.requests) == 3


async def test_repeated_throttling_ends_in_an_error(api: ApiServer, client: Client) -> None:
    api.faults.add(Fault("answer", status=429, retry_after=1))
    with pytest.raises(Throttled):
        await client.get(MAPS)
    assert len(api.requests) == 4


async def test_request_that_may_have_arrived_is_not_repeated(api: ApiServer, client: Client) -> None:
    api.faults.add(Fault("refuse", f"POST {MAPS}"))
    with pytest.raises(Unreachable):
        await client.send(ApiCall("POST", MAPS, body=config_map("a")))
    assert len(api.requests) == 1


async def test_unreachable_server_is_named(metrics: Metrics) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    async with client_of(Connection(url), metrics) as client:
        with pytest.raises(Unreachable, match=f"{url}: Cannot connect: Connection refused"):
            await client.get("/api")
    assert b'code="<error>"' in metrics.exposition()


async def test_silent_server_is_named_alike_at_each_attempt(metrics: Metrics) -> None:
    """A message that differs would be reported each time: each watch asks for another `timeoutSeconds`."""

    left: asyncio.Queue[None] = asyncio.Queue()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.put_nowait(None)

    mute = await asyncio.start_server(listen, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{mute.sockets[0].getsockname()[1]}"
    async with mute, client_of(Connection(url), metrics) as client:
        for seconds in ("442", "570"):
            with pytest.raises(Unreachable) as caught:
                await anext(client.stream(MAPS, {"watch": "true", "timeoutSeconds": seconds}, idle=75))
            assert str(caught.value) == f"{url}: Cannot connect: no answer in time"
            await left.get()


def client_of(connection: Connection, metrics: Metrics) -> Client:
    return Client(Credentials(KubeSettings(), connection), Requests(metrics))


async def test_missing_answer_ends_in_a_timeout(api: ApiServer, client: Client) -> None:
    api.faults.add(Fault("stall"))
    with pytest.raises(Unreachable, match="no answer"):
        await client.send(ApiCall("GET", MAPS, timeout=5))


async def test_requests_carry_credentials_and_user_agent(metrics: Metrics) -> None:
    seen: list[web.BaseRequest] = []
    async with (
        balancer(200, "{}", seen) as connection,
        client_of(replace(connection, authorization="Bearer secret"), metrics) as client,
    ):
        await client.get(MAPS)
    assert seen[0].headers["Authorization"] == "Bearer secret"
    assert seen[0].headers["User-Agent"].startswith("hookrunner/")
    assert seen[0].headers["Accept-Encoding"] == "identity"


async def test_a_refused_token_is_read_again_once(metrics: Metrics, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("new\n")
    async with api_server(Options(token="new")) as api:
        connection = Connection(api.url, authorization="Bearer old", token_file=str(file))
        async with client_of(connection, metrics) as client:
            await client.get(MAPS)
            api.faults.add(Fault("answer", status=401))
            with pytest.raises(Denied):
                await client.get(MAPS)
    assert len(api.requests) == 2, "the same token is not tried again"


async def test_replica_that_does_not_lead_reads_and_writes_nothing(api: ApiServer, metrics: Metrics) -> None:
    """Nor does a request that is repeated after it has lost the lead."""
    leads, credentials = [True], Credentials(KubeSettings(), Connection(api.url))
    api.faults.add(Fault("answer", match="POST", status=429, retry_after=1, times=1))
    asyncio.get_running_loop().call_later(0.5, leads.clear)
    async with FencedClient(credentials, Requests(metrics), lambda: bool(leads)) as client:
        with pytest.raises(NotLeader, match=f"POST {MAPS} was not sent"):
            await client.send(ApiCall("POST", MAPS, body=config_map("a")))
        assert (await client.get(MAPS))["items"] == []


async def test_replica_that_leads_writes_as_slowly_as_its_twin(api: ApiServer, metrics: Metrics) -> None:
    """The limit is that of the process, and the lead is asked for after the wait."""
    credentials, meter = Credentials(KubeSettings(), Connection(api.url)), Requests(metrics)
    twin, leads = Client(credentials, meter, TokenBucket.per_second(0.1, 1)), [True]
    began = asyncio.get_running_loop().time()
    async with twin, FencedClient(credentials, meter, lambda: bool(leads), twin) as client:
        await twin.send(ApiCall("POST", MAPS, body=config_map("a")))
        await client.send(ApiCall("POST", MAPS, body=config_map("b")))
        assert asyncio.get_running_loop().time() - began >= 10
        asyncio.get_running_loop().call_later(1, leads.clear)
        with pytest.raises(NotLeader):
            await client.send(ApiCall("POST", MAPS, body=config_map("c")))


async def test_stream_yields_whole_lines_of_any_length(api: ApiServer, client: Client) -> None:
    long = b"x" * 3_000_000
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=60)) as chunks:
        assert await anext(chunks) == []
        await api.faults.inject(long + b"\nshort\n")
        lines: list[bytes] = []
        while len(lines) < 2:
            lines += [line for line in await anext(chunks) if line]
    assert lines == [long, b"short"]


async def test_silent_stream_raises_silent(api: ApiServer, client: Client) -> None:
    began = asyncio.get_running_loop().time()
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=60)) as chunks:
        assert [await anext(chunks), await anext(chunks)] == [[], []]
        with pytest.raises(Silent, match="nothing heard for 60 s"):
            await anext(chunks)
    assert 60 <= asyncio.get_running_loop().time() - began < 62


async def test_stream_whose_idle_time_is_short_says_nothing_before_its_end(api: ApiServer, client: Client) -> None:
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=0.2)) as chunks:
        assert await anext(chunks) == []
        with pytest.raises(Silent, match=r"nothing heard for 0\.2 s"):
            await anext(chunks)


async def test_broken_stream_raises_cut(api: ApiServer, client: Client) -> None:
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=60)) as chunks:
        await anext(chunks)
        api.faults.cut()
        with pytest.raises(Cut, match=f"GET {MAPS}: the answer broke off in the middle"):
            await anext(chunks)


async def test_unanswered_stream_ends_before_its_idle_time(api: ApiServer, client: Client) -> None:
    api.faults.add(Fault("stall"))
    began = asyncio.get_running_loop().time()
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=75)) as chunks:
        with pytest.raises(Unreachable, match="no answer in time"):
            await anext(chunks)
    assert asyncio.get_running_loop().time() - began < 32


async def test_leaving_a_stream_closes_its_connection(api: ApiServer, client: Client) -> None:
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=60)) as chunks:
        await anext(chunks)
        assert api.faults.watching() == 1
    await until(lambda: not api.faults.watching(), "the server notices")


async def test_requests_are_counted_without_names(api: ApiServer, client: Client, metrics: Metrics) -> None:
    api.put(config_map("a"))
    await client.get(f"{MAPS}/a")
    text = metrics.exposition().decode()
    host = api.url.removeprefix("http://")
    assert f'request_result_total{{code="200",component="main",host="{host}",method="GET"}} 1\n' in text
    assert 'url="/api/v1/namespaces/{namespace}/configmaps/{name}"' in text


@each(
    ("path", "expected"),
    [
        ("/api/v1/pods", "/api/v1/pods"),
        ("/api/v1/namespaces", "/api/v1/namespaces"),
        ("/api/v1/namespaces/a", "/api/v1/namespaces/{name}"),
        ("/api/v1/namespaces/a/pods", "/api/v1/namespaces/{namespace}/pods"),
        (
            "/apis/apps/v1/namespaces/a/deployments/b/scale",
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
        ),
        ("/apis/example.com/v1/widgets/b/status", "/apis/example.com/v1/widgets/{name}/status"),
        ("/apis", "/apis"),
        ("/apis/apps/v1", "/apis/apps/v1"),
        ("/version", "/version"),
    ],
)
def test_a_template_names_no_object(path: str, expected: str) -> None:
    assert template(path) == expected


async def test_a_pace_lets_a_burst_through_and_then_so_many_a_second() -> None:
    pace, loop = TokenBucket.per_second(5, 10), asyncio.get_running_loop()
    began = loop.time()
    for _ in range(20):
        await pace.turn()
    assert loop.time() - began == pytest.approx(2)


async def test_a_pace_of_zero_is_no_limit() -> None:
    pace, loop = TokenBucket.per_second(0, 0), asyncio.get_running_loop()
    began = loop.time()
    for _ in range(1000):
        await pace.turn()
    assert loop.time() == began


async def test_answer_that_breaks_off_is_an_error(metrics: Metrics) -> None:
    async def answer(http: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(http)
        await response.write(b"{")
        assert http.transport
        http.transport.close()
        return response

    async with RawTestServer(answer) as server:
        url = str(server.make_url("")).rstrip("/")
        async with client_of(Connection(url), metrics) as client:
            with pytest.raises(Cut, match="POST /api/v1/x: "):
                await client.send(ApiCall("POST", "/api/v1/x"))

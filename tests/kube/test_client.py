"""One request and its answer: errors, repetitions, credentials, streams."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from hookrunner.errors import ApiError, Conflict, Cut, Denied, NotFound, Silent, Throttled, Unreachable
from hookrunner.kube.client import Call, Client, template
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.pace import Pace
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.requests import Requests
from hookrunner.settings import KubeSettings
from tests.fakes.api import FakeApi, config_map, no_server

pytestmark = pytest.mark.looptime
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("status", "reason", "leaf"),
    [(404, "NotFound", NotFound), (409, "Conflict", Conflict), (403, "Forbidden", Denied), (418, "", ApiError)],
)
async def test_an_error_answer_becomes_its_error(
    api: FakeApi, client: Client, status: int, reason: str, leaf: type[ApiError]
) -> None:
    api.failures = [(status, reason, {})]
    with pytest.raises(leaf, match=f"refused: {reason or status}") as caught:
        await client.get(MAPS)
    assert (caught.value.status, caught.value.reason) == (status, reason)
    assert len(api.requests) == 1


async def test_an_answer_that_is_no_status_says_who_answered_what(api: FakeApi, client: Client) -> None:
    api.failures = [(502, "<html>Bad gateway</html>", {})]
    with pytest.raises(ApiError, match="GET /api/v1/x: HTTP 502 Bad Gateway: <html>Bad gateway</html>"):
        await client.get("/api/v1/x")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_what_the_server_puts_off_is_sent_again_then(api: FakeApi, client: Client, method: str) -> None:
    api.failures = [(429, "TooManyRequests", {"Retry-After": "3"}), (503, "", {"Retry-After": "1"})]
    began = asyncio.get_running_loop().time()
    await client.send(Call(method, MAPS, body=config_map("a") if method == "POST" else None))
    assert asyncio.get_running_loop().time() - began >= 4
    assert len(api.requests) == 3


async def test_putting_off_has_an_end(api: FakeApi, client: Client) -> None:
    api.failures = [(429, "TooManyRequests", {"Retry-After": "1"})] * 9
    with pytest.raises(Throttled):
        await client.get(MAPS)
    assert len(api.requests) == 4


async def test_a_server_that_is_away_is_named(metrics: Metrics) -> None:
    async with no_server() as url, client_of(Connection(url), metrics) as client:
        with pytest.raises(Unreachable, match=url):
            await client.get("/api")
    assert b'code="<error>"' in metrics.exposition()


def client_of(connection: Connection, metrics: Metrics) -> Client:
    return Client(Credentials(KubeSettings(), connection), Requests(metrics))


async def test_an_answer_that_never_comes_is_given_up(api: FakeApi, client: Client) -> None:
    api.deaf = True
    with pytest.raises(Unreachable, match="no answer"):
        await client.send(Call("GET", MAPS, timeout=5))


async def test_a_request_carries_who_we_are(api: FakeApi, metrics: Metrics) -> None:
    async with client_of(Connection(api.url, authorization="Bearer secret"), metrics) as client:
        await client.get(MAPS)
    headers = api.requests[0].headers
    assert headers["Authorization"] == "Bearer secret"
    assert headers["User-Agent"].startswith("hookrunner/")
    assert headers["Accept-Encoding"] == "identity"


async def test_a_refused_token_is_read_again_once(api: FakeApi, metrics: Metrics, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("new\n")
    api.failures = [(401, "Unauthorized", {})]
    async with client_of(Connection(api.url, authorization="Bearer old", token_file=str(file)), metrics) as client:
        await client.get(MAPS)
        api.failures = [(401, "Unauthorized", {})]
        with pytest.raises(Denied):
            await client.get(MAPS)
    assert [request.headers["Authorization"] for request in api.requests] == ["Bearer old", "Bearer new", "Bearer new"]


async def test_a_stream_gives_whole_lines_of_any_length(api: FakeApi, client: Client) -> None:
    long = b"x" * 3_000_000
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=60)) as chunks:
        assert await anext(chunks) == []
        api.tell(long + b"\nshort")
        lines: list[bytes] = []
        while len(lines) < 2:
            lines += [line for line in await anext(chunks) if line]
    assert lines == [long, b"short"]


async def test_a_stream_that_falls_silent_says_so(api: FakeApi, client: Client) -> None:
    began = asyncio.get_running_loop().time()
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=60)) as chunks:
        await anext(chunks)
        with pytest.raises(Silent, match="nothing heard for 60 s"):
            await anext(chunks)
    assert 60 <= asyncio.get_running_loop().time() - began < 62


async def test_a_stream_that_breaks_says_so(api: FakeApi, client: Client) -> None:
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=60)) as chunks:
        await anext(chunks)
        api.cut()
        with pytest.raises(Cut):
            await anext(chunks)


async def test_a_stream_that_is_not_answered_is_given_up_sooner(api: FakeApi, client: Client) -> None:
    api.deaf = True
    began = asyncio.get_running_loop().time()
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=75)) as chunks:
        with pytest.raises(Unreachable, match="no answer in time"):
            await anext(chunks)
    assert asyncio.get_running_loop().time() - began < 32


async def test_leaving_a_stream_closes_its_connection(api: FakeApi, client: Client) -> None:
    async with aclosing(client.stream(MAPS, {"watch": "true"}, idle=60)) as chunks:
        await anext(chunks)
    await asyncio.sleep(1)
    assert api.watching == 0


async def test_requests_are_counted_without_names(api: FakeApi, client: Client, metrics: Metrics) -> None:
    api.put(config_map("a"))
    await client.get(f"{MAPS}/a")
    text = metrics.exposition().decode()
    host = api.url.removeprefix("http://")
    assert f'request_result_total{{code="200",component="main",host="{host}",method="GET"}} 1\n' in text
    assert 'url="/api/v1/namespaces/{namespace}/configmaps/{name}"' in text


@pytest.mark.parametrize(
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
    pace, loop = Pace(5, 10), asyncio.get_running_loop()
    began = loop.time()
    for _ in range(20):
        await pace.turn()
    assert loop.time() - began == pytest.approx(2)


async def test_a_pace_of_zero_is_no_limit() -> None:
    pace, loop = Pace(0, 0), asyncio.get_running_loop()
    began = loop.time()
    for _ in range(1000):
        await pace.turn()
    assert loop.time() == began

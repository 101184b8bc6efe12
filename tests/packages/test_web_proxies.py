"""Which servers are reached through a proxy, and that packages come through one. Level: pure."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from yarl import URL

from hookrunner.errors import PackageError
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.https_source import HttpsSource
from hookrunner.packages.web_proxies import WebProxies, is_bypassed
from tests.packages.places import FILES, refusal_of, with_checksums
from tests.packages.web_place import KUBERNETES, Answer, WebPlace, web_place
from tests.tables import each

HERE = "127.0.0.1"


def test_the_variables_of_the_scheme_are_used_in_uppercase_first() -> None:
    names = {
        "HTTPS_PROXY": "https://a:1",
        "https_proxy": "http://b",
        "http_proxy": "c:3",
        "NO_PROXY": "",
        "no_proxy": "n",
    }
    proxies = WebProxies(names)
    found = [
        str(proxies.proxy_for(URL(url))) for url in ("https://x.y/z", "http://x.y", "https://n", "https://[::1]:4")
    ]
    assert found == ["https://a:1", "http://c:3", "None", "None"]
    assert WebProxies().proxy_for(URL("https://x.y")) is None


@each(
    ("host", "no_proxy", "is_named"),
    [
        ("a.svc", ".svc,.local", True),
        ("svc", ".svc", False),
        ("svc", "svc", True),
        ("a.svc", " SVC ", True),
        ("asvc", "svc", False),
        ("a.b", "*.b", True),
        ("b", "*.b", False),
        ("any", "x,*", True),
        ("any", "x,,", False),
        ("any:8443", "any:8443", True),
        ("any:8443", "any:443", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3:80", "10.1.2.3:80", True),
        ("10.1.2.3", "2.3", False),
        ("11.1.2.3", "10.0.0.0/8,nonsense/9", False),
        ("[fd00::1]", "fd00::/8", True),
        ("[fd00::1]", "fd00:0::1", True),
        ("[fd00::1]:80", "[fd00::1]:80", True),
        ("ten.example", "10.0.0.0/8", False),
    ],
)
def test_servers_that_are_reached_directly(host: str, no_proxy: str, is_named: bool) -> None:
    url = URL(f"https://{host}")
    assert is_bypassed(url.host or "", url.port or 0, no_proxy) is is_named


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[WebPlace]:
    async with web_place(tmp_path) as place:
        place.put_package("coredns", "1.0", with_checksums(FILES))
        yield place


@asynccontextmanager
async def proxy_to(place: WebPlace, heads: list[str]) -> AsyncIterator[str]:
    """A proxy for which every name is the place; what it was asked for is in `heads`."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        to_place = await asyncio.open_connection(HERE, URL(place.base).port)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await asyncio.gather(copy(reader, to_place[1]), copy(to_place[0], writer), return_exceptions=True)

    server = await asyncio.start_server(serve, HERE)
    async with server:
        yield f"{HERE}:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def reader_through(proxy: str) -> AsyncIterator[HttpsReader]:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    async with HttpsReader(trusting, WebProxies({"HTTPS_PROXY": f"http://{proxy}"})) as reader:
        yield reader


async def test_packages_come_through_a_proxy_that_knows_the_names(place: WebPlace) -> None:
    heads: list[str] = []
    place.answers["/packages/coredns/1.0/SHA256SUMS"] = Answer(302, {"Location": "https://mirror.example/sums"})
    place.files["/sums"] = place.files["/packages/coredns/1.0/SHA256SUMS"]
    async with proxy_to(place, heads) as proxy, reader_through(f"me:secret@{proxy}") as reader:
        package = await HttpsSource("https://packages.example", reader, KUBERNETES, 30).read_package("coredns", "1.0")
    assert {path: package.files[path] for path in FILES} == FILES
    assert {head.split()[1] for head in heads} == {"packages.example:443", "mirror.example:443"}
    assert all(b64encode(b"me:secret").decode() in head for head in heads)


@asynccontextmanager
async def refusing_proxy() -> AsyncIterator[int]:
    """The port of a proxy that does not accept a login."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 407 \x1b[31mNo\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, HERE) as server:
        yield server.sockets[0].getsockname()[1]


@each(
    "proxy, problem",
    [
        (f"me:secret@{HERE}:1", "Cannot connect to the proxy: Connection refused"),
        (f"me:secret@{HERE}:{{port}}", "the proxy answers HTTP 407"),
        ("me:secret", "HTTPS_PROXY is no address; write http://HOST:PORT"),
    ],
)
async def test_a_proxy_that_fails_is_named_without_its_password(proxy: str, problem: str) -> None:
    async with refusing_proxy() as port, reader_through(proxy.format(port=port)) as reader:
        error = await refusal_of(HttpsSource("https://packages.example", reader, KUBERNETES, 30).read_channel("stable"))
    assert (error.reason, str(error)) == ("Unreachable", f"https://packages.example/stable: {problem}")


async def test_public_server_leads_to_no_private_address_behind_a_proxy(place: WebPlace) -> None:
    place.answers["/stable"] = Answer(302, {"Location": "https://10.0.0.1/secret"})
    async with proxy_to(place, []) as proxy, reader_through(proxy) as reader:
        with pytest.raises(PackageError, match=r"private address 10\.0\.0\.1"):
            await HttpsSource("https://packages.example", reader, KUBERNETES, 30).read_channel("stable")

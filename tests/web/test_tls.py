"""TLS: certificates exchanged under load, who is let in, rude clients, and the end."""

import asyncio
import os
import resource
import socket
import ssl
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from pathlib import Path

import aiohttp
import pytest
from cryptography import x509

from hookrunner.errors import BadConfig, StartRefused
from hookrunner.model.reviews import Verdict
from hookrunner.web import handshakes, tls
from hookrunner.web.limits import Limits
from hookrunner.web.listen import on_port
from hookrunner.web.tls import TlsListener, listening
from tests.web.certificates import Authority, Pair
from tests.web.reviewing import Served, Setup, Told, admission, served

REVIEW = b"POST /hooks/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
BODY = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1"}}'
WHOLE = REVIEW % (len(BODY), BODY)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connected(server: Served, context: ssl.SSLContext | None = None) -> AsyncIterator[Streams]:
    """A bare connection. It is cut at the end: nothing is left to the collector."""
    context = context or server.ca.client_context()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def serial(writer: asyncio.StreamWriter) -> int:
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(shown).serial_number


async def head(reader: asyncio.StreamReader) -> bytes:
    """The head of an answer; its body is read too, and thrown away."""
    text = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in text.lower().splitlines() if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.split(b":")[1]))
    return text


def use(server: Served, pair: Pair) -> None:
    server.listener.use(pair.certificate, pair.key)


# ── certificates ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_new_connections_get_the_new_certificate_and_old_ones_are_closed_after_an_answer() -> None:
    async with served(Told()) as server, asyncio.timeout(5):
        new = server.ca.server()
        async with connected(server) as (reader, writer):
            use(server, new)
            async with connected(server) as (_, fresh):
                assert (serial(fresh), serial(writer) == new.serial) == (new.serial, False)
            writer.write(WHOLE)
            assert b"Connection: close" in await head(reader)
            assert await reader.read() == b""


async def test_a_review_that_runs_during_the_exchange_is_answered() -> None:
    told = Told()
    told.going_on.clear()
    async with served(told) as server, asyncio.timeout(5):
        running = asyncio.create_task(server.post("/hooks/a", admission()))
        await told.until_asked(1)
        use(server, server.ca.server())
        told.going_on.set()
        assert (await running)[0] == 200


class Busy:
    """Clients that make new connections as fast as they go, several hundred a second, and one that keeps its own."""

    def __init__(self, server: Served, trusting: ssl.SSLContext) -> None:
        self._server = server
        self._trusting = trusting
        self.serials = Counter[int]()
        self.kept = 0
        self.over = False
        self._changed = asyncio.Condition()

    async def fresh(self) -> None:
        while not self.over:
            async with connected(self._server, self._trusting) as (reader, writer):
                writer.write(WHOLE)
                assert (await head(reader)).startswith(b"HTTP/1.1 200")
                self.serials[serial(writer)] += 1
            async with self._changed:
                self._changed.notify_all()

    async def keeping(self) -> None:
        connector = aiohttp.TCPConnector(ssl=self._trusting)
        async with aiohttp.ClientSession(f"https://127.0.0.1:{self._server.port}", connector=connector) as session:
            while not self.over:
                async with session.post("/hooks/a", json=admission()) as answer:
                    assert answer.status == 200
                self.kept += 1

    async def until_seen(self, shown: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.serials[shown] >= 2)


async def test_nothing_is_lost_in_fifty_exchanges_with_new_connections_all_the_time() -> None:
    other = Authority("another CA")
    async with served(Told()) as server, asyncio.timeout(60):
        busy = Busy(server, server.ca.client_context(other))
        pairs = [(server.ca, other)[n % 2].server() for n in range(50)]
        async with asyncio.TaskGroup() as group:
            for client in (busy.fresh, busy.fresh, busy.fresh, busy.keeping):
                group.create_task(client())
            for pair in pairs:
                use(server, pair)
                await busy.until_seen(pair.serial)
            busy.over = True
    assert {pair.serial for pair in pairs} <= set(busy.serials)
    assert busy.kept >= 50


@pytest.mark.parametrize("what", ["key of another", "no key", "no certificate", "nonsense", "encrypted key"])
async def test_a_pair_that_cannot_be_used_is_refused_and_the_old_one_stays(what: str) -> None:
    async with served(Told()) as server:
        one, two = server.ca.server(), server.ca.server()
        wrong = {
            "key of another": (one.certificate, two.key),
            "no key": (one.certificate, b""),
            "no certificate": (b"", one.key),
            "nonsense": (b"certificate", b"key"),
            "encrypted key": (one.certificate, ENCRYPTED),
        }
        with pytest.raises(BadConfig, match="the server certificate and its key cannot be used together"):
            server.listener.use(*wrong[what])
        assert (await server.post("/hooks/a", admission()))[0] == 200


ENCRYPTED = b"""-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjYV0LdPHTYKAICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEOHGPwh2gJWHMH5DIO8xQUgEgZDC
-----END ENCRYPTED PRIVATE KEY-----
"""


async def test_nobody_is_answered_before_there_is_a_certificate_and_then_everybody() -> None:
    ca = Authority()
    pair, sock = ca.server(), on_port("127.0.0.1", 0, "--webhook-port")
    async with asyncio.timeout(5), listening(sock, hello) as listener:
        early = asyncio.create_task(
            asyncio.open_connection("127.0.0.1", sock.getsockname()[1], ssl=ca.client_context())
        )
        await asyncio.sleep(0)
        assert not early.done()
        listener.use(pair.certificate, pair.key)
        _, writer = await early
        assert serial(writer) == pair.serial
        writer.transport.abort()


async def hello(_request: aiohttp.web.BaseRequest) -> aiohttp.web.Response:
    return aiohttp.web.Response(text="hello")


def test_keys_do_not_touch_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "there is none"))
    pair = Authority().server()
    handshakes.context(pair.certificate, pair.key, "")


def test_where_the_system_has_no_files_in_memory_they_vanish_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with handshakes._file(b"key") as path:
        assert (Path(path).read_bytes(), Path(path).stat().st_mode & 0o777) == (b"key", 0o600)
    assert list(tmp_path.iterdir()) == []


# ── who is let in ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "accepted"),
    [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)],
)
@pytest.mark.filterwarnings(r"ignore:ssl.TLSVersion.TLSv1\S* is deprecated:DeprecationWarning")
async def test_tls_1_2_is_the_oldest(version: ssl.TLSVersion, accepted: bool) -> None:
    async with served(Told()) as server:
        context = server.ca.client_context()
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = version
        with suppress(OSError) if not accepted else nullcontext():
            async with connected(server, context):
                assert accepted


@pytest.mark.parametrize(
    ("offered", "agreed"), [(["h2", "http/1.1"], "http/1.1"), (["http/1.1"], "http/1.1"), ([], None)]
)
async def test_a_client_that_tries_http_2_falls_back(offered: list[str], agreed: str | None) -> None:
    async with served(Told()) as server:
        context = server.ca.client_context()
        if offered:
            context.set_alpn_protocols(offered)
        async with connected(server, context) as (_, writer):
            assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == agreed


class Clients:
    """A server that wants certificates of `ca`, whose file is in `file`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ca = Authority("clients' CA")
        self.file = directory / "clients.crt"
        self.file.write_bytes(self.ca.certificate)
        self.setup = Setup(client_cas=[self.file])

    async def let_in(self, server: Served, pair: Pair | None) -> bool:
        """In TLS 1.3 the client learns of a refusal only when it reads."""
        context = server.ca.client_context()
        if pair:
            context.load_cert_chain(*pair.in_files(self.directory))
        with suppress(OSError, asyncio.IncompleteReadError):
            async with connected(server, context) as (reader, writer):
                writer.write(WHOLE)
                return (await head(reader)).startswith(b"HTTP/1.1 200")
        return False


async def test_with_a_client_ca_only_its_clients_are_let_in(tmp_path: Path) -> None:
    clients, told = Clients(tmp_path), Told()
    pairs = {
        "right": clients.ca.client(),
        "none": None,
        "expired": clients.ca.client(expired=True),
        "foreign": Authority("a stranger").client(),
        "a server's": clients.ca.server(),
    }
    async with served(told, clients.setup) as server, asyncio.timeout(5):
        let_in = [name for name, pair in pairs.items() if await clients.let_in(server, pair)]
    assert (let_in, len(told.asked)) == (["right"], 1)


async def test_client_cas_that_change_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "FOLLOW_EVERY", 0.001)
    clients, new = Clients(tmp_path), Authority("new CA")
    old_pair, new_pair = clients.ca.client(), new.client()
    async with served(Told(), clients.setup) as server, asyncio.timeout(5):
        following = asyncio.create_task(server.listener.follow_client_cas())
        assert (await clients.let_in(server, old_pair), await clients.let_in(server, new_pair)) == (True, False)
        clients.file.write_bytes(new.certificate)
        while not await clients.let_in(server, new_pair):
            pass
        assert not await clients.let_in(server, old_pair)
        clients.file.write_bytes(b"nonsense")
        for _ in range(5):
            assert await clients.let_in(server, new_pair)
        following.cancel()


async def test_a_new_certificate_does_not_forget_the_client_cas(tmp_path: Path) -> None:
    clients = Clients(tmp_path)
    async with served(Told(), clients.setup) as server, asyncio.timeout(5):
        use(server, server.ca.server())
        assert [await clients.let_in(server, pair) for pair in (None, clients.ca.client())] == [False, True]


@pytest.mark.parametrize(
    ("text", "words"), [(None, "No such file"), ("", "PEM"), ("nonsense", "PEM"), ("\xff", "ascii")]
)
async def test_client_cas_that_cannot_be_used_refuse_the_start(tmp_path: Path, text: str | None, words: str) -> None:
    file = tmp_path / "clients.crt"
    if text is not None:
        file.write_text(text)
    refused = pytest.raises(StartRefused, match=f"client CA {file} cannot be used: .*{words}")
    with closing(on_port("127.0.0.1", 0, "--webhook-port")) as sock, refused:
        TlsListener(sock, hello, [file])


# ── rude clients ──────────────────────────────────────────────────────────────────────────────────────────────────────

HASTY = Limits(arrival=0.05, farewell=0.05, taking=0.05, grace=0.05)


async def quiet(before: int, tasks: int) -> None:
    """Until no more descriptors are open, and no more tasks there, than before."""
    while descriptors() > before or len(asyncio.all_tasks()) > tasks:  # noqa: ASYNC110  # nothing tells of both
        await asyncio.sleep(0.005)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("sent", [b"P", b"POST /hooks/a HTTP/1.1\r\nHost: x\r\n", WHOLE[:-1]])
async def test_a_request_that_does_not_end_is_cut(sent: bytes) -> None:
    told = Told()
    async with served(told, Setup(limits=HASTY)) as server, asyncio.timeout(5), connected(server) as (reader, writer):
        writer.write(sent)
        assert (await reader.read(), told.asked) == (b"", [])


async def test_a_drip_of_bytes_does_not_prolong_the_time() -> None:
    async with served(Told(), Setup(limits=HASTY)) as server, asyncio.timeout(5), connected(server) as (reader, writer):
        writer.write(b"POST /hooks/a HTTP/1.1\r\nX: ")
        reading = asyncio.create_task(reader.read())
        while not reading.done():
            writer.write(b"X")
            await asyncio.wait({reading}, timeout=0.005)
        with suppress(ConnectionResetError):  # if our last byte crossed with the cut
            assert await reading == b""


async def test_a_connection_may_be_idle_for_longer_than_a_request_may_take() -> None:
    async with served(Told(), Setup(limits=HASTY)) as server, asyncio.timeout(5), connected(server) as (reader, writer):
        for _ in range(2):
            await asyncio.sleep(2 * HASTY.arrival)
            writer.write(WHOLE)
            assert (await head(reader)).startswith(b"HTTP/1.1 200")


async def test_an_answer_may_take_longer_than_a_request() -> None:
    told = Told()
    told.going_on.clear()
    async with served(told, Setup(limits=HASTY)) as server, asyncio.timeout(5):
        asked = asyncio.create_task(server.post("/hooks/a", admission()))
        await asyncio.sleep(2 * HASTY.arrival)
        told.going_on.set()
        assert (await asked)[0] == 200


async def test_an_idle_connection_is_closed_in_the_end() -> None:
    async with (
        served(Told(), Setup(limits=Limits(idle=0.05))) as server,
        asyncio.timeout(5),
        connected(server) as (reader, _),
    ):
        assert await reader.read() == b""


async def test_an_answer_that_nobody_takes_is_given_up() -> None:
    told = Told(Verdict(False, "x" * 16_000_000))
    async with served(told, Setup(limits=HASTY)) as server, asyncio.timeout(5):
        before, tasks = descriptors(), len(asyncio.all_tasks())
        async with connected(server) as (_, writer):
            reading = writer.transport
            assert isinstance(reading, asyncio.Transport)
            reading.pause_reading()
            writer.write(WHOLE)
            await quiet(before + 1, tasks)


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00garbage", b"\x00" * 1000, b""])
async def test_what_is_not_tls_is_closed(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with served(Told(), Setup(limits=Limits(handshake=0.1))) as server, asyncio.timeout(5):
        before, tasks = descriptors(), len(asyncio.all_tasks())
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        with suppress(ConnectionError):
            await reader.read()
        writer.transport.abort()
        await quiet(before, tasks)
    assert caplog.records == []


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"\x16\x03\x01\r\n\r\n"]
)
async def test_what_is_not_http_is_answered_400(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with served(Told()) as server, asyncio.timeout(5), connected(server) as (reader, writer):
        writer.write(sent)
        assert b" 400 Bad Request" in await reader.readline()
    assert caplog.records == []


@pytest.mark.parametrize("sent", [b"", b"POST", WHOLE[:-1], WHOLE])
async def test_clients_that_vanish_leave_nothing_behind(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    told.going_on.clear()
    async with served(told) as server, asyncio.timeout(5):
        before, tasks = descriptors(), len(asyncio.all_tasks())
        for round_ in range(10):
            async with connected(server) as (_, writer):
                writer.write(sent)
                if sent == WHOLE:
                    await told.until_asked(round_ + 1)
        await told.until_cancelled(len(told.asked))
        await quiet(before, tasks)
    assert caplog.records == []


async def test_when_the_system_is_out_of_descriptors_clients_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "PAUSE", 0.01)
    async with served(Told()) as server, asyncio.timeout(5):
        context, limits = server.ca.client_context(), resource.getrlimit(resource.RLIMIT_NOFILE)
        sock = socket.create_connection(("127.0.0.1", server.port))
        with closing(os.fdopen(os.dup(0))) as free:
            lowest = free.fileno()
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, limits[1]))
        try:
            await asyncio.sleep(5 * tls.PAUSE)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        _, writer = await asyncio.open_connection(sock=sock, ssl=context, server_hostname="127.0.0.1")
        writer.transport.abort()


# ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_running_review_is_answered_after_the_stop_was_asked_for() -> None:
    told = Told()
    told.going_on.clear()
    async with aiohttp.ClientSession() as session, asyncio.timeout(5):
        async with served(told) as server:
            url = f"https://127.0.0.1:{server.port}/hooks/a"
            asking = asyncio.create_task(session.post(url, json=admission(), ssl=server.ca.client_context()))
            await told.until_asked(1)
            asyncio.get_running_loop().call_soon(told.going_on.set)
        answer = await asking
        assert (answer.status, answer.headers["Connection"]) == (200, "close")


async def test_a_review_that_outlives_its_grace_is_cancelled() -> None:
    told = Told()
    told.going_on.clear()
    async with aiohttp.ClientSession() as session, asyncio.timeout(5):
        async with served(told, Setup(limits=HASTY)) as server:
            url = f"https://127.0.0.1:{server.port}/hooks/a"
            asking = asyncio.create_task(session.post(url, json=admission(), ssl=server.ca.client_context()))
            await told.until_asked(1)
        with pytest.raises(aiohttp.ClientError):
            await asking
    assert told.cancelled == 1


async def test_a_certificate_that_comes_after_the_end_is_not_shown() -> None:
    async with served(Told()) as server:
        pass
    use(server, server.ca.server())
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)


async def test_a_handshake_under_way_does_not_hold_up_the_end() -> None:
    async with asyncio.timeout(5), served(Told()) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        _, late = await asyncio.open_connection("127.0.0.1", server.port)
    for one in (writer, late):
        one.transport.abort()


async def test_a_listener_that_never_had_a_certificate_can_be_closed() -> None:
    sock = on_port("127.0.0.1", 0, "--webhook-port")
    async with listening(sock, hello):
        pass
    assert sock.fileno() == -1

"""TLS: certificates exchanged under load, and which clients are admitted. Level: pure."""

import asyncio
import os
import ssl
import tempfile
from collections import Counter
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from hookrunner.errors import BadConfig, StartRefused
from hookrunner.web import tls
from hookrunner.web.listen import on_port
from hookrunner.web.tls import TlsListener, listening
from tests.tables import each
from tests.web.certificates import Authority, Pair
from tests.web.connecting import WHOLE, connected, head, serial
from tests.web.reviewing import ScriptedReviewer, Served, Setup, admission, served


def use(server: Served, pair: Pair) -> None:
    server.listener.use(pair.certificate, pair.key)


# ── certificates ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_new_connections_get_the_new_certificate_and_old_ones_are_closed_after_an_answer() -> None:
    async with served(ScriptedReviewer()) as server, asyncio.timeout(60):
        new = server.ca.server()
        async with connected(server) as (reader, writer):
            use(server, new)
            async with connected(server) as (_, fresh):
                assert (serial(fresh), serial(writer) == new.serial) == (new.serial, False)
            writer.write(WHOLE)
            assert b"Connection: close" in await head(reader)
            assert await reader.read() == b""


async def test_review_during_a_certificate_exchange_is_answered() -> None:
    reviewer = ScriptedReviewer(paused=True)
    async with served(reviewer) as server, asyncio.timeout(60):
        running = asyncio.create_task(server.post("/hooks/a", admission()))
        await reviewer.wait_for_reviews(1)
        use(server, server.ca.server())
        reviewer.unpaused.set()
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


@pytest.mark.slow
async def test_fifty_exchanges_under_new_connections_lose_no_review() -> None:
    other = Authority("another CA")
    async with served(ScriptedReviewer()) as server, asyncio.timeout(60):
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


@each("what", ["key of another", "no key", "no certificate", "nonsense", "encrypted key"])
async def test_unusable_pair_is_refused_and_the_old_one_stays(what: str) -> None:
    async with served(ScriptedReviewer()) as server:
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


async def test_clients_wait_for_the_first_certificate_and_are_then_answered() -> None:
    ca = Authority()
    pair, sock = ca.server(), on_port("127.0.0.1", 0, "--webhook-port")
    async with asyncio.timeout(60), listening(sock, hello) as listener:
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


def test_keys_are_not_written_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    pair = Authority().server()
    tls.tls_context(pair.certificate, pair.key, "")


def test_key_files_are_removed_at_once_without_memory_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with tls._file(b"key") as path:
        assert (Path(path).read_bytes(), Path(path).stat().st_mode & 0o777) == (b"key", 0o600)
    assert list(tmp_path.iterdir()) == []


# ── who is let in ─────────────────────────────────────────────────────────────────────────────────────────────────────


@each(
    ("version", "accepted"),
    [(ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)],
)
@pytest.mark.filterwarnings(r"ignore:ssl.TLSVersion.TLSv1\S* is deprecated:DeprecationWarning")
async def test_tls_1_2_is_the_oldest(version: ssl.TLSVersion, accepted: bool) -> None:
    async with served(ScriptedReviewer()) as server:
        context = server.ca.client_context()
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = version
        with suppress(OSError) if not accepted else nullcontext():
            async with connected(server, context):
                assert accepted


@each(("offered", "agreed"), [(["h2", "http/1.1"], "http/1.1"), (["http/1.1"], "http/1.1"), ([], None)])
async def test_client_that_offers_http_2_falls_back(offered: list[str], agreed: str | None) -> None:
    async with served(ScriptedReviewer()) as server:
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


async def test_client_ca_admits_only_its_clients(tmp_path: Path) -> None:
    clients, reviewer = Clients(tmp_path), ScriptedReviewer()
    pairs = {
        "right": clients.ca.client(),
        "none": None,
        "expired": clients.ca.client(expired=True),
        "foreign": Authority("a stranger").client(),
        "a server's": clients.ca.server(),
    }
    async with served(reviewer, clients.setup) as server, asyncio.timeout(60):
        let_in = [name for name, pair in pairs.items() if await clients.let_in(server, pair)]
    assert (let_in, len(reviewer.reviews)) == (["right"], 1)


@pytest.mark.parametrize("given", ["the CA between", "the root, and the client shows what is between"])
async def test_client_certificate_of_an_intermediate_ca_is_accepted(tmp_path: Path, given: str) -> None:
    clients = Clients(tmp_path)
    between = Authority("between", clients.ca)
    pair = between.client()
    if given == "the CA between":
        clients.file.write_bytes(between.certificate)
    else:
        pair = replace(pair, certificate=pair.certificate + between.certificate)
    async with served(ScriptedReviewer(), clients.setup) as server, asyncio.timeout(60):
        assert await clients.let_in(server, pair)
        assert not await clients.let_in(server, Authority("between").client())


@pytest.mark.slow
async def test_changed_client_cas_are_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "FOLLOW_EVERY", 0.001)
    clients, new = Clients(tmp_path), Authority("new CA")
    old_pair, new_pair = clients.ca.client(), new.client()
    async with served(ScriptedReviewer(), clients.setup) as server, asyncio.timeout(60):
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


async def test_new_certificate_keeps_the_client_cas(tmp_path: Path) -> None:
    clients = Clients(tmp_path)
    async with served(ScriptedReviewer(), clients.setup) as server, asyncio.timeout(60):
        use(server, server.ca.server())
        assert [await clients.let_in(server, pair) for pair in (None, clients.ca.client())] == [False, True]


@pytest.mark.parametrize(
    ("text", "words"), [(None, "No such file"), ("", "PEM"), ("nonsense", "PEM"), ("\xff", "ascii")]
)
async def test_unusable_client_cas_refuse_the_start(tmp_path: Path, text: str | None, words: str) -> None:
    file = tmp_path / "clients.crt"
    if text is not None:
        file.write_text(text)
    refused = pytest.raises(StartRefused, match=f"client CA {file} cannot be used: .*{words}")
    with closing(on_port("127.0.0.1", 0, "--webhook-port")) as sock, refused:
        TlsListener(sock, hello, [file])

"""Where servers listen: what is refused and how, Unix sockets dead and alive, timeouts, and the end. Level: pure."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from hookrunner import log
from hookrunner.errors import StartRefused
from hookrunner.web import listen
from tests.tables import each


def hello(text: str = "hello") -> web.Application:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text=text)

    app = web.Application()
    app.router.add_get("/", answer)
    return app


@asynccontextmanager
async def reading(sock: socket.socket) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A bare connection to a listening TCP socket."""
    reader, writer = await asyncio.open_connection(*sock.getsockname()[:2])
    try:
        yield reader, writer
    finally:
        writer.close()


async def ask(path: Path) -> str:
    async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session:
        return await (await session.get("http://localhost/")).text()


def test_occupied_port_refuses_the_start_with_a_remedy() -> None:
    with closing(listen.on_port("127.0.0.1", 0, "--listen-port")) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartRefused, match=rf"'127.0.0.1', port {port}: another process .* with --listen-port"):
            listen.on_port("127.0.0.1", port, "--listen-port")


@each(
    ("address", "words"),
    [("192.0.2.1", "this machine has no such address"), ("a..b", "choose another place with")],
)
def test_foreign_address_refuses_the_start(address: str, words: str) -> None:
    with pytest.raises(StartRefused, match=words):
        listen.on_port(address, 0, "--listen-address")


async def test_ipv6_wildcard_address_answers_ipv4() -> None:
    sock = listen.on_port("::", 0, "--listen-port")
    async with listen.serve(hello(), sock), aiohttp.ClientSession() as session:
        answer = await session.get(f"http://127.0.0.1:{sock.getsockname()[1]}/")
        assert await answer.text() == "hello"


async def test_unix_socket_is_private_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "debug.socket"
    async with listen.on_path([path]) as sock, listen.serve(hello(), sock):
        assert await ask(path) == "hello"
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


async def test_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    async with listen.on_path([tmp_path / "s"]):
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


async def test_socket_of_a_dead_process_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with closing(socket.socket(socket.AF_UNIX)) as dead:
        dead.bind(str(path))
    async with listen.on_path([path]) as sock, listen.serve(hello(), sock):
        assert await ask(path) == "hello"


async def test_socket_of_a_living_process_refuses_the_start(tmp_path: Path) -> None:
    path = tmp_path / "s"
    async with listen.on_path([path]) as sock, listen.serve(hello("first"), sock):
        with pytest.raises(StartRefused, match="another hookrunner answers"):
            async with listen.on_path([path]):
                pass
        assert await ask(path) == "first"


async def test_first_usable_socket_path_is_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked, free = tmp_path / "file" / "s", tmp_path / "free" / "s"
    async with listen.on_path([blocked, free]):
        assert free.exists()


async def test_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(tmp_path, 4242, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    with pytest.raises(StartRefused, match="belongs to another user"):
        async with listen.on_path([tmp_path / "s"]):
            pass


async def test_one_application_answers_on_several_sockets(tmp_path: Path) -> None:
    path, tcp = tmp_path / "s", listen.on_port("127.0.0.1", 0, "--debug-http-addr")
    async with listen.on_path([path]) as sock, listen.serve(hello(), sock, tcp), aiohttp.ClientSession() as session:
        answer = await session.get(f"http://127.0.0.1:{tcp.getsockname()[1]}/")
        assert (await ask(path), await answer.text()) == ("hello", "hello")


@pytest.mark.parametrize(("level", "logged"), [("info", False), ("debug", True)])
async def test_requests_are_logged_at_debug_level_only(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], level: str, logged: bool
) -> None:
    log.set_level(level)
    async with listen.on_path([tmp_path / "s"]) as sock, listen.serve(hello(), sock):
        await ask(tmp_path / "s")
        await ask(tmp_path / "s")  # by now the first one is over
        log.flush(1)
    log.set_level("info")
    assert ("msg=complete" in capfd.readouterr().err) == logged


async def test_no_usable_socket_path_refuses_the_start_with_all_reasons(tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("precious")
    long = tmp_path / ("x" * 120)
    with pytest.raises(StartRefused, match=r"file: there is a file that is not a socket\n.*AF_UNIX path too long"):
        async with listen.on_path([file, long]):
            pass
    assert file.read_text() == "precious"


async def test_silent_client_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "KEEP_ALIVE", 0.05)
    sock = listen.on_port("127.0.0.1", 0, "--listen-port")
    async with asyncio.timeout(60), listen.serve(hello(), sock), reading(sock) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")
        with suppress(ConnectionResetError):  # a busy server cuts before it has read that
            assert await reader.read() == b""


@pytest.mark.slow
async def test_client_that_does_not_read_its_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "TIMEOUT", 0.05)
    monkeypatch.setattr(listen, "GRACE", 3600)
    asked = asyncio.Event()

    async def large(_request: web.Request) -> web.Response:
        asked.set()
        return web.Response(body=bytes(64 * 1024 * 1024))

    app, sock = web.Application(), listen.on_port("127.0.0.1", 0, "--listen-port")
    app.router.add_get("/", large)
    async with asyncio.timeout(60), reading(sock) as (_, writer), listen.serve(app, sock):
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await asked.wait()  # the end of `serve` then waits for the answer


async def test_idle_connections_do_not_delay_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TIMEOUT", "KEEP_ALIVE", "GRACE"):
        monkeypatch.setattr(listen, name, 3600)
    sock = listen.on_port("127.0.0.1", 0, "--listen-port")
    async with aiohttp.ClientSession() as session, asyncio.timeout(60), listen.serve(hello(), sock):
        await (await session.get(f"http://127.0.0.1:{sock.getsockname()[1]}/")).text()


async def test_running_answer_may_finish_after_the_stop_request() -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(_request: web.Request) -> web.Response:
        asked.set()
        await go.wait()
        return web.Response(text="done")

    app = web.Application()
    app.router.add_get("/", slow)
    sock = listen.on_port("127.0.0.1", 0, "--listen-port")
    async with aiohttp.ClientSession() as session:
        async with listen.serve(app, sock):
            answer = asyncio.create_task(session.get(f"http://127.0.0.1:{sock.getsockname()[1]}/"))
            await asked.wait()
            asyncio.get_running_loop().call_soon(go.set)
        assert await (await answer).text() == "done"


async def test_client_that_leaves_before_its_answer_causes_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """As a scraper does that gives up."""
    asked, gone, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.Response:
        asked.set()
        await gone.wait()
        while not (request.transport is None or request.transport.is_closing()):  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(0.01, over.set)
        return web.Response(text="too late")

    app, sock = web.Application(), listen.on_port("127.0.0.1", 0, "--listen-port")
    app.router.add_get("/", slow)
    async with asyncio.timeout(60), listen.serve(app, sock):
        async with reading(sock) as (_, writer):
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asked.wait()
            writer.transport.abort()
        gone.set()
        await over.wait()
    assert caplog.records == []

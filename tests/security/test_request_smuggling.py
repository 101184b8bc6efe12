"""Requests whose end is not where it seems to be, so that their body counts as a second request: one request gets one
answer, or the connection is closed. All ports of a running program are asked, each by a client without a library.

Level: sandbox."""

import asyncio
import re
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tests.security.attacked import Attacked, attacked

SECOND = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""What is hidden; each port answers it with 200, and nothing else of what is sent here."""
LAST = b"GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
"""Ends what is said on a connection that was not closed; answered with 404."""
CHUNKED = b"Transfer-Encoding: chunked\r\n"
EMPTY = b"0\r\n\r\n"
OPEN = "--sandbox-token=none"
"""A sandbox that looks further than at a missing token."""


def post(headers: bytes, body: bytes, version: bytes = b"1.1") -> bytes:
    """A request that each port answers with 405."""
    return b"POST /healthz HTTP/%b\r\nHost: localhost\r\n%b\r\n%b" % (version, headers, body)


def length(text: bytes) -> bytes:
    return post(b"Content-Length: %b\r\n" % text, SECOND)


def encoded(name: bytes) -> bytes:
    return post(b"Transfer-Encoding: %b\r\n" % name, EMPTY + SECOND)


ATTACKS = {
    "a length and chunks": post(b"Content-Length: 5\r\n" + CHUNKED, EMPTY + SECOND),
    "chunks and a length": post(CHUNKED + b"Content-Length: 5\r\n", EMPTY + SECOND),
    "no length and chunks": post(b"Content-Length: 0\r\n" + CHUNKED, EMPTY + SECOND),
    "two lengths": post(b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(SECOND), SECOND),
    "a length twice": post(b"Content-Length: 0\r\nContent-Length: 0\r\n", SECOND),
    **{
        f"the length {text!r}": length(text)
        for text in (b"0, 42", b"+0", b"-1", b"0x0", b"4_2", b"4 2", b"", "٠".encode(), b"\xb2", b"9" * 20)
    },
    **{
        f"the encoding {name!r}": encoded(name)
        for name in (b"xchunked", b"chunked, identity", b"identity", b"chunked, chunked", b"\x0bchunked", b"chunked;a")
    },
    "two encodings": post(CHUNKED + b"Transfer-Encoding: identity\r\n", EMPTY + SECOND),
    "chunks for HTTP/1.0": post(CHUNKED + b"Connection: keep-alive\r\n", EMPTY + SECOND, b"1.0"),
    "lines that end with LF": post(b"Content-Length: 0\r\n", b"").replace(b"\r\n", b"\n") + SECOND,
    "a header behind LF": post(b"X: a\nContent-Length: 0\r\n", SECOND),
    "a header behind CR": post(b"X: a\r" + CHUNKED, EMPTY + SECOND),
    "a header behind NUL": post(b"X: a\0" + CHUNKED, EMPTY + SECOND),
    "a folded value": post(b"Transfer-Encoding:\r\n chunked\r\n", EMPTY + SECOND),
    "a folded header": post(b"X: a\r\n " + CHUNKED, EMPTY + SECOND),
    "a header that begins with a space": post(b" Content-Length: 0\r\n", SECOND),
    "a name and a space": post(b"Content-Length : 0\r\n", SECOND),
    "a name and a tab": post(b"Transfer-Encoding\t: chunked\r\n", EMPTY + SECOND),
    "no name": post(b": a\r\n", SECOND),
    "an extension with LF": post(CHUNKED, b"0;a=\n" + EMPTY + SECOND),
    "an extension that ends with LF": post(CHUNKED, b"2;\nxx\r\n2f\r\n" + EMPTY + SECOND),
    "a chunk of a negative size": post(CHUNKED, b"-1\r\n\r\n" + SECOND),
    "a chunk with a prefix": post(CHUNKED, b"0x0\r\n\r\n" + SECOND),
    "a chunk of 2^64 bytes": post(CHUNKED, b"10000000000000000\r\n\r\n" + SECOND),
    "a chunk that ends with LF": post(CHUNKED, b"0\n\n" + SECOND),
    "a chunk longer than its size": post(CHUNKED, b"1\r\naX\r\n" + EMPTY + SECOND),
    "a length after the chunks": post(CHUNKED, b"0\r\nContent-Length: 0\r\n\r\n" + SECOND),
    "another version": post(b"", SECOND, b"1.10"),
    "two hosts": post(b"Host: evil.example\r\n", SECOND),
    "a request as body": length(b"%d" % len(SECOND)),
    "a request as chunk": post(CHUNKED, b"%x\r\n%b\r\n" % (len(SECOND), SECOND) + EMPTY),
    "a request behind an upgrade": post(b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 42\r\n", SECOND),
}
ANSWERS = (["400"], ["405"], ["405", "404"])
"""Refused and closed, answered and closed, or answered once, its body taken for a body, and asked once more."""


async def answers(port: int, tls: ssl.SSLContext | None, *parts: bytes) -> list[str]:
    """The statuses of all answers until the connection is closed. The next part is sent when one answer has come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    text = b""
    try:
        for part in parts:
            writer.write(part)
            text += await reader.readuntil(b"\r\n\r\n")
        while more := await reader.read(1 << 16):
            text += more
    except (asyncio.IncompleteReadError, ConnectionError) as closed:
        text += getattr(closed, "partial", b"")
    finally:
        writer.transport.abort()
    return [status.decode() for status in re.findall(rb"HTTP/1\.[01] (\d+) ", text)]


def ports(target: Attacked) -> dict[str, tuple[int, ssl.SSLContext | None]]:
    """Each port, and TLS for that of webhooks."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    sandbox = yaml.safe_load(Path(target.program.directory / "kubeconfig").read_text())["clusters"][0]["cluster"]
    found = {"webhooks": target.url, "sandbox": sandbox["server"], "metrics": f"http://x:{target.program.port}"}
    return {name: (urlsplit(url).port or 0, tls if name == "webhooks" else None) for name, url in found.items()}


@pytest.mark.usefixtures("launcher")
async def test_one_request_gets_one_answer_or_the_connection_is_closed(tmp_path: Path) -> None:
    """And no error is logged, which the end of `attacked` checks."""
    async with attacked(tmp_path, None, OPEN) as target:
        await break_off_bodies(target)
        got: dict[tuple[str, str], list[str]] = {}
        for name, place in ports(target).items():
            assert await answers(*place, SECOND + LAST) == ["200", "404"]
            got |= {(name, attack): await answers(*place, text, LAST) for attack, text in ATTACKS.items()}
    assert {attack: statuses for attack, statuses in got.items() if statuses not in ANSWERS} == {}


CREATE = (
    b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
    + CHUNKED
    + b"\r\n"
)
"""A request whose body is asked for, and read."""
BROKEN = [b"2;\nxx", b"-1\r\n\r\n", b"0\n\n", b"1\r\naX\r\n", b"0\r\nContent-Length: 0\r\n\r\n"]


async def break_off_bodies(target: Attacked) -> None:
    """A body that breaks off while it is read ends the connection. A reader that does not learn of it would wait for
    minutes: for as long as a body may take."""
    paths = {"webhooks": b"/hooks/a-attacked-example-com", "sandbox": b"/api/v1/namespaces/default/configmaps"}
    async with asyncio.timeout(60):
        for name, path in paths.items():
            got = [await answers(*ports(target)[name], CREATE % path, text + EMPTY + SECOND) for text in BROKEN]
            assert got == [["100"]] * len(BROKEN)

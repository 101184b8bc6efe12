"""Bare connections to a webhook server, and the bytes of a review."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cryptography import x509

from tests.web.reviewing import Served

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

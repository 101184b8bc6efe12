"""Sends the requests of dulwich, which blocks in a thread, by the event loop's reader, within a deadline.

    async with asyncio.timeout(60):
        refs = await call_with_transport(reader, access, partial(read_refs, url=…, ref="v2"))

A thread cannot be ended. So it never waits for a server itself: each request is a task of the event loop, which ends
with the caller's deadline, and then the thread's call raises and no further request is sent. What an answer holds is
bounded, so what the thread does with it ends soon. Each call has a thread of its own: if repositories took all that the
event loop shares, none would get an answer, since names are resolved in those. `https_reader.py` decides about
redirects, addresses and proxies. A server is asked for two addresses below the repository's, where a redirect has led
or not, and for nothing else that it names.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from yarl import URL

from hookrunner.errors import PackageError
from hookrunner.packages.git.git_client import Ask, GitAnswer
from hookrunner.packages.https_reader import HttpsReader, WebAnswer, WebRequest
from hookrunner.packages.names import LARGEST_TRANSFER
from hookrunner.packages.web_addresses import without_credentials
from kubetypes.bounds import in_units
from kubetypes.light_dataclasses import dataclass

LARGEST_REFS = 4 << 20
"""Bytes of a list of references: some 50,000, of a server that cannot leave out those that are not asked for."""
_REFS, _POSTED = "info/refs?service=git-upload-pack", "git-upload-pack"
_WANT = b"want "
_T = TypeVar("_T")
_ADVICE = {
    401: "; name a user and a password by --addon-credentials",
    403: "; give the user of --addon-credentials the right to read it",
    404: "; correct the address, or name a user by --addon-credentials if the repository is private",
}


async def call_with_transport(reader: HttpsReader, access: URL, call: Callable[[Ask], _T]) -> _T:
    """What `call` returns or raises in a thread, with requests to the repository at `access`, which has the user and
    password if there are any."""
    loop = asyncio.get_running_loop()
    transport, thread = _Transport(reader, access, loop), ThreadPoolExecutor(1, "git")
    try:
        return await loop.run_in_executor(thread, call, transport.ask)
    finally:
        transport.close()
        thread.shutdown(wait=False)


@dataclass(eq=False)
class _Transport:
    reader: HttpsReader
    access: URL
    loop: asyncio.AbstractEventLoop
    _reached: WebRequest | None = None
    _pending: concurrent.futures.Future[WebAnswer] | None = None
    _is_closed: bool = False

    def ask(self, url: str, headers: Mapping[str, str], body: bytes | None) -> GitAnswer:
        """Called in the thread."""
        request = self._request_to(url, headers, body)
        most = LARGEST_TRANSFER if body and _WANT in body else LARGEST_REFS
        answer = self._exchange(request, most)
        if answer.status != 200:
            text = f"{without_credentials(url)}: HTTP {answer.status}{_ADVICE.get(answer.status, '')}"
            raise PackageError("Unreachable", text)
        if len(answer.body) > most:
            raise PackageError("TooLarge", f"{without_credentials(url)}: sends more than {in_units(most)}")
        if body is None:
            self._reached = answer.request
        reached = url if answer.request.url == request.url else str(answer.request.url.with_user(None))
        return GitAnswer(reached, answer.content_type, answer.body)

    def close(self) -> None:
        """End a request that is under way, and send no other."""
        self._is_closed = True
        if self._pending:
            self._pending.cancel()

    def _exchange(self, request: WebRequest, most: int) -> WebAnswer:
        self._pending = asyncio.run_coroutine_threadsafe(self.reader.exchange(request, most), self.loop)
        if self._is_closed:
            self._pending.cancel()
        return self._pending.result()

    def _request_to(self, url: str, headers: Mapping[str, str], body: bytes | None) -> WebRequest:
        """Below the repository's address, or where its first answer came from."""
        if body is None and url.endswith(f"/{_REFS}"):
            return WebRequest(URL(f"{str(self.access).rstrip('/')}/{_REFS}"), headers)
        if body is None or self._reached is None or not url.endswith(f"/{_POSTED}"):
            raise PackageError("Malformed", f"{without_credentials(str(self.access))}: leads to another address")
        target = URL(str(self._reached.url).removesuffix(_REFS) + _POSTED)
        return replace(self._reached, url=target, headers=headers, body=body)

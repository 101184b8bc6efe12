"""Twenty reviews a second, at night a hundred, for as long as a story lasts: half are asked for by the API server, half
by clients that come directly, each on a connection of its own, and trust what the registration tells the API server to
trust."""

import asyncio
import base64
import ssl
import time
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

import aiohttp
import orjson

from tests.examples import is_night
from tests.flows.waiting import until
from tests.flows.webhooks import Site

A_SECOND = 100 if is_night() else 20
STALE = 2.0
"""Seconds after which a registration that was read may no longer count; hookrunner gives API servers five."""
MOST = 50
"""Requests at once. A busy machine cannot do so many a second; there, the next ones wait."""
REVIEW = orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "direct"}})


def quick(site: Site, before: str = "") -> str:
    """A hook that allows everything, costs next to nothing and records nothing. `before` are lines of sh."""
    binding = site.binding("CREATE", failurePolicy="Fail", timeoutSeconds=30)
    config = orjson.dumps({"configVersion": "v1", "kubernetesValidating": [binding]}).decode()
    answer = "echo '{\"allowed\": true}' > $VALIDATING_RESPONSE_PATH"
    return f"#!/bin/sh\nif [ \"$1\" = --config ]; then cat <<'EOF'\n{config}\nEOF\nexit\nfi\n{before}{answer}\n"


class Traffic:
    """An async context manager. At its end all requests have been answered, or are among the `failures`.

    `shown` are the serial numbers of the certificates that the direct clients have met, one for each connection;
    `seconds` is how long each request took.
    """

    def __init__(self, site: Site) -> None:
        self.shown: list[int] = []
        self.failures: list[str] = []
        self.seconds: list[float] = []
        self._site = site
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._under_way = set[asyncio.Task[None]]()

    async def __aenter__(self) -> Self:
        cluster = self._site.cluster
        trust = ssl.create_default_context(cafile=str(cluster.ca))
        self._session = aiohttp.ClientSession(
            cluster.url,
            connector=aiohttp.TCPConnector(ssl=trust, limit=0),
            headers={"Authorization": f"Bearer {cluster.token}"},
        )
        self._sending = asyncio.create_task(self._send())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._sending.cancel()
        await asyncio.gather(self._sending, *self._under_way, return_exceptions=True)
        await self._session.close()

    @property
    def serials(self) -> list[int]:
        """Each of those shown once, in the order in which they were met."""
        return list(dict.fromkeys(self.shown))

    async def answered(self, more: int) -> None:
        """Wait for so many more answers."""
        wanted = len(self.seconds) + more
        await until(lambda: len(self.seconds) >= wanted, f"{wanted} answers; failures: {self.failures[:5]}")

    async def meets_another(self) -> None:
        """Wait until another certificate is shown than before, and for half a second nothing else."""
        first = self.shown[0]

        def reached() -> bool:
            last = set(self.shown[-A_SECOND // 4 :])
            return first not in last and len(last) == 1

        await until(reached, "another certificate")
        await self.answered(A_SECOND // 2)

    async def registration(self) -> dict[str, Any]:
        """The one of the hook, as it is now."""
        path = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{self._site.name}"
        async with self._session.get(path) as answer:
            found: dict[str, Any] = await answer.json()
            return found

    async def _send(self) -> None:
        """At their times, whether others have been answered or not."""
        due, number = time.monotonic(), 0
        while True:
            task = asyncio.create_task(self._one(self._by_api_server() if number % 2 else self._directly()))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            await until(lambda: len(self._under_way) < MOST, "answers")
            due, number = due + 1 / A_SECOND, number + 1
            await asyncio.sleep(due - time.monotonic())

    async def _one(self, request: Any) -> None:
        began = time.monotonic()
        try:
            await request
        except Exception as error:
            self.failures.append(f"{time.strftime('%H:%M:%S')} {error!r}")
        self.seconds.append(time.monotonic() - began)

    async def _by_api_server(self) -> None:
        path = f"/api/v1/namespaces/{self._site.namespace}/configmaps?dryRun=All"
        async with self._session.post(path, json={"metadata": {"generateName": "t-"}}) as answer:
            assert answer.status == 201, await answer.text()

    async def _directly(self) -> None:
        url, reader, writer = await self._connected()
        try:
            self.shown.append(int(writer.get_extra_info("peercert")["serialNumber"], 16))
            head = f"POST {url.path}?timeout=30s HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: close\r\n"
            writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(REVIEW)}\r\n\r\n".encode())
            writer.write(REVIEW)
            answer = await reader.read()
        finally:
            writer.transport.abort()
        assert b'"allowed":true' in answer, answer

    async def _connected(self) -> tuple[SplitResult, asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection that trusts what the registration has just said; asked again if this process has slept since."""
        while True:
            asked = time.monotonic()
            config = (await self.registration())["webhooks"][0]["clientConfig"]
            url = urlsplit(config["url"])
            try:
                trust = self._trusting(config["caBundle"])
                return url, *await asyncio.open_connection(url.hostname, url.port, ssl=trust)
            except ssl.SSLCertVerificationError:
                if time.monotonic() - asked < STALE:
                    raise

    def _trusting(self, bundle: str) -> ssl.SSLContext:
        if bundle not in self._contexts:
            context = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # newer Pythons demand more than API servers do
            self._contexts[bundle] = context
        return self._contexts[bundle]

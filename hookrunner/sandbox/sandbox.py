"""The sandbox: a Kubernetes API in this process, put together from its parts.

    async with serving(Options(seed=[…])) as sandbox:
        sandbox.url, sandbox.kubeconfig              # for any client
        sandbox.faults, sandbox.store, sandbox.api   # for tests

It listens on the loopback address, unless it is told otherwise and given a token and a certificate.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Protocol

import yaml
from aiohttp import web

from hookrunner import log
from hookrunner.crowd import Crowd
from hookrunner.private_files import replace_file
from hookrunner.sandbox import kinds, namespaces, seeds
from hookrunner.sandbox.api import Api
from hookrunner.sandbox.definitions import Definitions
from hookrunner.sandbox.faults import Faults
from hookrunner.sandbox.garbage import Garbage
from hookrunner.sandbox.grace import Grace
from hookrunner.sandbox.journal import Journal
from hookrunner.sandbox.kinds import Kinds
from hookrunner.sandbox.namespaces import Namespaces
from hookrunner.sandbox.server import Server
from hookrunner.sandbox.simulate.loop import simulating
from hookrunner.sandbox.store import Change, Store

_log = log.get("sandbox")

STOP_GRACE = 0.2
CONNECTIONS = 1024
"""Open ones, watches among them; each takes some 80 KiB."""
IDLE = 120.0
"""Seconds until the next request is complete. Go's client keeps an idle connection for 90."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to serve. `port` 0 takes a free one; `seed` are files of manifests."""

    address: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    certificate: Path | None = None
    key: Path | None = None
    seed: Sequence[Path] = ()
    data: Path | None = None
    simulate: bool = False


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One that serves."""

    url: str
    options: Options
    store: Store
    kinds: Kinds
    api: Api
    faults: Faults

    def kubeconfig(self) -> str:
        """For kubectl and every other client."""
        cluster: dict[str, object] = {"server": self.url}
        if self.options.certificate:
            cluster["certificate-authority"] = str(self.options.certificate.absolute())
        user = {"token": self.options.token} if self.options.token else {}
        context = {"cluster": "sandbox", "user": "sandbox", "namespace": "default"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": cluster}],
            "users": [{"name": "sandbox", "user": user}],
            "contexts": [{"name": "sandbox", "context": context}],
            "current-context": "sandbox",
        }
        return yaml.safe_dump(config, sort_keys=False)

    def write_kubeconfig(self, path: Path) -> None:
        """Written whole or not at all, for the owner's eyes only. The directory is judged by the caller, unless it is
        missing: then it is made."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, self.kubeconfig().encode())


class Controller(Protocol):
    """Keeps something in order, by writing like any client."""

    def sweep(self) -> None:
        """Look at what is there at the start."""
        ...

    def happened(self, change: Change) -> None:
        """React to a change. It may be followed by others already: look at the store for what is there now."""
        ...


@asynccontextmanager
async def serving(options: Options = Options()) -> AsyncIterator[Sandbox]:
    """A sandbox that answers, inside the `with`. Raises OSError where it cannot listen, BadConfig for bad files."""
    with _store(options.data) as store:
        every, faults = Kinds(kinds.builtin()), Faults()
        api = Api(store, every)
        namespaces.make_first(api)
        garbage, grace = Garbage(api), Grace(api)
        controllers: list[Controller] = [Definitions(api), Namespaces(api), garbage, grace]
        following = asyncio.create_task(_follow(store.feed(), controllers))
        for controller in controllers:
            controller.sweep()
        try:
            await seeds.plant(api, options.seed)
            garbage.sweep()
            async with _listening(options, Server(api, faults, options.token)) as url, _alive(api, options.simulate):
                yield Sandbox(url, options, store, every, api, faults)
        finally:
            garbage.close()
            grace.close()
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following


@asynccontextmanager
async def _alive(api: Api, simulate: bool) -> AsyncIterator[None]:
    """Play kubelet, scheduler and controllers, if that is wanted."""
    if not simulate:
        yield
        return
    async with simulating(api):
        yield


@contextmanager
def _store(data: Path | None) -> Iterator[Store]:
    """A new store, or the one that a file has kept."""
    if data is None:
        yield Store()
        return
    with closing(Journal(data)) as journal:
        store = Store(journal)
        store.restore(journal.objects(), journal.revision())
        yield store


async def _follow(feed: asyncio.Queue[Change], controllers: Sequence[Controller]) -> None:
    """Tell every controller of every change, in order. They write too; what they write comes round again."""
    while True:
        changes = [await feed.get(), *(feed.get_nowait() for _ in range(feed.qsize()))]
        for change, controller in product(changes, controllers):
            try:
                controller.happened(change)
            except Exception as error:
                _log.error("a controller met a bug", controller=type(controller).__name__, exc_info=error)
        await asyncio.sleep(0)


@asynccontextmanager
async def _listening(options: Options, server: Server) -> AsyncIterator[str]:
    # A watch whose client has gone ends at once, even if nothing happens that it would have to be told.
    # Bodies are taken as they come, as a real API server takes them: nobody can send a bomb of zeros.
    how = {"access_log": None, "handler_cancellation": True, "auto_decompress": False, "keepalive_timeout": IDLE}
    runner = web.ServerRunner(Crowd(web.Server(server.answer), CONNECTIONS, **how), shutdown_timeout=STOP_GRACE)
    await runner.setup()
    tls = None
    if options.certificate and options.key:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(options.certificate, options.key)
    site = web.TCPSite(runner, options.address, options.port, ssl_context=tls)
    try:
        await site.start()
        assert site._server is not None
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
        # Whoever listens everywhere is found here too.
        address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.address, options.address)
        host = f"[{address}]" if ":" in address else address
        yield f"{'https' if tls else 'http'}://{host}:{port}"
    finally:
        await runner.cleanup()
        await server.close()

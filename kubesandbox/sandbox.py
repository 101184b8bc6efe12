"""The sandbox: a Kubernetes API in this process, put together from its parts.

    async with serving(Options(seed=[…])) as sandbox:
        sandbox.url, sandbox.kubeconfig()             # for any client
        sandbox.contents                             # objects, without HTTP
        sandbox.faults, sandbox.store, sandbox.api   # for tests

It listens on the loopback address, unless the options name another one, a token and a certificate. Without a token
every process of this machine may do everything.
"""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Protocol

import yaml
from aiohttp import web

from kubesandbox import kinds
from kubesandbox.access import Access, choose, server_context
from kubesandbox.contents import SandboxContents
from kubesandbox.controllers import namespaces, seeds
from kubesandbox.controllers.definitions import DefinitionController
from kubesandbox.controllers.garbage import Garbage
from kubesandbox.controllers.grace_periods import GracePeriods
from kubesandbox.controllers.namespaces import Namespaces
from kubesandbox.faults import Faults
from kubesandbox.http.tls import with_tls
from kubesandbox.journal import Journal
from kubesandbox.kinds import Kinds
from kubesandbox.options import Options
from kubesandbox.server import SandboxServer
from kubesandbox.simulate.loop import simulating
from kubesandbox.store import Store, StoreChange
from kubesandbox.verbs.api import Api
from kubetypes.http_connections import Crowd
from kubetypes.light_dataclasses import dataclass

__all__ = ["Options", "Sandbox", "serving"]

_log = logging.getLogger(__name__)

STOP_GRACE = 0.2
CONNECTIONS = 1024
"""Open connections, watches included; each takes some 80 KiB. One more closes the one that has been idle longest."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One that serves."""

    url: str
    access: Access
    options: Options
    store: Store
    kinds: Kinds
    api: Api
    faults: Faults

    @property
    def contents(self) -> SandboxContents:
        """Its objects, without asking it over HTTP."""
        return SandboxContents(self.store, self.kinds)

    def kubeconfig(self) -> str:
        """For kubectl and every other client."""
        cluster: dict[str, object] = {"server": self.url}
        if self.options.certificate:
            cluster["certificate-authority"] = str(self.options.certificate.absolute())
        if self.access.certificate:
            cluster["certificate-authority-data"] = base64.b64encode(self.access.certificate).decode()
        user = {"token": self.access.token} if self.access.token else {}
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


class ApiController(Protocol):
    """Keeps something in order, by writing like any client."""

    def sweep(self) -> None:
        """Look at what is there at the start."""
        ...

    def happened(self, change: StoreChange) -> None:
        """React to a change. It may be followed by others already: look at the store for what is there now."""
        ...


@asynccontextmanager
async def serving(options: Options = Options()) -> AsyncIterator[Sandbox]:
    """A sandbox that answers, inside the `with`. Raises OSError where it cannot listen, BadFile for seeds and data."""
    with _store(options.data) as (store, journal):
        kept = journal.access() if journal else Access()
        access = choose(options, kept)
        if journal and options.own_certificate:  # a token that was given is not kept: it is not random
            journal.keep(access if options.token is None else replace(access, token=kept.token))
        every, faults = Kinds(kinds.builtin()), Faults()
        api = Api(store, every)
        namespaces.make_first(api)
        garbage, grace = Garbage(api), GracePeriods(api)
        controllers: list[ApiController] = [DefinitionController(api), Namespaces(api), garbage, grace]
        following = asyncio.create_task(_follow(store.feed(), controllers))
        for controller in controllers:
            controller.sweep()
        try:
            await seeds.plant(api, options.seed)
            garbage.sweep()
            async with (
                _listening(options, access, SandboxServer(api, faults, access.token)) as url,
                _alive(api, options.simulate),
            ):
                yield Sandbox(url, access, options, store, every, api, faults)
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
def _store(data: Path | None) -> Iterator[tuple[Store, Journal | None]]:
    """A new store, or the one kept in a file, with that."""
    if data is None:
        yield Store(), None
        return
    with closing(Journal(data)) as journal:
        store = Store(journal)
        store.restore(journal.objects(), journal.revision())
        yield store, journal


async def _follow(feed: asyncio.Queue[StoreChange], controllers: Sequence[ApiController]) -> None:
    """Tell every controller of every change, in order. They write too; what they write comes round again."""
    while True:
        changes = [await feed.get(), *(feed.get_nowait() for _ in range(feed.qsize()))]
        for change, controller in product(changes, controllers):
            try:
                controller.happened(change)
            except Exception as error:
                _log.error("the controller %s met a bug", type(controller).__name__, exc_info=error)
        await asyncio.sleep(0)


@asynccontextmanager
async def _listening(options: Options, access: Access, server: SandboxServer) -> AsyncIterator[str]:
    # A watch whose client has gone ends at once, even if there is no event to send.
    # Bodies are taken as they come, as a real API server takes them: a compressed bomb of zeros is not unpacked.
    how = {"access_log": None, "handler_cancellation": True, "auto_decompress": False}
    crowd = Crowd(web.Server(server.answer), CONNECTIONS, **how)
    runner = web.ServerRunner(crowd, shutdown_timeout=STOP_GRACE)
    await runner.setup()
    tls = server_context(options, access)
    protocols = with_tls(crowd, tls) if tls else crowd
    listener = None
    try:
        listener = await asyncio.get_running_loop().create_server(protocols, options.address, options.port)
        port = listener.sockets[0].getsockname()[1]
        # A server that listens on all addresses is reached on this one.
        address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.address, options.address)
        host = f"[{address}]" if ":" in address else address
        yield f"{'https' if tls else 'http'}://{host}:{port}"
    finally:
        if listener:
            listener.close()
        await runner.cleanup()
        await server.close()

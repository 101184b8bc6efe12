"""A client that another one is quicker than: what a write overwrites, or deletes, shows only with a second writer.

    async with api_server() as api, overtaken_client(api.url) as client:
        client.before_write = lambda call: api.put(edited)
        ...                                          # what is tested reads, then the other writes, then it writes

`FakeApi` of the cloud's tests has the same hook. Both refuse a write for an old resourceVersion or another uid.
"""

from collections.abc import Callable

from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings


class OvertakenClient(Client):
    """`before_write` is called before each write is sent."""

    before_write: Callable[[ApiCall], object] = staticmethod(lambda call: None)

    async def send(self, call: ApiCall) -> bytes:
        """As `Client.send`."""
        if call.method != "GET":
            self.before_write(call)
        return await super().send(call)


def overtaken_client(url: str) -> OvertakenClient:
    """Of the API server there."""
    return OvertakenClient(Credentials(KubeSettings(), Connection(url)), Requests(Metrics("")))


def once(method: str, write: Callable[[], object], path_end: str = "") -> Callable[[ApiCall], object]:
    """Another client's write before the first of this method, to a path that ends so, for `before_write`."""
    writes = [write]
    return lambda call: writes.pop()() if writes and call.method == method and call.path.endswith(path_end) else None

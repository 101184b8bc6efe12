"""A client that acts as a ServiceAccount: each of its requests has the rights of that account, and no others.

    client = acting_as(own, ServiceAccount("team-a", "deployer"))     # `own` itself without an account
    await writes.apply(client, ref, body)

Only the name is sent (`Impersonate-User`). The API server adds the groups of a ServiceAccount itself:
`system:serviceaccounts`, `system:serviceaccounts:NAMESPACE` and `system:authenticated`. With groups in the request
hookrunner would need the right to act as these groups too, and constrained impersonation would not count. Whether the
account exists is not checked by the API server: it asks for the rights of the name.

Source: https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp

from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.releases import ServiceAccount


class ImpersonatingClient(Client):
    """Sends what it is given through `own`, which has the connections, the rate limit and the outage, and whether it
    leads. It needs no context of its own."""

    def __init__(self, own: Client, account: ServiceAccount) -> None:
        self.outage = own.outage
        self.lacked = own.lacked
        self._own = own
        self._user = account.user

    async def send(self, call: ApiCall) -> bytes:
        """As `Client.send`. Raises AccountDenied if the account lacks the right."""
        return await self._own.send(replace(call, user=self._user))

    @asynccontextmanager
    async def _open(self, call: ApiCall, timeout: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self._own._open(replace(call, user=self._user), timeout) as response:
            yield response


def acting_as(own: Client, account: ServiceAccount | None) -> Client:
    """The client for what is done as this account: `own` without one. Here alone is decided which client acts on the
    objects of a release."""
    return ImpersonatingClient(own, account) if account else own

"""A name server in memory."""

import socket

from aiohttp.abc import AbstractResolver, ResolveResult


class Names(AbstractResolver):
    """A name server with these names. The addresses may change."""

    def __init__(self, **addresses: list[str]) -> None:
        self.addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        addresses = self.addresses[host]
        return [ResolveResult(hostname=host, host=at, port=port, family=family, proto=0, flags=0) for at in addresses]

    async def close(self) -> None:
        pass

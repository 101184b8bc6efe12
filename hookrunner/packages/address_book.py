"""Which addresses a web server has, and whether a redirect to them is followed.

    book = AddressBook()                      # a resolver of aiohttp, which connects to what was judged here
    await book.resolve("example.com")
    book.is_private("example.com")            # as the source of a redirect
    AddressBook(public_only=True)             # as its target: refuses a name with an address that is not public

A server on the internet must not make us ask a service of the cluster. So the two questions are not one and its
opposite. As a source, a host is private only if all the addresses that it ever had are: a hostile server may give
itself a private one beside its own, or later (DNS rebinding), while a connection to the public one is still used. As a
target, it must be public in all. Addresses for special purposes are neither; those that carry an address of IPv4
through a translator (NAT64) are what that address is.
Source: https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry; RFC 6052
"""

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

_Address = IPv4Address | IPv6Address
_Networks = tuple[IPv4Network | IPv6Network, ...]


def _networks(*texts: str) -> _Networks:
    return tuple(map(ip_network, texts))


_PRIVATE = _networks(
    *("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
    "198.18.0.0/15",  # benchmarks, and proxies that give each name an address of their own
    *("::1/128", "fc00::/7", "fe80::/10"),
)
_SPECIAL = _networks(
    "0.0.0.0/8",
    *("192.0.0.0/24", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),  # protocols, documentation
    "192.88.99.0/24",  # relays of 6to4
    *("224.0.0.0/4", "240.0.0.0/4"),
    "2001::/23",  # Teredo and other protocols
    *("2001:db8::/32", "3fff::/20"),  # documentation
    "2002::/16",  # 6to4
)
"""Within what is public otherwise."""
_PUBLIC = _networks("0.0.0.0/0", "2000::/3")
_CARRYING = _networks("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
"""IPv6 addresses whose last 32 bits are the IPv4 address that is reached: mapped ones, SIIT, NAT64."""

_MOST_HOSTS = 256
"""More are not remembered, and so not private, which allows less."""


class AddressBook(AbstractResolver):
    """Remembers whether hosts are private; with `public_only` refuses those that are not public. `inner` asks the
    system's resolver unless given."""

    def __init__(self, public_only: bool = False, inner: AbstractResolver | None = None) -> None:
        self._public_only = public_only
        self._inner = inner or aiohttp.ThreadedResolver()
        self._private: dict[str, bool] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses to connect to. Raises OSError if they are not known or not allowed."""
        results = await self._inner.resolve(host, port, family)
        addresses = [result["host"] for result in results]
        if self._public_only and not all(map(is_public_address, addresses)):
            raise OSError(None, f"{host} has a private address, and a public server redirected there")
        self._remember(host, addresses)
        return results

    async def close(self) -> None:
        await self._inner.close()

    def is_private(self, host: str) -> bool:
        """Whether a host, as an address or by all that its name ever had, is in a private network."""
        return self._private.get(host, is_private_address(host))

    def _remember(self, host: str, addresses: Iterable[str]) -> None:
        if len(self._private) >= _MOST_HOSTS and host not in self._private:
            return
        self._private[host] = self._private.get(host, True) and all(map(is_private_address, addresses))


def is_public_address(host: str) -> bool:
    """Whether this is an address on the internet; a name that is no address counts as one until it is resolved."""
    address = _parse(host)
    return address is None or (_is_in(address, _PUBLIC) and not _is_in(address, (*_PRIVATE, *_SPECIAL)))


def is_private_address(host: str) -> bool:
    """Whether this is an address in a private network; False for a name."""
    address = _parse(host)
    return address is not None and _is_in(address, _PRIVATE)


def _parse(host: str) -> _Address | None:
    """The address that is reached by this one; None for a name."""
    try:
        address = ip_address(host.partition("%")[0].rstrip("."))
    except ValueError:
        return None
    return IPv4Address(int(address) & 0xFFFFFFFF) if _is_in(address, _CARRYING) else address


def _is_in(address: _Address, networks: _Networks) -> bool:
    return any(address in network for network in networks)

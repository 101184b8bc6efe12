"""Through which proxy a web server is reached, as the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY say it.

    WebProxies({"HTTPS_PROXY": "proxy:3128", "NO_PROXY": ".svc,10.0.0.0/8"}).proxy_for(URL("https://example.com"))

The rules are those of Go's programs, kubectl and helm among them: names in lowercase mean the same, those in uppercase
win; this machine is never reached through a proxy. An entry of NO_PROXY is a host with everything below it, with a
leading dot only what is below it, an address, a range of addresses, or `*` for all; each but a range may have a port.
Source: https://pkg.go.dev/golang.org/x/net/http/httpproxy#Config
"""

from collections.abc import Mapping
from dataclasses import field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from yarl import URL

from kubetypes.foreign_pages import is_loopback
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WebProxies:
    """Those of an environment."""

    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    def proxy_for(self, url: URL) -> URL | None:
        """The proxy for a URL, None to reach it directly. Raises ValueError for a proxy that is no URL."""
        proxy = self._variable(f"{url.scheme}_proxy")
        host = (url.host or "").rstrip(".").lower()
        if not proxy or is_loopback(host) or is_bypassed(host, url.port or 0, self._variable("no_proxy")):
            return None
        try:
            return URL(proxy if "://" in proxy else f"http://{proxy}")
        except ValueError:
            raise ValueError(f"{url.scheme.upper()}_PROXY is no address; write http://HOST:PORT") from None

    def _variable(self, name: str) -> str:
        return self.environ.get(name.upper()) or self.environ.get(name) or ""


def is_bypassed(host: str, port: int, no_proxy: str) -> bool:
    """Does a list like NO_PROXY name this host, which is in lowercase?"""
    entries = (entry.strip().lower() for entry in no_proxy.split(","))
    return any(_names(entry, host, port) for entry in entries if entry)


def _names(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    if "/" in entry:
        return address is not None and _contains(entry, address)
    name, entry_port = _split_port(entry)
    if entry_port and entry_port != str(port):
        return False
    if address is not None:
        return address == _address(name)
    suffix = name.removeprefix("*")
    return host.endswith(suffix) if suffix.startswith(".") else host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, str]:
    """A host and its port, "" without one. An address of IPv6 is in brackets if it has one."""
    name, colon, port = entry.rpartition(":")
    if not colon or not port.isdecimal() or (":" in name and not name.endswith("]")):
        return entry.strip("[]"), ""
    return name.strip("[]"), port


def _contains(network: str, address: IPv4Address | IPv6Address) -> bool:
    try:
        return address in ip_network(network, strict=False)
    except ValueError:
        return False


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None

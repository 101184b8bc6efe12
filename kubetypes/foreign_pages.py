"""Which requests come from a foreign web page, in a browser that reaches one of our servers without a password.

A page reaches the loopback address, and each that the browser's machine reaches, by a name of its own (DNS rebinding):
`Host` gives it away. It can send without seeing the answer (simple requests): `Origin` gives it away, and where a
browser sends none, as for an image, `Sec-Fetch-Site` does.
"""

from collections.abc import Collection, Mapping
from ipaddress import ip_address


def objection(headers: Mapping[str, str], host: str, ours: Collection[str] = ()) -> str:
    """Why a request is refused, to follow "does not answer"; empty for one that no foreign page has sent.

    `host` is the request's `Host`, `ours` are the names and addresses without a port that are ours beside this
    machine's loopback ones. Programs that are no browser send neither of the other two headers.
    """
    if not _is_ours(host, ours):
        return f"as host {host!r}"
    origin = headers.get("Origin")
    if origin is not None and not is_loopback(_named(sent := origin.partition("://")[2])) and sent != host:
        return f"to pages of {origin!r}"
    if headers.get("Sec-Fetch-Site") == "cross-site":
        return "to pages of other sites"
    return ""


def _is_ours(host: str, ours: Collection[str]) -> bool:
    name = _named(host)
    return is_loopback(name) or (name != "" and name in ours)


def _named(place: str) -> str:
    """A host without its port and brackets, in lowercase."""
    host = place.rpartition(":")[0] if ":" in place and not place.endswith("]") else place
    return host.strip("[]").lower()


def is_loopback(name: str) -> bool:
    """Whether only programs of this machine reach a server at this host."""
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False

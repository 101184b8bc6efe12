"""Who may ask: whoever has the token; without one, programs of this machine, but no web page in a browser on it.

A page of somebody else can reach the loopback address by a name of its own (DNS rebinding): `Host` gives it away. And
it can send without seeing the answer: `Origin` gives it away.
"""

import hmac
from collections.abc import Mapping
from http import HTTPStatus
from ipaddress import ip_address

from hookrunner.sandbox.status import Refused


def check(headers: Mapping[str, str], host: str, token: str) -> None:
    """`host` is where the client means to be, `token` what it must know, if anything. Raises Refused 401, 403."""
    if token:
        given = headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(errors="surrogateescape"), token.encode()):
            raise Refused(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")
        return
    if not _loopback(host):
        raise _forbidden(f"as host {host!r}")
    if (origin := headers.get("Origin")) is not None and not _loopback(origin.partition("://")[2]):
        raise _forbidden(f"to pages of {origin!r}")


def _forbidden(how: str) -> Refused:
    return Refused(HTTPStatus.FORBIDDEN, "Forbidden", f"the sandbox does not answer {how}")


def _loopback(place: str) -> bool:
    """Whether a host, perhaps with a port, is this machine."""
    host = place.rpartition(":")[0] if ":" in place and not place.endswith("]") else place
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

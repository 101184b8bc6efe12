"""Which requests are answered: those with the token. If no token is asked for, those of programs of this machine, but
of no foreign web page in a browser on it.

Health and version need no token, as on a real API server, whose ClusterRole `system:public-info-viewer` lets
unauthenticated clients read these paths. A wrong token is refused there too.
"""

import hmac
from collections.abc import Mapping
from http import HTTPStatus

from aiohttp import web

from kubesandbox.status import Refused
from kubetypes import foreign_pages

PUBLIC = ("/healthz", "/livez", "/readyz", "/version", "/version/")


def authenticate(http: web.BaseRequest, token: str) -> None:
    """Raise Refused 401 for a client that lacks the `token`; without one Refused 403 for a foreign web page."""
    if token:
        given = _bearer_token(http.headers)
        if given is None and http.method == "GET" and http.path in PUBLIC:
            return
        # In constant time: how long the comparison takes must not show how much of a guess is right.
        if given is None or not hmac.compare_digest(given.encode(errors="surrogateescape"), token.encode()):
            raise Refused(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")
    elif objection := foreign_pages.objection(http.headers, http.host):
        raise Refused(HTTPStatus.FORBIDDEN, "Forbidden", f"the sandbox does not answer {objection}")


def _bearer_token(headers: Mapping[str, str]) -> str | None:
    """None for a client that does not say who it is: no header, or one of another scheme."""
    scheme, _, token = headers.get("Authorization", "").strip().partition(" ")
    return (token.strip() or None) if scheme.lower() == "bearer" else None

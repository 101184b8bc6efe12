"""Who may ask: who has the token; without one, programs of this machine, but no foreign web page in a browser on it."""

import hmac
from collections.abc import Mapping
from http import HTTPStatus

from kubesandbox.status import Refused
from kubetypes import foreign_pages


def check(headers: Mapping[str, str], host: str, token: str) -> None:
    """`host` is where the client means to be, `token` what it must know, if anything. Raises Refused 401, 403."""
    if token:
        given = headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(errors="surrogateescape"), token.encode()):
            raise Refused(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")
    elif objection := foreign_pages.objection(headers, host):
        raise Refused(HTTPStatus.FORBIDDEN, "Forbidden", f"the sandbox does not answer {objection}")

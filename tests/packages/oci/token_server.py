"""Gives tokens for the distribution project's registry: JSON Web Tokens that are signed with Ed25519.

    tokens = TokenServer()
    async with serve(tokens.handle) as tokens.url: ...          # the registry trusts tokens.keys

Source: https://distribution.github.io/distribution/spec/auth/jwt/, RFC 7519, RFC 8037
"""

import base64
import json
import time

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kubetypes.json_values import JSON
from tests.packages.oci.registry_server import USER

SERVICE, ISSUER = "here", "tests"


class TokenServer:
    """Gives the user of `registry_server.py` what is asked for. `given` are the scopes."""

    def __init__(self) -> None:
        self.url = ""
        self.given: list[str] = []
        self._key = Ed25519PrivateKey.generate()

    @property
    def keys(self) -> JSON:
        """The public key, as a JSON Web Key Set."""
        key = {"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": _base64(self._key.public_key().public_bytes_raw())}
        return {"keys": [key]}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        scope = request.query.get("scope", "")
        if request.headers.get("Authorization") != USER.header or request.query.get("service") != SERVICE:
            return web.Response(status=401)
        self.given.append(scope)
        return web.json_response({"token": self.sign(scope), "expires_in": 300})

    def sign(self, *scopes: str) -> str:
        """A token for scopes such as `repository:team/addons:pull,push`."""
        now, access = int(time.time()), [scope.split(":") for scope in scopes]
        claims = {
            "iss": ISSUER,
            "aud": SERVICE,
            "sub": USER.user,
            "iat": now,
            "nbf": now,
            "exp": now + 300,
            "access": [{"type": kind, "name": name, "actions": may.split(",")} for kind, name, may in access],
        }
        text = ".".join(_base64(json.dumps(part).encode()) for part in ({"alg": "EdDSA", "kid": "1"}, claims))
        return f"{text}.{_base64(self._key.sign(text.encode()))}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")

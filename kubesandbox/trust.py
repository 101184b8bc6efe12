"""Whom to trust as a client: the certificates of a `caBundle` (PEM in base64, as it stands in JSON)."""

import base64
import binascii
import ssl
from functools import lru_cache


@lru_cache(maxsize=256)
def context(bundle: str) -> ssl.SSLContext:
    """Trust only the bundle; without one, what this machine trusts. With a bundle that cannot be read nothing is
    trusted."""
    if not bundle:
        return ssl.create_default_context()
    return _context(bundle) or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def readable(bundle: str) -> bool:
    """Whether there is a certificate in it."""
    return _context(bundle) is not None


def _context(bundle: str) -> ssl.SSLContext | None:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        made.load_verify_locations(cadata=base64.b64decode(bundle).decode("ascii"))
    except (ssl.SSLError, binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return made

"""Whom the API server is to trust when it calls us: the certificates inside a `caBundle`.

A bundle is a set: neither order nor the text between certificates counts. Whether a certificate is still valid is for
`certificates` to know.
"""

import base64
import binascii
import re
from dataclasses import dataclass

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Trust:
    """The certificates to be published. `exact`: no others beside them are to be trusted any more.

    Otherwise those stay that are there for the same address: they are of a replica that has newer or older ones than
    we, and whose requests would fail if each of us took the other's away.
    """

    certificates: tuple[bytes, ...] = ()
    exact: bool = False

    def bundle(self, present: str) -> str:
        """The `caBundle` that is to stand where `present` stands: that one itself if nothing is wrong with it."""
        there = _in_bundle(present)
        wanted = self.certificates if self.exact else tuple(dict.fromkeys(self.certificates + there))
        return present if set(there) == set(wanted) else _bundle(wanted)


def certificates(pem: bytes) -> tuple[bytes, ...]:
    """The certificates in PEM text, each once and as its base64 only."""
    return tuple(dict.fromkeys(b"".join(found.split()) for found in _CERTIFICATE.findall(pem)))


def _in_bundle(text: str) -> tuple[bytes, ...]:
    try:
        return certificates(base64.b64decode(text))
    except binascii.Error:
        return ()


def _bundle(wanted: tuple[bytes, ...]) -> str:
    return base64.b64encode(b"".join(map(_pem, wanted))).decode()


def _pem(certificate: bytes) -> bytes:
    """Lines of 64 characters (RFC 7468 §2)."""
    lines = [certificate[start : start + 64] for start in range(0, len(certificate), 64)]
    return b"\n".join([b"-----BEGIN CERTIFICATE-----", *lines, b"-----END CERTIFICATE-----", b""])

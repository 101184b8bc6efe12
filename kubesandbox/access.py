"""What lets a client in: a token, and the certificate by which it knows the sandbox. Chosen when the sandbox begins.

The kubeconfig has both, and a data file keeps both, so that clients know the sandbox again after its restart.
"""

import secrets
import ssl
import tempfile
from pathlib import Path

from kubesandbox.options import Options
from kubetypes.light_dataclasses import dataclass

_KEY = b"-----BEGIN PRIVATE KEY"


@dataclass(frozen=True, slots=True)
class Access:
    """`token` is empty if none is asked for. `pair` is a certificate of the sandbox's own and its key (PEM), made for
    `address`; empty without one."""

    token: str = ""
    address: str = ""
    pair: bytes = b""

    @property
    def certificate(self) -> bytes:
        """The own certificate, which clients trust; empty without one."""
        return self.pair.partition(_KEY)[0]


def choose(options: Options, kept: Access) -> Access:
    """What these options say; what they leave open is as `kept` in the data file, or else new."""
    token = options.token
    if token is None:
        token = kept.token or secrets.token_urlsafe(32)
    if not options.own_certificate:
        return Access(token)
    if kept.pair and kept.address == options.address:
        return Access(token, kept.address, kept.pair)
    # 60 ms, which a sandbox without a token need not pay.
    from kubesandbox.own_certificate import make_pair

    return Access(token, options.address, make_pair(options.address))


def server_context(options: Options, access: Access) -> ssl.SSLContext | None:
    """What to serve HTTPS with, None for HTTP."""
    if not (access.pair or (options.certificate and options.key)):
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    if options.certificate and options.key:
        context.load_cert_chain(options.certificate, options.key)
        return context
    # OpenSSL reads keys from files alone: from one in a directory of this user (0700), for this moment.
    with tempfile.TemporaryDirectory(prefix="sandbox-") as directory:
        file = Path(directory) / "pair"
        file.write_bytes(access.pair)
        context.load_cert_chain(file)
    return context

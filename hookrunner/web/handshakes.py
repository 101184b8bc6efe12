"""What a TLS handshake demands and shows: protocol versions, our certificate, the clients' certificates.

Where certificates come from is not known here.
"""

import os
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hookrunner.errors import BadConfig


def read(client_cas: Sequence[Path]) -> str:
    """The texts of all files as one. Raises BadConfig if one of them holds no certificates."""
    return "\n".join(_certificates(path) for path in client_cas)


def _certificates(path: Path) -> str:
    try:
        text = path.read_text("ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:  # the errors of ssl and of decoding are such
        raise BadConfig(f"client CA {path} cannot be used: {error}; it has to be a PEM file of certificates") from error
    return text


def context(certificate: bytes, key: bytes, trusted: str) -> ssl.SSLContext:
    """A context with a PEM chain and its key. `trusted` are the CAs whose clients are let in; empty if everybody is.

    Raises BadConfig.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    # The API server offers h2 to local addresses. Whoever offers nothing else is refused in the handshake.
    made.set_alpn_protocols(["http/1.1"])
    # A resumed session is not judged again: its client's certificate may have expired. Go's client resumes none.
    made.options |= ssl.OP_NO_TICKET
    made.num_tickets = 0
    try:
        with _file(certificate + b"\n" + key) as path:
            # Without the password OpenSSL would ask for one on the terminal, and everybody would wait.
            made.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as error:
        raise BadConfig(f"the server certificate and its key cannot be used together: {error}") from error
    if trusted:
        made.load_verify_locations(cadata=trusted)
        made.verify_mode = ssl.CERT_REQUIRED
        # As in Go: what the file names is trusted, also a CA that another one has signed.
        made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return made


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    """A path for OpenSSL, which takes keys from files only: in memory where the system has that, else a file that only
    we can read and that is gone at the end."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("certificate"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name

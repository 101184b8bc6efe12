"""How to serve a sandbox, and which options do not fit together."""

import re
import ssl
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

from kubesandbox.errors import BadOptions
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How to serve. `port` 0 takes a free one; `seed` are files of manifests. Without a `token` every process of this
    machine may do everything; None makes a random one. `own_certificate` serves HTTPS with a certificate that only the
    kubeconfig knows. Both stay the same while `data` is used."""

    address: str = "127.0.0.1"
    port: int = 0
    token: str | None = ""
    certificate: Path | None = None
    key: Path | None = None
    own_certificate: bool = False
    seed: Sequence[Path] = ()
    data: Path | None = None
    simulate: bool = False


def with_https(options: Options) -> Options:
    """These options, with a certificate of the sandbox's own where there is a token and no certificate: kubectl sends a
    token over HTTPS only."""
    return replace(options, own_certificate=options.token != "" and not (options.certificate or options.key))


def check(options: Options, prefix: str = "") -> None:
    """Refuse options that leave the sandbox open to others or cannot be served. Raises `BadOptions`, which names flags
    with this prefix."""
    needed = {"token": options.token != "", "tls-cert": options.certificate, "tls-key": options.key}
    missing = [f"--{prefix}{flag}" for flag, given in needed.items() if not given]
    if missing and not is_loopback(options.address, prefix):
        flags = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
        raise BadOptions(
            f"--{prefix}address {options.address} can be reached from other machines: it needs {flags} too"
        )
    if options.token and not re.fullmatch(r"[!-~]+", options.token):
        raise BadOptions(
            f"--{prefix}token: it is sent in a header; use letters, digits and punctuation of ASCII, no spaces"
        )
    if bool(options.certificate) != bool(options.key):
        raise BadOptions(f"--{prefix}tls-cert and --{prefix}tls-key are given together or not at all")
    if options.certificate and options.key:
        _check_certificate(options.certificate, options.key, prefix)


def is_loopback(address: str, prefix: str = "") -> bool:
    """Whether only this machine reaches a server at this address. Raises `BadOptions`."""
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        raise BadOptions(f"--{prefix}address: '{address}' is no IP address; 0.0.0.0 is every one") from None


def _check_certificate(certificate: Path, key: Path, prefix: str) -> None:
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except OSError as error:  # not PEM, or not a pair, is one too
        raise BadOptions(
            f"--{prefix}tls-cert {certificate} and --{prefix}tls-key {key} cannot be used: {error.strerror or error}"
        ) from error

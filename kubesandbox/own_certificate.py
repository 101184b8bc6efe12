"""A certificate for one sandbox, made when it begins and known to its kubeconfig alone.

kubectl and all other clients in Go send a token over HTTPS only, so a sandbox with a token needs one. It proves the
server to the client, too: another user cannot take the port of a sandbox that has ended and answer in its place.
"""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = timedelta(days=3650)
"""Longer than any sandbox runs: it is not renewed."""
SKEW = timedelta(hours=1)
"""It is valid from this long before it is made, for clients whose clocks are slow."""
LOOPBACK = ("127.0.0.1", "::1")


def make_pair(address: str) -> bytes:
    """A certificate for this address and all loopback ones, and its key (PEM, both)."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sandbox")])
    ips = dict.fromkeys([*LOOPBACK, *([] if address == "localhost" else [address])])
    names = [x509.DNSName("localhost"), *(x509.IPAddress(ip_address(ip)) for ip in ips)]
    begins = datetime.now(UTC) - SKEW
    certificate = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + LIFE)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM) + secret

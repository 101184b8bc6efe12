"""Certificates of other makers: chains, odd usages, what is expired. What we issue ourselves is `issuing.issue`."""

import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from hookrunner.certificates.material import Material, Part, checked

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp()
YEAR = 365 * 24 * 3600.0
HOST = "hooks.default.svc"

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True)
class Issuer:
    """A CA, or a certificate with its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


@dataclass(frozen=True)
class CertificateSpec:
    """How to make a certificate."""

    names: tuple[str, ...] = (HOST,)
    begin: float = NOW - 3600
    life: float = YEAR
    usages: tuple[x509.ObjectIdentifier, ...] = ()
    ca: bool = False
    rsa: bool = False


def certificate(subject: str, issuer: Issuer | None = None, spec: CertificateSpec = CertificateSpec()) -> Issuer:
    """One with its key, signed by `issuer` or by itself."""
    key: Key = rsa.generate_private_key(65537, 2048) if spec.rsa else ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    begin = datetime.fromtimestamp(spec.begin, UTC)
    draft = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.certificate.subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(seconds=spec.life))
        .add_extension(x509.BasicConstraints(ca=spec.ca, path_length=None), critical=True)
    )
    if spec.names:
        draft = draft.add_extension(x509.SubjectAlternativeName([_named(one) for one in spec.names]), critical=False)
    if spec.usages:
        draft = draft.add_extension(x509.ExtendedKeyUsage(spec.usages), critical=False)
    return Issuer(draft.sign(issuer.key if issuer else key, SHA256()), key)


def authority(subject: str = "CA", issuer: Issuer | None = None) -> Issuer:
    return certificate(subject, issuer, CertificateSpec(names=(), ca=True))


def parts(leaf: Issuer, *chain: Issuer, trust: bytes) -> tuple[Part, Part, Part]:
    """As `checked` takes them."""
    pem = b"".join(one.pem for one in (leaf, *chain))
    return Part(pem, "/certs/tls.crt"), Part(leaf.key_pem, "/certs/tls.key"), Part(trust, "/certs/ca.crt")


def material(spec: CertificateSpec = CertificateSpec(), issuer: Issuer | None = None) -> Material:
    """By a CA of its own, unless one is given."""
    issuer = issuer or authority()
    return checked(*parts(certificate("server", issuer, spec), trust=issuer.pem))


def server_context(material: Material) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as directory:
        both = Path(directory, "both.pem")
        both.write_bytes(material.certificate + material.key)
        context.load_cert_chain(both)
    return context


def client_context(trust: bytes) -> ssl.SSLContext:
    """As strict as the newest Pythons."""
    context = ssl.create_default_context(cadata=trust.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shaken(server: Material, trust: bytes, host: str) -> str:
    """The TLS version that a handshake over memory agrees on. Raises ssl.SSLError if the client refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server_context(server).wrap_bio(to_server, to_client, server_side=True)
    theirs = client_context(trust).wrap_bio(to_client, to_server, server_hostname=host)
    done: set[ssl.SSLObject] = set()
    while len(done) < 2:
        for side in (theirs, ours):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                pass
    return str(theirs.version())


def _named(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)

"""CAs, servers' and clients' certificates for the tests of this room, made in a millisecond each."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PEM, PLAIN = serialization.Encoding.PEM, serialization.NoEncryption()
SIGNS = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """PEM texts of a certificate and its key."""

    certificate: bytes
    key: bytes
    serial: int

    def in_files(self, directory: Path) -> tuple[Path, Path]:
        files = directory / f"{self.serial}.crt", directory / f"{self.serial}.key"
        files[0].write_bytes(self.certificate)
        files[1].write_bytes(self.key)
        return files


class Authority:
    """A CA that signs for 127.0.0.1 and for clients."""

    def __init__(self, name: str = "test CA", above: "Authority | None" = None) -> None:
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        self._signed = (above or self)._sign(self._name, self._key, constraints, SIGNS)
        self.certificate = self._signed.public_bytes(PEM)

    def server(self) -> Pair:
        return self._pair(ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, expired: bool = False) -> Pair:
        return self._pair(ExtendedKeyUsageOID.CLIENT_AUTH, -DAY if expired else DAY)

    def client_context(self, *others: "Authority") -> ssl.SSLContext:
        """What a client needs to trust servers of this CA."""
        trusted = b"".join(authority.certificate for authority in (self, *others))
        return ssl.create_default_context(cadata=trusted.decode())

    def _pair(self, use: x509.ObjectIdentifier, until: datetime.timedelta = DAY) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        signed = self._sign(name, key, x509.SubjectAlternativeName(names), x509.ExtendedKeyUsage([use]), lasts=until)
        secret = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, PLAIN)
        return Pair(signed.public_bytes(PEM), secret, signed.serial_number)

    def _sign(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *extensions: x509.ExtensionType,
        lasts: datetime.timedelta = DAY,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder(subject_name=name, issuer_name=self._name, public_key=key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * DAY)
            .not_valid_after(now + lasts)
        )
        # Python 3.13 verifies as strictly as RFC 5280 is written.
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        for extension in (*extensions, issuer, x509.SubjectKeyIdentifier.from_public_key(key.public_key())):
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(self._key, hashes.SHA256())

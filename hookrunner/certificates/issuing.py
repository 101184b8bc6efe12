"""Issues a webhook server's certificate, by a CA that is made for it and whose key is dropped at once.

    material = issue([*service_names("hooks", "default"), *url_names(url)], now)
    renewal(material)                  # when to make the next one

The CA's key is never kept: no second certificate that API servers would trust can be issued, and every renewal
changes the CA, so that the difficult case is the usual one. Hence both live equally long: a year, of which a third is
left for repairs when a renewal at two thirds does not work.
Source: RFC 5280 (4.1, 4.2), https://pkg.go.dev/crypto/x509#Certificate.Verify
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from secrets import token_hex
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hookrunner.certificates.material import Material

LIFE = timedelta(days=365)
SKEW = timedelta(hours=1)
"""Certificates are valid from this long before they are made, for clients whose clocks are slow."""


def issue(names: Sequence[str], now: float) -> Material:
    """A new CA and a certificate for these host names and IP addresses, valid from `now` (epoch seconds)."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca, certificate = _ca(ca_key, now), _draft(key, "hookrunner webhooks", now)
    certificate = (
        certificate.issuer_name(ca.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
    )
    return Material(
        certificate.sign(ca_key, SHA256()).public_bytes(Encoding.PEM),
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        ca.public_bytes(Encoding.PEM),
    )


def renewal(material: Material) -> float:
    """When two thirds of the certificate's life will be over (epoch seconds)."""
    return material.begins + (material.expires - material.begins) * 2 / 3


def made(material: Material) -> float:
    """When it was issued (epoch seconds)."""
    return material.begins + SKEW.total_seconds()


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """The names of a Service. API servers use `<service>.<namespace>.svc`.

    Source: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
    """
    full = f"{service}.{namespace}.svc"
    return service, f"{service}.{namespace}", full, f"{full}.cluster.local"


def url_names(url: str) -> tuple[str, ...]:
    """The host or IP address of a URL, as certificates write it; none without a URL."""
    host = urlsplit(url).hostname or ""
    return (host if host.isascii() else host.encode("idna").decode(),) if host else ()


def _ca(key: ec.EllipticCurvePrivateKey, now: float) -> x509.Certificate:
    # With one name, clients that find an issuer by its name could not tell old and new apart.
    name = f"hookrunner webhooks CA {token_hex(8)}"
    return (
        _draft(key, name, now)
        .issuer_name(_name(name))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, SHA256())
    )


def _draft(key: ec.EllipticCurvePrivateKey, name: str, now: float) -> x509.CertificateBuilder:
    """The common parts of both certificates."""
    begin = datetime.fromtimestamp(now, UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin - SKEW)
        .not_valid_after(begin + LIFE)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    """A CA signs certificates, a server its handshakes."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)

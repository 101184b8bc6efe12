"""Keys and certificates for loopback servers, made in milliseconds so that every cluster has its own."""

import base64
import datetime
import ipaddress
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

# The API server accepts a token for so many seconds after its `exp`.
LEEWAY = 60


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """Files of a self-signed certificate for 127.0.0.1 and localhost; the certificate is its own CA."""

    certificate: Path
    key: Path


def make_server_certificate(
    directory: Path, name: str, age: datetime.timedelta = datetime.timedelta(hours=1)
) -> ServerCertificate:
    """Write `<name>.crt` and `<name>.key` into the directory: valid for 30 days from `age` ago on."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"hookrunner test bed {name}")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    begins = datetime.datetime.now(datetime.UTC) - age
    certificate = (
        x509.CertificateBuilder(subject_name=subject, issuer_name=subject, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + datetime.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = ServerCertificate(directory / f"{name}.crt", directory / f"{name}.key")
    files.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    write_key(key, files.key)
    return files


def make_signing_key(file: Path) -> None:
    """Write an RSA key with which the API server signs service account tokens, and `sign_token` too."""
    write_key(rsa.generate_private_key(public_exponent=65537, key_size=2048), file)


def write_key(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, file: Path) -> None:
    file.touch(mode=0o600)
    pem, plain = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, pem, plain))


def sign_token(signing_key: Path, claims: dict[str, Any], lifetime: float) -> str:
    """Return a JWT (RFC 7519, RS256) of the claims that the API server accepts for `lifetime` more seconds.

    The TokenRequest API gives no token for less than ten minutes; this one is as short as a test needs, and a negative
    lifetime makes one that has expired.
    """
    key = serialization.load_pem_private_key(signing_key.read_bytes(), password=None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise TypeError(f"{signing_key} is not an RSA key")
    expires = int(time.time() + lifetime) - LEEWAY
    times = {"iat": expires - 86_400, "nbf": expires - 86_400, "exp": expires}
    signed = f"{base64url_json({'alg': 'RS256', 'typ': 'JWT'})}.{base64url_json(claims | times)}"
    return f"{signed}.{base64url(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def base64url_json(value: dict[str, Any]) -> str:
    return base64url(json.dumps(value).encode())


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

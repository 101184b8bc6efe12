"""What a webhook server shows and what its clients should trust, checked when it is made.

    material = checked(Part(pem, "/certs/tls.crt"), Part(key, "/certs/tls.key"), Part(ca, "/certs/ca.crt"))
    overlap(before.trust, material.trust, now)      # for the time in which some still show the old certificate

Pure: callers pass the time in. `provided.py` and `own.py` read the PEM texts and notice when they change. An
expired certificate can still be used, since refusing it corrects nothing: `doubts` names it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import field
from datetime import UTC, datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from hookrunner.errors import BadCertificate
from kubetypes.light_dataclasses import dataclass

OVERLAP = 3600.0
"""Seconds for which a replaced CA is still trusted."""

_USAGES = frozenset({ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE})


@dataclass(frozen=True, slots=True)
class Part:
    """A PEM text, and for messages where it is from: a path, or a key of a Secret."""

    pem: bytes = field(repr=False)
    where: str


@dataclass(frozen=True, slots=True)
class Material:
    """A server certificate with its chain, its key, and the CAs that clients should trust, each as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)
    trust: bytes

    @property
    def serial(self) -> int:
        return self._leaf.serial_number

    @property
    def begins(self) -> float:
        """Epoch seconds from which the certificate is valid."""
        return self._leaf.not_valid_before_utc.timestamp()

    @property
    def expires(self) -> float:
        """Epoch seconds after which clients refuse the certificate."""
        return self._leaf.not_valid_after_utc.timestamp()

    @property
    def names(self) -> tuple[str, ...]:
        """The host names and IP addresses that the certificate is for."""
        try:
            extension = self._leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return ()
        addresses = extension.get_values_for_type(x509.IPAddress)
        return (*extension.get_values_for_type(x509.DNSName), *map(str, addresses))

    @property
    def _leaf(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate(self.certificate)


def checked(certificate: Part, key: Part, trust: Part) -> Material:
    """The material of three texts. Other content of `trust`, such as comments or a key by mistake, is left out, because
    it will be published in the cluster.

    Raises BadCertificate if one cannot be read, the key is another certificate's, or the chain leads to no CA in
    `trust`.
    """
    chain, roots = _certificates(certificate), _certificates(trust)
    if _private_key(key).public_key() != chain[0].public_key():
        raise BadCertificate(f"{key.where} is not the key of the certificate in {certificate.where}: renew both")
    if not _leads(chain[0], chain[1:], roots):
        issuer = chain[-1].issuer.rfc4514_string() or "a nameless CA"
        raise BadCertificate(
            f"{certificate.where} was not issued by a CA in {trust.where}: put the certificate of {issuer} there"
        )
    return Material(certificate.pem, key.pem, _pem(roots))


def last_of(chain: Part) -> Part:
    """The certificate of a chain that is nearest to its root. Raises BadCertificate."""
    return Part(_pem(_certificates(chain)[-1:]), f"the end of the chain in {chain.where}")


def doubts(material: Material, now: float) -> tuple[str, ...]:
    """Why API servers may refuse the certificate though all its parts fit, one sentence each."""
    certificate = x509.load_pem_x509_certificate(material.certificate)
    reasons = {
        f"it expired on {_date(material.expires)}": now > material.expires,
        f"it is not valid before {_date(material.begins)}": now < material.begins,
        "it names no host as subjectAltName, and the common name does not count": not material.names,
        "its extended key usage lacks serverAuth": not _serves(certificate),
    }
    return tuple(doubt for doubt, applies in reasons.items() if applies)


def lacking(material: Material, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the names (hosts or IP addresses) that the certificate is not for. A wildcard stands for one label.

    Source: RFC 6125, 6.4.3
    """
    covered = {_canonical(name) for name in material.names}
    return tuple(name for name in names if not covered & {_canonical(name), f"*.{name.lower().partition('.')[2]}"})


def overlap(old: bytes, new: bytes, now: float) -> bytes:
    """All of `new`, then the unexpired ones of `old`: each certificate once. Unreadable parts of `old` are dropped."""
    return _pem(dict.fromkeys([*_readable(new), *_unexpired(_readable(old), now)]))


def lingering(trust: bytes, since: float, now: float) -> bytes:
    """The certificates still to trust of a bundle that was replaced at `since`: none after `OVERLAP`."""
    return _pem(_unexpired(_readable(trust), now)) if now < since + OVERLAP else b""


def _certificates(part: Part) -> list[x509.Certificate]:
    if not part.pem.strip():
        raise BadCertificate(f"{part.where} is empty: a certificate in PEM is wanted")
    try:
        certificates = x509.load_pem_x509_certificates(part.pem)
        for certificate in certificates:
            _ = certificate.extensions, certificate.public_key()  # read late by the library, and errors come late too
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadCertificate(f"{part.where} holds no certificate in PEM that can be read: {error}") from error
    return certificates


def _readable(pem: bytes) -> list[x509.Certificate]:
    try:
        return _certificates(Part(pem, ""))
    except BadCertificate:
        return []


def _private_key(part: Part) -> PrivateKeyTypes:
    try:
        return load_pem_private_key(part.pem, password=None)
    except TypeError as error:
        raise BadCertificate(f"{part.where} is encrypted: a key without a password is wanted") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        # The library's message may be pages long and quote the key.
        raise BadCertificate(f"{part.where} holds no private key in PEM that can be read") from error


def _leads(certificate: x509.Certificate, between: Sequence[x509.Certificate], roots: list[x509.Certificate]) -> bool:
    """As Go does it: a certificate that is trusted itself needs no CA."""
    if certificate in roots or any(_issued(certificate, root) for root in roots):
        return True
    issuers = [other for other in between if _issued(certificate, other)]
    return any(_leads(issuer, [other for other in between if other != issuer], roots) for issuer in issuers)


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _serves(certificate: x509.Certificate) -> bool:
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return not _USAGES.isdisjoint(usages)


def _unexpired(certificates: Iterable[x509.Certificate], now: float) -> list[x509.Certificate]:
    return [certificate for certificate in certificates if certificate.not_valid_after_utc.timestamp() >= now]


def _pem(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(certificate.public_bytes(Encoding.PEM) for certificate in certificates)


def _canonical(name: str) -> str:
    try:
        return str(ip_address(name))
    except ValueError:
        return name.lower()


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

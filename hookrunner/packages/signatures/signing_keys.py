"""Keys that sign packages and channels: public ones of `--addon-keys`, the private one of `addon seal --key`.

    keys = read_keys((Path("release.pub"),))                      # StartRefused for a file that is no such key
    keys = KeyFiles((Path("release.pub"),)).read_again()          # those of now: a mounted Secret changes its files
    keys.require_signature("channel 'stable'", text, signature)   # PackageError: Unverified
    signature = read_signing_key(Path("release.key")).sign(text)

A key is Ed25519 or ECDSA on P-256, in PEM. A signature is base64, in lines or not, of the bytes that these write:

    openssl dgst -sha256 -sign release.key stable | base64               (ECDSA: DER, of the SHA-256 of the text)
    openssl pkeyutl -sign -rawin -inkey release.key -in stable | base64  (Ed25519: of the text itself)
    cosign sign-blob --key cosign.key stable                             (ECDSA)

Other kinds of keys are refused by name, whatever their size: a second choice would have to be kept safe as well. Keys
alone are trusted, without dates and names, so a certificate is no key.
Source: docs/packaging-addons.md, RFC 8032, FIPS 186-5
"""

import base64
import binascii
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.dsa import DSAPublicKey
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from hookrunner import log, safe_files
from hookrunner.errors import BadInput, PackageError, StartRefused
from hookrunner.packages.names import LONGEST_SIGNATURE
from hookrunner.packages.package_files import Statement
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)
_KINDS = "Ed25519 and ECDSA P-256 are used"
_CURVE = "secp256r1"
_DETERMINISTIC = ECDSA(SHA256(), deterministic_signing=True)
"""By RFC 6979: the same text gives the same signature. A verifier sees no difference."""

_Public: TypeAlias = Ed25519PublicKey | EllipticCurvePublicKey


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that signatures are checked with. `path` names it in messages."""

    path: str
    key: _Public = field(repr=False)

    def has_signed(self, text: bytes, signature: bytes) -> bool:
        """Is this the signature, as bytes, of the text by this key?"""
        try:
            if isinstance(self.key, Ed25519PublicKey):
                self.key.verify(signature, text)
            else:
                self.key.verify(signature, text, ECDSA(SHA256()))
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """The keys of which one must have signed."""

    keys: tuple[PublicKey, ...]

    def require_signature(self, what: str, text: bytes, signature: bytes) -> None:
        """Raises PackageError with the reason Unverified unless `signature`, in base64, is one of the text by one of
        the keys. `what` begins the message."""
        if not signature:
            raise PackageError("Unverified", f"{what} has no signature; {_MEND}")
        try:
            decoded = decode_signature(signature)
        except ValueError as error:
            raise PackageError("Unverified", f"{what}: {error}; {_MEND}") from None
        if not any(key.has_signed(text, decoded) for key in self.keys):
            paths = ", ".join(key.path for key in self.keys)
            problem = f"its signature fits none of the keys in --addon-keys ({paths})"
            raise PackageError("Unverified", f"{what}: {problem}: another key has made it, or of other bytes; {_MEND}")

    def require_statement(self, what: str, statements: Sequence[Statement]) -> None:
        """The same for one of several statements, at least one; the message is about the last one."""
        *others, last = statements
        if not any(map(self._has_signed, others)):
            self.require_signature(what, last.text, last.signature)

    def _has_signed(self, statement: Statement) -> bool:
        with suppress(ValueError):
            signature = decode_signature(statement.signature)
            return any(key.has_signed(statement.text, signature) for key in self.keys)
        return False


_MEND = "sign it with `hookrunner addon seal DIR --key FILE`"


def decode_signature(signature: bytes) -> bytes:
    """The bytes of a signature in base64, whose lines may be broken. Raises ValueError with what is wrong."""
    if len(signature) > LONGEST_SIGNATURE:
        raise ValueError(f"its signature has more than {LONGEST_SIGNATURE:,} bytes")
    try:
        return base64.b64decode(b"".join(signature.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("its signature is not base64, as `base64` and `cosign sign-blob` write it") from None


def read_keys(paths: Sequence[Path]) -> TrustedKeys:
    """The keys in these files. Raises StartRefused for the first that is not one public key of an allowed kind."""
    return TrustedKeys(tuple(map(_read_key, paths)))


class KeyFiles:
    """Files with the public keys of a process that stays. Raises StartRefused as `read_keys`."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._keys = {path: _read_key(path) for path in paths}
        self._problems = dict[Path, str]()

    def read_again(self) -> TrustedKeys:
        """The keys that the files have now. A file without a usable key keeps its last good one, and is logged: without
        it, a file that is half written would refuse what is signed well."""
        for path, known in self._keys.items():
            try:
                self._keys[path], problem = _read_key(path), ""
            except StartRefused as error:
                problem = str(error)
            if problem and problem != self._problems.get(path):
                _log.error("key cannot be read again, the last good one stays", reason=problem)
            if self._keys[path] != known:
                _log.info("key was replaced", path=path)
            self._problems[path] = problem
        return TrustedKeys(tuple(self._keys.values()))


def _read_key(path: Path) -> PublicKey:
    try:
        return PublicKey(str(path), parse_public_key(safe_files.read(path)))
    except OSError as error:
        raise StartRefused(f"--addon-keys: {path} cannot be read: {error.strerror}; name a file with a key") from None
    except ValueError as error:
        raise StartRefused(f"--addon-keys: {path} {error}") from None


def parse_public_key(text: bytes) -> _Public:
    """The key in a file. Raises ValueError with what is wrong, to follow the file's name."""
    if b"PRIVATE KEY-----" in text:
        raise ValueError("has a private key; give the public one: openssl pkey -in FILE -pubout")
    if b"BEGIN CERTIFICATE-----" in text:
        raise ValueError("has a certificate; give its key alone: openssl x509 -in FILE -noout -pubkey")
    if text.count(b"-----BEGIN ") > 1:
        raise ValueError("has several keys; write each to a file of its own")
    try:
        key = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("has no public key in PEM (-----BEGIN PUBLIC KEY-----)") from None
    if isinstance(key, Ed25519PublicKey) or (isinstance(key, EllipticCurvePublicKey) and key.curve.name == _CURVE):
        return key
    raise ValueError(f"has a key of the kind {_kind(key)}, and only {_KINDS}; make another one")


def _kind(key: object) -> str:
    match key:
        case RSAPublicKey(key_size=bits) | DSAPublicKey(key_size=bits):
            return f"{'RSA' if isinstance(key, RSAPublicKey) else 'DSA'} ({bits} bits)"
        case EllipticCurvePublicKey(curve=curve):
            return f"ECDSA {curve.name}"
    return type(key).__name__.strip("_").removesuffix("PublicKey")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key."""

    key: Ed25519PrivateKey | EllipticCurvePrivateKey = field(repr=False)

    def has_signed(self, text: bytes, signature: bytes) -> bool:
        """Is this, in base64, a signature of the text by this key?"""
        with suppress(ValueError):
            return PublicKey("", self.key.public_key()).has_signed(text, decode_signature(signature))
        return False

    def sign(self, text: bytes) -> bytes:
        """The signature of a text in base64, one line: the same for the same text."""
        key = self.key
        signed = key.sign(text) if isinstance(key, Ed25519PrivateKey) else key.sign(text, _DETERMINISTIC)
        return base64.b64encode(signed) + b"\n"


def read_signing_key(path: Path) -> SigningKey:
    """The private key in a file. Raises BadInput."""
    try:
        text = safe_files.read(path)
    except OSError as error:
        raise BadInput(f"--key: {path} cannot be read: {error.strerror}") from None
    try:
        return SigningKey(_parse_private_key(text))
    except ValueError as error:
        raise BadInput(f"--key: {path} {error}") from None


def _parse_private_key(text: bytes) -> Ed25519PrivateKey | EllipticCurvePrivateKey:
    """Raises ValueError with what is wrong, to follow the file's name."""
    if b"SIGSTORE PRIVATE KEY" in text or b"COSIGN PRIVATE KEY" in text:
        raise ValueError("is cosign's own form; sign with `cosign sign-blob --key FILE`, or give a key in PEM")
    try:
        key = load_pem_private_key(text, None)
    except TypeError:
        raise ValueError("has a key with a password; decrypt it: openssl pkey -in FILE -out KEY") from None
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("has no private key in PEM: openssl genpkey -algorithm ed25519 -out FILE") from None
    if isinstance(key, Ed25519PrivateKey):
        return key
    if isinstance(key, EllipticCurvePrivateKey) and key.curve.name == _CURVE:
        return key
    raise ValueError(f"has a key of the kind {_kind(key.public_key())}, and only {_KINDS}; make another one")

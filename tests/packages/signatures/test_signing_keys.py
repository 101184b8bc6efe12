"""Keys from files, and signatures compared with `openssl`, both ways. Level: pure."""

import base64
from pathlib import Path

import pytest

from hookrunner.errors import BadInput, PackageError, StartRefused
from hookrunner.packages.signatures.signing_keys import KeyFiles, read_keys, read_signing_key
from tests.packages.signatures.openssl import ED25519, P_256, make_key, openssl, sign, verifies
from tests.tables import each

TEXT = b"manifests: []\n"
KINDS = pytest.mark.parametrize("kind", [ED25519, P_256], ids=["ed25519", "p-256"])


@KINDS
def test_what_openssl_signs_is_accepted(tmp_path: Path, kind: tuple[str, ...]) -> None:
    public, other = make_key(tmp_path / "release.key", kind), make_key(tmp_path / "other.key", P_256)
    (tmp_path / "stable").write_bytes(TEXT)
    signature = sign(tmp_path / "release.key", tmp_path / "stable")
    read_keys((other, public)).require_signature("channel 'stable'", TEXT, signature)
    with pytest.raises(PackageError, match=r"'stable': its signature fits none .*other.pub\): another key") as raised:
        read_keys((other,)).require_signature("channel 'stable'", TEXT, signature)
    assert raised.value.reason == "Unverified"
    with pytest.raises(PackageError, match="or of other bytes"):
        read_keys((public,)).require_signature("channel 'stable'", TEXT + b" ", signature)


@KINDS
def test_openssl_accepts_what_we_sign(tmp_path: Path, kind: tuple[str, ...]) -> None:
    public = make_key(tmp_path / "release.key", kind)
    (tmp_path / "stable").write_bytes(TEXT)
    key = read_signing_key(tmp_path / "release.key")
    signature = key.sign(TEXT)
    assert verifies(public, tmp_path / "stable", signature)
    assert not verifies(make_key(tmp_path / "other.key", kind), tmp_path / "stable", signature)
    assert (key.sign(TEXT), key.has_signed(TEXT, signature), key.has_signed(b"", signature)) == (signature, True, False)


def test_keys_are_read_again_and_a_broken_file_keeps_its_last_good_key(tmp_path: Path) -> None:
    public, other = make_key(tmp_path / "release.key"), make_key(tmp_path / "other.key")
    old, new, files = read_keys((public,)).keys[0].key, read_keys((other,)).keys[0].key, KeyFiles((public,))
    read: list[object] = []
    for text in (public.read_bytes(), b"", other.read_bytes(), None):
        public.write_bytes(text) if text is not None else public.unlink()
        read += [key.key for key in files.read_again().keys]
    assert read == [old, old, new, new]


@each(
    "signature, problem",
    [
        (b"", "has no signature; sign it with `hookrunner addon seal DIR --key FILE`"),
        (b"\x30\x45\x02", "its signature is not base64"),
        (b"A" * 5000, "its signature has more than 4,096 bytes"),
        (base64.b64encode(b"\0" * 64), "fits none of the keys"),
        (b"AAAA", "fits none of the keys"),
    ],
)
def test_what_is_no_signature_is_refused(tmp_path: Path, signature: bytes, problem: str) -> None:
    for kind in (ED25519, P_256):
        keys = read_keys((make_key(tmp_path / "release.key", kind),))
        with pytest.raises(PackageError, match=problem):
            keys.require_signature("channel 'stable'", TEXT, signature)


@each(
    "kind, named",
    [
        (("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"), r"RSA \(1024 bits\)"),
        (("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"), r"RSA \(3072 bits\)"),
        (("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"), "ECDSA secp384r1"),
        (("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-224"), "ECDSA secp224r1"),
        (("-algorithm", "ed448"), "Ed448"),
        (("-algorithm", "X25519"), "X25519"),
    ],
)
def test_other_kinds_of_keys_are_refused_by_name(tmp_path: Path, kind: tuple[str, ...], named: str) -> None:
    public = make_key(tmp_path / "weak.key", kind)
    with pytest.raises(StartRefused, match=f"weak.pub has a key of the kind {named}, and only Ed25519 and ECDSA P-256"):
        read_keys((public,))
    with pytest.raises(BadInput, match=f"weak.key has a key of the kind {named}"):
        read_signing_key(tmp_path / "weak.key")


def test_file_that_is_no_public_key_is_refused_with_the_way_to_one(tmp_path: Path) -> None:
    public, key, certificate = make_key(tmp_path / "release.key"), tmp_path / "release.key", tmp_path / "cert.pem"
    openssl("req", "-x509", "-key", key, "-subj", "/CN=publisher", "-out", certificate)
    (tmp_path / "two.pub").write_bytes(public.read_bytes() * 2)
    (tmp_path / "ssh.pub").write_text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA publisher\n")
    said = {}
    for path in (key, certificate, tmp_path / "two.pub", tmp_path / "ssh.pub", tmp_path / "gone.pub", tmp_path):
        with pytest.raises(StartRefused) as raised:
            read_keys((public, path))
        said[path.name] = str(raised.value).partition(f"--addon-keys: {path} ")[2]
    assert said == {
        "release.key": "has a private key; give the public one: openssl pkey -in FILE -pubout",
        "cert.pem": "has a certificate; give its key alone: openssl x509 -in FILE -noout -pubkey",
        "two.pub": "has several keys; write each to a file of its own",
        "ssh.pub": "has no public key in PEM (-----BEGIN PUBLIC KEY-----)",
        "gone.pub": "cannot be read: No such file or directory; name a file with a key",
        tmp_path.name: "cannot be read: Is a directory; name a file with a key",
    }


def test_file_that_is_no_private_key_is_refused_with_the_way_to_one(tmp_path: Path) -> None:
    public = make_key(tmp_path / "release.key")
    locked, cosign = tmp_path / "locked.key", tmp_path / "cosign.key"
    openssl("pkey", "-in", tmp_path / "release.key", "-aes256", "-passout", "pass:x", "-out", locked)
    cosign.write_text("-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n")
    said = []
    for path in (public, locked, cosign, tmp_path / "gone.key"):
        with pytest.raises(BadInput) as raised:
            read_signing_key(path)
        said.append(str(raised.value).partition(f"--key: {path} ")[2].partition(";")[0].partition(":")[0])
    assert said == ["has no private key in PEM", "has a key with a password", "is cosign's own form", "cannot be read"]

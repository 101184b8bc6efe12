"""Keys and signatures as `openssl` makes them, for tests: what publishers use without hookrunner."""

import base64
import subprocess
from pathlib import Path

ED25519 = ("-algorithm", "ed25519")
P_256 = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")


def openssl(*arguments: str | Path) -> bytes:
    """What it prints."""
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True).stdout


def make_key(path: Path, kind: tuple[str, ...] = ED25519) -> Path:
    """Write a private key, and beside it the public one, which is returned."""
    openssl("genpkey", *kind, "-out", path)
    public = path.with_suffix(".pub")
    openssl("pkey", "-in", path, "-pubout", "-out", public)
    return public


def sign(key: Path, file: Path) -> bytes:
    """The signature of a file, in base64 as `base64` writes it, in lines."""
    if b"ED25519" in openssl("pkey", "-in", key, "-noout", "-text"):
        signed = openssl("pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", file)
    else:
        signed = openssl("dgst", "-sha256", "-sign", key, file)
    return base64.encodebytes(signed)


def verifies(public: Path, file: Path, signature: bytes) -> bool:
    """Does `openssl` find that this is a signature of the file?"""
    raw = file.with_name("signature.bin")
    raw.write_bytes(base64.b64decode(signature))
    is_ed25519 = b"ED25519" in openssl("pkey", "-pubin", "-in", public, "-noout", "-text")
    checks = ["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-in", file, "-sigfile", raw]
    command = checks if is_ed25519 else ["dgst", "-sha256", "-verify", public, "-signature", raw, file]
    return subprocess.run(["openssl", *map(str, command)], check=False, capture_output=True).returncode == 0

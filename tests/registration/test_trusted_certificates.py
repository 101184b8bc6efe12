"""Which certificates a `caBundle` has. Level: pure."""

import base64

from hookrunner.registration.webhook_objects import TrustedCertificates, certificates
from tests.tables import each


def pem(*bodies: str, newline: str = "\n") -> bytes:
    blocks = (f"-----BEGIN CERTIFICATE-----{newline}{body}{newline}-----END CERTIFICATE-----" for body in bodies)
    return newline.join(blocks).encode()


def bundle(*bodies: str) -> str:
    return base64.b64encode(pem(*bodies)).decode()


def found(text: str) -> list[bytes]:
    return list(certificates(base64.b64decode(text)))


@each(
    ("text", "blocks"),
    [
        (pem("AAAA", "BBBB"), (b"AAAA", b"BBBB")),
        (pem("AAAA", newline="\r\n"), (b"AAAA",)),
        (b"subject=x\n" + pem("AA\nAA", "AAAA") + b"\ntrailer", (b"AAAA",)),
        (b"", ()),
        (b"nonsense", ()),
    ],
)
def test_certificates_are_read_from_pem(text: bytes, blocks: tuple[bytes, ...]) -> None:
    assert certificates(text) == blocks


@each(
    ("present", "exact", "wanted"),
    [
        ("", False, [b"AAAA", b"BBBB"]),
        (bundle("CCCC"), False, [b"AAAA", b"BBBB", b"CCCC"]),
        (bundle("CCCC"), True, [b"AAAA", b"BBBB"]),
        (bundle("AAAA"), True, [b"AAAA", b"BBBB"]),
        ("no base64", False, [b"AAAA", b"BBBB"]),
        ("Z2FyYmFnZQ==", True, [b"AAAA", b"BBBB"]),
    ],
)
def test_bundle_has_present_certificates_unless_it_is_exact(present: str, exact: bool, wanted: list[bytes]) -> None:
    assert found(TrustedCertificates((b"AAAA", b"BBBB"), exact).bundle(present)) == wanted


@each("exact", [True, False])
def test_order_and_form_of_a_bundle_do_not_matter(exact: bool) -> None:
    present = bundle("BBBB", "AAAA")
    assert TrustedCertificates((b"AAAA", b"BBBB"), exact).bundle(present) == present


def test_bundle_with_more_certificates_stays_unchanged() -> None:
    assert TrustedCertificates((b"AAAA",)).bundle(bundle("AAAA", "BBBB")) == bundle("AAAA", "BBBB")


def test_certificates_are_written_in_lines() -> None:
    text = base64.b64decode(TrustedCertificates((b"A" * 100,)).bundle(""))
    assert [len(line) for line in text.splitlines()] == [27, 64, 36, 25]

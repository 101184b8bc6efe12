"""Which texts make a certificate that can be shown, and what is trusted while another one takes over. Level: pure."""

import ssl
import time

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.certificates.issuing import issue
from hookrunner.certificates.material import (
    OVERLAP,
    Part,
    checked,
    doubts,
    lacking,
    last_of,
    lingering,
    overlap,
)
from hookrunner.errors import BadCertificate
from tests.certificates.made import HOST, NOW, YEAR, CertificateSpec, authority, certificate, material, parts, shaken
from tests.tables import each

ROOT = authority()
LEAF = certificate("server", ROOT)
CAS = [authority(f"CA {number}").pem for number in range(4)]


def test_material_knows_its_serial_times_and_names() -> None:
    leaf = certificate("server", ROOT, CertificateSpec(names=(HOST, "10.0.0.1", "fd00::1")))
    made = checked(*parts(leaf, trust=ROOT.pem))
    assert made.serial == leaf.certificate.serial_number
    assert (made.begins, made.expires) == (NOW - 3600, NOW - 3600 + YEAR)
    assert made.names == (HOST, "10.0.0.1", "fd00::1")


def test_material_does_not_show_its_key() -> None:
    assert "PRIVATE" not in repr(material())


@each("spec", [CertificateSpec(), CertificateSpec(rsa=True)], ids=["ECDSA", "RSA"])
def test_keys_of_both_kinds_are_accepted(spec: CertificateSpec) -> None:
    assert b"PRIVATE KEY" in material(spec).key


def test_a_chain_over_intermediate_cas_in_any_order_is_followed() -> None:
    first = authority("first", ROOT)
    second = authority("second", first)
    leaf = certificate("server", second)
    assert checked(*parts(leaf, first, second, trust=CAS[0] + ROOT.pem)).trust == CAS[0] + ROOT.pem


def test_an_intermediate_ca_may_be_what_is_trusted() -> None:
    between = authority("between", ROOT)
    assert checked(*parts(certificate("server", between), trust=between.pem)).trust == between.pem


def test_a_certificate_that_signs_itself_may_be_its_own_ca() -> None:
    alone = certificate("server")
    assert checked(*parts(alone, trust=alone.pem)).trust == alone.pem


def test_only_certificates_of_the_trust_file_are_published() -> None:
    made = checked(*parts(LEAF, trust=b"# our CA\n" + ROOT.pem + ROOT.key_pem))
    assert made.trust == ROOT.pem


LOCKED = LEAF.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
GARBAGE = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@each(
    ("broken", "problem"),
    [
        ({0: b""}, "/certs/tls.crt is empty"),
        ({0: b"\n"}, "/certs/tls.crt is empty"),
        ({0: b"hello"}, "/certs/tls.crt holds no certificate"),
        ({0: GARBAGE}, "/certs/tls.crt holds no certificate"),
        ({0: LEAF.key_pem}, "/certs/tls.crt holds no certificate"),
        ({0: LEAF.pem[:-40]}, "/certs/tls.crt holds no certificate"),
        ({0: LEAF.pem + GARBAGE}, "/certs/tls.crt holds no certificate"),
        ({1: b""}, "/certs/tls.key holds no private key"),
        ({1: LEAF.pem}, "/certs/tls.key holds no private key"),
        ({1: LEAF.key_pem[:-60]}, "/certs/tls.key holds no private key"),
        ({1: LOCKED}, "/certs/tls.key is encrypted"),
        ({1: ROOT.key_pem}, "/certs/tls.key is not the key of the certificate in /certs/tls.crt"),
        ({2: b""}, "/certs/ca.crt is empty"),
        ({2: b"\x00\xff"}, "/certs/ca.crt holds no certificate"),
        ({2: authority().pem}, "/certs/tls.crt was not issued by a CA in /certs/ca.crt"),
    ],
)
def test_unusable_files_are_named(broken: dict[int, bytes], problem: str) -> None:
    given_parts = [
        Part(broken.get(place, part.pem), part.where) for place, part in enumerate(parts(LEAF, trust=ROOT.pem))
    ]
    with pytest.raises(BadCertificate, match=problem):
        checked(*given_parts)


def test_a_missing_ca_is_named() -> None:
    between = authority("between", ROOT)
    with pytest.raises(BadCertificate, match="put the certificate of CN=between there"):
        checked(*parts(certificate("server", between), trust=ROOT.pem))


def test_the_last_of_a_chain_is_nearest_to_its_root() -> None:
    between = authority("between", ROOT)
    chain = parts(certificate("server", between), between, ROOT, trust=b"")[0]
    assert last_of(chain).pem == ROOT.pem


@each(
    ("spec", "now", "expected"),
    [
        (CertificateSpec(), NOW, []),
        (CertificateSpec(life=60), NOW, ["it expired on 2026-06-01T11:01:00+00:00"]),
        (CertificateSpec(begin=NOW + 60), NOW, ["it is not valid before 2026-06-01T12:01:00+00:00"]),
        (CertificateSpec(names=()), NOW, ["it names no host as subjectAltName, and the common name does not count"]),
        (CertificateSpec(usages=(ExtendedKeyUsageOID.CLIENT_AUTH,)), NOW, ["its extended key usage lacks serverAuth"]),
        (CertificateSpec(usages=(ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH)), NOW, []),
        (CertificateSpec(usages=(ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,)), NOW, []),
    ],
)
def test_certificates_that_api_servers_may_refuse_are_reported(
    spec: CertificateSpec, now: float, expected: list[str]
) -> None:
    assert list(doubts(material(spec), now)) == expected


@each(
    ("names", "wanted", "expected"),
    [
        (("a.b",), ["a.b"], ()),
        (("a.b",), ["A.b", "c.d"], ("c.d",)),
        (("*.b",), ["a.b"], ()),
        (("*.b",), ["x.a.b", "b"], ("x.a.b", "b")),
        (("10.0.0.1", "fd00::1"), ["10.0.0.1", "fd00:0::1"], ()),
        (("10.0.0.1",), ["10.0.0.2"], ("10.0.0.2",)),
        ((), ["a"], ("a",)),
    ],
)
def test_missing_names_of_a_certificate_are_found(
    names: tuple[str, ...], wanted: list[str], expected: tuple[str, ...]
) -> None:
    assert lacking(material(CertificateSpec(names=names)), wanted) == expected


cas = st.lists(st.sampled_from(CAS)).map(b"".join)


@given(cas, cas)
def test_an_overlap_has_every_ca_once_and_the_new_ones_first(old: bytes, new: bytes) -> None:
    both = overlap(old, new, NOW)
    assert all(both.count(ca) == (ca in old + new) for ca in CAS)
    assert overlap(old, new, NOW).startswith(overlap(b"", new, NOW))
    assert overlap(both, both, NOW) == both


def test_an_overlap_has_nothing_expired_of_the_old() -> None:
    old, new = CAS[0], CAS[1]
    assert overlap(old, new, NOW + YEAR) == new


def test_nothing_new_is_dropped_from_an_overlap() -> None:
    assert overlap(CAS[0], CAS[1], NOW + 2 * YEAR) == CAS[1]


def test_unreadable_old_certificates_are_left_out_of_an_overlap() -> None:
    assert overlap(GARBAGE, CAS[1], NOW) == CAS[1]


@each(("age", "expected"), [(0, CAS[0]), (OVERLAP - 1, CAS[0]), (OVERLAP, b""), (-OVERLAP, CAS[0])])
def test_a_replaced_ca_lingers_for_an_hour(age: float, expected: bytes) -> None:
    assert lingering(CAS[0], NOW - age, NOW) == expected


def test_an_expired_ca_does_not_linger() -> None:
    assert lingering(CAS[0], NOW + YEAR, NOW + YEAR) == b""


def test_clients_that_trust_an_overlap_accept_both_certificates() -> None:
    now = time.time()
    old, new = (issue([HOST], now) for _ in range(2))
    both = overlap(old.trust, new.trust, now)
    assert [shaken(server, both, HOST) for server in (old, new)] == ["TLSv1.3", "TLSv1.3"]
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(old, new.trust, HOST)

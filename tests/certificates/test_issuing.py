"""What we issue, in the eyes of others: libraries' own verifiers, a real handshake. Level: pure."""

import ssl
import time
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.certificates.issuing import LIFE, issue, made, renewal, service_names, url_names
from hookrunner.certificates.material import Part, checked, doubts, lacking
from tests.certificates.made import HOST, NOW, shaken
from tests.tables import each

LOCALHOST = ["localhost", "127.0.0.1", "::1"]


def certificate(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def test_issued_certificate_passes_our_own_checks() -> None:
    new = issue([HOST, "10.0.0.1"], NOW)
    assert checked(Part(new.certificate, "c"), Part(new.key, "k"), Part(new.trust, "t")) == new
    assert not doubts(new, NOW)
    assert not lacking(new, [HOST, "10.0.0.1"])


def test_issued_certificate_passes_a_strict_verifier() -> None:
    new = issue([HOST], NOW)
    moment = datetime.fromtimestamp(NOW, UTC)
    policy = PolicyBuilder().store(Store([certificate(new.trust)])).time(moment)
    chain = policy.build_server_verifier(x509.DNSName(HOST)).verify(certificate(new.certificate), [])
    assert chain[-1] == certificate(new.trust)


@each("host", LOCALHOST)
def test_a_handshake_is_made_by_name_and_by_address(host: str) -> None:
    new = issue(LOCALHOST, time.time())
    assert shaken(new, new.trust, host) == "TLSv1.3"


@each("host", ["example.com", "127.0.0.2", "x.localhost"])
def test_a_handshake_for_another_name_is_refused(host: str) -> None:
    new = issue(LOCALHOST, time.time())
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(new, new.trust, host)


def test_every_certificate_has_a_ca_a_key_and_a_serial_of_its_own() -> None:
    several = [issue([HOST], NOW) for _ in range(3)]
    for part in (
        {one.serial for one in several},
        {one.key for one in several},
        {certificate(one.trust).subject for one in several},
        {certificate(one.trust).serial_number for one in several},
    ):
        assert len(part) == 3


@given(st.floats(min_value=0, max_value=4e9))
def test_it_is_valid_from_an_hour_ago_for_a_year_and_renewed_at_two_thirds(now: float) -> None:
    new = issue([HOST], now)
    assert new.begins == pytest.approx(now - 3600, abs=1)
    assert new.expires == pytest.approx(now + LIFE.total_seconds(), abs=1)
    assert made(new) == pytest.approx(now, abs=1)
    assert (renewal(new) - new.begins) * 3 == pytest.approx((new.expires - new.begins) * 2)


def test_ca_and_certificate_expire_together() -> None:
    new = issue([HOST], NOW)
    assert certificate(new.trust).not_valid_after_utc.timestamp() == new.expires


def test_a_service_has_four_names() -> None:
    names = ("hooks", "hooks.infra", "hooks.infra.svc", "hooks.infra.svc.cluster.local")
    assert service_names("hooks", "infra") == names


@each(
    ("url", "names"),
    [
        ("", ()),
        ("https://Hooks.example.com:9443/base", ("hooks.example.com",)),
        ("https://127.0.0.1:9443", ("127.0.0.1",)),
        ("https://[fd00::1]:9443", ("fd00::1",)),
        ("https://bücher.example", ("xn--bcher-kva.example",)),
    ],
)
def test_the_host_of_a_url_is_what_its_certificate_is_for(url: str, names: tuple[str, ...]) -> None:
    assert url_names(url) == names


def test_a_host_with_umlauts_can_be_certified() -> None:
    names = url_names("https://bücher.example")
    assert issue(names, NOW).names == names

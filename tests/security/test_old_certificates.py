"""Who has the key of a replaced certificate: what it is good for in the hour of two CAs, and that this ends.

Level: pure."""

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from hookrunner.certificates.issuing import issue
from hookrunner.certificates.material import OVERLAP, Material
from hookrunner.certificates.own import judge
from hookrunner.certificates.provided import LatestMaterial, SecretState
from hookrunner.webhooks.servers import Rotation
from tests.certificates.secrets import data, secret

pytestmark = pytest.mark.looptime

NOW = 1_800_000_000.0
NAME = "hooks.default.svc"


def contents(new: Material, previous: bytes) -> SecretState:
    """The Secret after the replacement."""
    return SecretState("a Secret", secret("default", data(new, **{"previous-ca_crt": previous})))


def accepted(trust: bytes, shown: Material, directory: Path, name: str = NAME) -> bool:
    """Whether a client that trusts this, as API servers do, talks to a server that shows that."""
    (directory / "tls").write_bytes(shown.certificate + shown.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(directory / "tls")
    calling = ssl.create_default_context(cadata=trust.decode())
    calling.verify_flags |= ssl.VERIFY_X509_STRICT
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(up, down, server_side=True)
    client = calling.wrap_bio(down, up, server_hostname=name)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError:
            return False
    return True


@pytest.fixture
def now() -> float:
    """Clients look at the wall clock."""
    return time.time()


@pytest.mark.parametrize(("later", "trusted"), [(10.0, True), (OVERLAP - 1, True), (OVERLAP + 1, False)])
async def test_a_replaced_key_is_accepted_for_one_hour_only_also_after_a_restart(
    tmp_path: Path, now: float, later: float, trusted: bool
) -> None:
    """A restart knows nothing but the Secret."""
    old, new = issue([NAME], now - later - 100), issue([NAME], now - later)
    state = judge(contents(new, old.trust), [NAME], now)
    assert (accepted(state.trust, old, tmp_path), accepted(state.trust, new, tmp_path)) == (trusted, True)
    assert not accepted(state.trust, old, tmp_path, "kubernetes.default.svc")
    assert state.until == pytest.approx(now - later + OVERLAP) if trusted else state.until > now + OVERLAP


async def test_a_replaced_key_cannot_issue_trusted_certificates(tmp_path: Path, now: float) -> None:
    """Not even within the hour: no one has the key of the CA."""
    old, new = issue([NAME], now - 100), issue([NAME], now)
    own, stranger = issue([NAME], now), x509.load_pem_x509_certificate(old.certificate)
    assert not accepted(old.trust + new.trust, own, tmp_path)
    assert stranger.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    for authority in x509.load_pem_x509_certificates(old.trust + new.trust):
        with pytest.raises((ValueError, InvalidSignature)):
            authority.verify_directly_issued_by(stranger)
        key = load_pem_private_key(old.key, None)
        assert key.public_key() != authority.public_key()


async def test_a_restart_removes_the_old_ca_from_registrations_when_its_hour_is_over() -> None:
    """Counted from the replacement, not from the restart."""
    published: list[tuple[float, bytes]] = []
    clock = asyncio.get_running_loop().time
    old, new = issue([NAME], NOW - 5000), issue([NAME], NOW - 1800)
    replaced = contents(new, old.trust)

    async def publish(trust: bytes) -> None:
        published.append((clock(), trust))

    async def materials() -> AsyncGenerator[Material, None]:
        while True:
            state = judge(replaced, [NAME], NOW + clock())
            assert state.material is not None
            yield state.material
            await asyncio.sleep(state.until - NOW - clock() + 1)

    rotation = Rotation("admission", lambda _certificate, _key: None, publish, lambda: NOW + clock())
    following = asyncio.create_task(rotation.follow(LatestMaterial("a"), materials()))
    await asyncio.sleep(OVERLAP)
    following.cancel()
    assert [(at // 600, old.trust in trust, new.trust in trust) for at, trust in published] == [
        (0, True, True),
        (3, False, True),
    ]

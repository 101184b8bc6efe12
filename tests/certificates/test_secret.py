"""A Secret in cert-manager's layout, played by writing it; the server is the sandbox. Level: sandbox."""

from collections.abc import AsyncIterator

import pytest

from hookrunner.certificates.issuing import issue
from hookrunner.certificates.material import checked
from hookrunner.certificates.provided import LatestMaterial, from_secret
from hookrunner.kube.watch import Watches
from kubesandbox.faults import Fault
from tests.certificates.made import HOST, NOW, authority, certificate, parts
from tests.certificates.reading import Reader, reading
from tests.certificates.secrets import NAME, data, secret
from tests.kube.server import ApiServer

pytestmark = pytest.mark.looptime

OLD, NEW = (issue([HOST], NOW) for _ in range(2))


def write(api: ApiServer, content: dict[str, str]) -> None:
    api.put(secret("default", content))


@pytest.fixture
async def reader(watches: Watches) -> AsyncIterator[Reader]:
    async with reading(from_secret(LatestMaterial(NAME), watches, "default", NAME)) as reader:
        yield reader


@pytest.fixture
async def known(api: ApiServer, reader: Reader) -> Reader:
    """A reader that has read the Secret."""
    write(api, data(OLD))
    assert await reader.next() == OLD
    return reader


async def test_missing_secret_is_awaited(api: ApiServer, reader: Reader, capfd: pytest.CaptureFixture[str]) -> None:
    assert await reader.quiet(150)
    logged = [line for line in capfd.readouterr().err.splitlines() if "does not exist" in line]
    assert len(logged) == 3
    write(api, data(OLD))
    assert await reader.next() == OLD


async def test_other_changes_are_ignored_and_a_new_certificate_is_yielded(api: ApiServer, known: Reader) -> None:
    write(api, data(OLD, other=b"x"))
    assert await known.quiet(100)
    write(api, data(NEW))
    assert await known.next() == NEW


@pytest.mark.parametrize("empty", [{"ca_crt": b""}, {"ca_crt": b"\n"}], ids=["empty", "blank"])
async def test_without_a_ca_the_last_of_the_chain_is_trusted(
    api: ApiServer, reader: Reader, empty: dict[str, bytes]
) -> None:
    root = authority()
    between = authority("between", root)
    public = checked(*parts(certificate("server", between), between, trust=root.pem))
    write(api, data(public, **empty))
    assert (await reader.next()).trust == between.pem


async def test_without_a_ca_and_a_chain_the_certificate_itself_is_trusted(api: ApiServer, reader: Reader) -> None:
    content = data(OLD)
    del content["ca.crt"]
    write(api, content)
    assert (await reader.next()).trust == OLD.certificate


BROKEN: list[tuple[dict[str, bytes], str]] = [
    ({"tls_crt": b""}, "tls.crt of Secret default/certs is empty"),
    ({"tls_crt": b"x"}, "tls.crt of Secret default/certs holds no certificate"),
    ({"tls_key": b""}, "tls.key of Secret default/certs holds no private key"),
    ({"tls_key": NEW.key}, "tls.key of Secret default/certs is not the key of the certificate in tls.crt"),
    ({"ca_crt": NEW.trust}, "tls.crt of Secret default/certs was not issued by a CA in ca.crt of Secret default/certs"),
]


@pytest.mark.parametrize(("broken", "problem"), BROKEN)
async def test_broken_secret_is_reported_once_and_the_last_good_one_stays(
    api: ApiServer, known: Reader, broken: dict[str, bytes], problem: str, capfd: pytest.CaptureFixture[str]
) -> None:
    write(api, data(OLD, **broken))
    assert await known.quiet(100)
    assert capfd.readouterr().err.count(problem) == 1
    write(api, data(NEW))
    assert await known.next() == NEW


async def test_deleted_secret_keeps_its_last_material(api: ApiServer, known: Reader) -> None:
    """Also one that is deleted while we are disconnected."""
    for is_cut, material in ((False, NEW), (True, OLD)):
        if is_cut:
            api.faults.cut()
        api.delete(secret("default", {}))
        api.compact()
        assert await known.quiet(100)
        write(api, data(material))
        assert await known.next() == material


async def test_missing_rights_are_reported_with_advice(
    api: ApiServer, reader: Reader, capfd: pytest.CaptureFixture[str]
) -> None:
    api.faults.add(Fault("answer", "/secrets", status=403))
    assert await reader.quiet(130)
    logged = capfd.readouterr().err
    assert "a Role in its namespace must allow to get, list and watch it" in logged
    assert logged.count("there is no certificate yet") == 3
    api.faults.clear()
    write(api, data(OLD))
    assert await reader.next() == OLD

"""A certificate of our own in a Secret of the sandbox: many replicas, a year in a moment, and people who edit it.

The wall clock hangs on the loop's, which is virtual, and can be set, as when a machine was suspended; what happens to
the Secret then makes everybody look at it. The same on a real control plane: `test_real_cluster.py`.

Level: sandbox.
"""

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from hookrunner.certificates.issuing import issue, renewal, service_names
from hookrunner.certificates.material import OVERLAP, Material, lacking
from hookrunner.certificates.own import LATENESS, DesiredCertificate, judge, own
from hookrunner.certificates.provided import LatestMaterial, SecretState
from hookrunner.kube.client import Client
from hookrunner.kube.watch import Watches
from kubesandbox.faults import Fault
from tests.certificates.made import NOW, YEAR, CertificateSpec, material
from tests.certificates.reading import Reader, reading
from tests.certificates.secrets import NAME, data, secret, serial_of
from tests.fakes.second_writer import OvertakenClient, once
from tests.kube.server import ApiServer

pytestmark = pytest.mark.looptime

NAMES = service_names("hooks", "default")
HERE = secret("default", {})
CLIENT_AUTH = ExtendedKeyUsageOID.CLIENT_AUTH


class Clock:
    """The wall clock."""

    def __init__(self) -> None:
        self.ahead = NOW

    def now(self) -> float:
        return self.ahead + asyncio.get_running_loop().time()

    def set(self, when: float) -> None:
        self.ahead += when - self.now()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock.now)
    return clock


@pytest.fixture
async def replicas(client: Client, watches: Watches) -> AsyncIterator[list[Reader]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                reading(own(LatestMaterial(NAME), client, watches, DesiredCertificate("default", NAME, NAMES)))
            )
            for _ in range(10)
        ]


@pytest.fixture
def replica(replicas: list[Reader]) -> Reader:
    """Only who is asked does anything."""
    return replicas[0]


def issued(age: float = 0, names: tuple[str, ...] = NAMES) -> Material:
    return issue(names, NOW - age)


def kept(api: ApiServer) -> Any:
    return api.get(HERE)


def touch(api: ApiServer) -> None:
    """Change something that does not matter."""
    api.put(secret("default", kept(api)["data"], touched=str(time.time())))


def writes(api: ApiServer) -> list[str]:
    return [request.method for request in api.requests if request.method in ("POST", "PUT", "PATCH", "DELETE")]


THERE = issued()
DUE = renewal(THERE)
LIFE = THERE.expires - THERE.begins


@pytest.mark.parametrize(
    ("now", "late", "wrong", "until"),
    [
        (NOW, 0.0, "", NOW + OVERLAP),
        (NOW + OVERLAP, 0.0, "", DUE),
        (DUE - 1, 0.0, "", DUE),
        (DUE, 0.0, "two thirds of its life are over", 0),
        (DUE, 0.001, "", DUE + 0.001 * LIFE),
        (DUE + 0.001 * LIFE, 0.001, "two thirds of its life are over", 0),
        (THERE.expires + 1, 0.9, "it expired on 2027-06-01T12:00:00+00:00", 0),
    ],
)
def test_judgement_names_when_to_judge_again(now: float, late: float, wrong: str, until: float) -> None:
    state = judge(SecretState("here", secret("default", data(THERE))), NAMES, now, late)
    assert (state.material, state.wrong) == (THERE, wrong)
    if not wrong:
        assert state.until == pytest.approx(until, abs=0.1)


async def test_missing_secret_is_created(api: ApiServer, replica: Reader) -> None:
    made = await replica.next()
    assert not lacking(made, NAMES)
    stored = kept(api)
    assert (stored["type"], serial_of(stored)) == ("kubernetes.io/tls", made.serial)
    assert set(stored["data"]) == {"tls.crt", "tls.key", "ca.crt", "previous-ca.crt"}
    assert writes(api) == ["POST"]


async def test_existing_secret_is_used(api: ApiServer, replica: Reader) -> None:
    api.put(secret("default", data(there := issued())))
    assert await replica.next() == there
    assert writes(api) == []


async def test_certificate_that_another_client_has_just_written_is_used_and_not_overwritten(
    api: ApiServer, client: OvertakenClient, replica: Reader
) -> None:
    """The one that was there has expired: each replica writes another."""
    api.put(secret("default", data(issued(LIFE))))
    theirs = issued()
    client.before_write = once("PUT", lambda: api.put(secret("default", data(theirs))))
    assert await replica.next() == theirs
    assert serial_of(kept(api)) == theirs.serial


async def test_one_of_ten_replicas_creates_the_certificate(api: ApiServer, replicas: list[Reader]) -> None:
    serials = {one.serial for one in await asyncio.gather(*(each.next() for each in replicas))}
    assert serials == {serial_of(kept(api))}
    assert all(await asyncio.gather(*(one.quiet(30) for one in replicas)))


@pytest.mark.slow
async def test_one_of_ten_replicas_renews_the_certificate(api: ApiServer, replicas: list[Reader], clock: Clock) -> None:
    old = await asyncio.gather(*(one.next() for one in replicas))
    clock.set(renewal(old[0]) + LATENESS * 2 * YEAR)
    touch(api)
    new = await asyncio.gather(*(one.next() for one in replicas))
    assert {one.serial for one in new} == {serial_of(kept(api))} != {old[0].serial}
    assert all(await asyncio.gather(*(one.quiet(30) for one in replicas)))


async def test_nothing_is_renewed_before_two_thirds_of_its_life(api: ApiServer, replica: Reader, clock: Clock) -> None:
    clock.set(renewal(await replica.next()) - 60)
    touch(api)
    assert await replica.quiet(30)
    assert writes(api) == ["POST"]


async def test_replaced_ca_is_trusted_for_an_hour_also_by_replicas_that_start_meanwhile(
    api: ApiServer, replicas: list[Reader], clock: Clock
) -> None:
    before = issued(age=YEAR * 0.7)
    api.put(secret("default", data(before)))
    first = await replicas[0].next()
    assert first.trust != before.trust
    assert first.trust.endswith(before.trust)
    clock.set(NOW + OVERLAP - 40)
    touch(api)
    assert await replicas[1].next() == first
    without = await replicas[0].next(50)
    assert (without.serial, without.trust + before.trust) == (first.serial, first.trust)
    assert await replicas[2].next() == without


async def test_certificate_that_expired_meanwhile_is_renewed(api: ApiServer, replica: Reader) -> None:
    api.put(secret("default", data(old := issued(age=2 * YEAR))))
    assert (await replica.next()).serial != old.serial


@pytest.mark.parametrize(
    "spec", [CertificateSpec(names=NAMES, begin=NOW + 60), CertificateSpec(names=NAMES, usages=(CLIENT_AUTH,))]
)
async def test_a_certificate_that_api_servers_would_refuse_is_replaced(
    api: ApiServer, replica: Reader, spec: CertificateSpec
) -> None:
    api.put(secret("default", data(refused := material(spec))))
    assert (await replica.next()).serial != refused.serial


async def test_missing_names_are_added_to_those_of_other_releases(api: ApiServer, replica: Reader) -> None:
    api.put(secret("default", data(issued(names=("other", "10.0.0.1")))))
    assert set((await replica.next()).names) == {*NAMES, "other", "10.0.0.1"}


async def test_unwanted_names_are_dropped_at_a_renewal(api: ApiServer, replica: Reader) -> None:
    api.put(secret("default", data(issued(age=YEAR * 0.7, names=(*NAMES, "other")))))
    assert (await replica.next()).names == NAMES


async def test_two_releases_with_different_names_converge(
    api: ApiServer, client: Client, watches: Watches, replica: Reader
) -> None:
    async with reading(
        own(LatestMaterial(NAME), client, watches, DesiredCertificate("default", NAME, ["other"]))
    ) as other:
        await asyncio.gather(other.next(), replica.next())
        await asyncio.gather(other.quiet(10), replica.quiet(10))
        assert all(await asyncio.gather(other.quiet(40), replica.quiet(40)))
    assert len(writes(api)) <= 4


BROKEN = {"tls_crt": b"nonsense", "tls_key": b"", "ca_crt": issued().trust}


@pytest.mark.parametrize("key", BROKEN)
async def test_invalid_secret_is_replaced(
    api: ApiServer, replica: Reader, key: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = await replica.next()
    api.put(secret("default", data(before, **{key: BROKEN[key]})))
    after = await replica.next()
    assert after.serial == serial_of(kept(api)) != before.serial
    assert before.trust in after.trust
    assert f"{key.replace('_', '.')} of Secret default/certs" in capfd.readouterr().err


async def test_replaced_invalid_secret_keeps_its_ca(api: ApiServer, replica: Reader) -> None:
    before = issued()
    api.put(secret("default", data(before, tls_key=b"")))
    assert (await replica.next()).trust.endswith(before.trust)


async def test_a_deleted_secret_comes_back_with_a_new_ca(api: ApiServer, replicas: list[Reader]) -> None:
    before = await replicas[0].next()
    await replicas[1].next()
    api.delete(HERE)
    after = [await one.next() for one in replicas[:3]]
    assert {one.serial for one in after} == {serial_of(kept(api))}
    assert after[0].serial != before.serial
    assert all(one.trust.endswith(before.trust) for one in after)


async def test_secret_deleted_while_disconnected_is_created_again(api: ApiServer, replica: Reader) -> None:
    before = await replica.next()
    api.faults.cut()
    api.delete(HERE)
    api.compact()
    assert (await replica.next()).serial == serial_of(kept(api)) != before.serial


async def test_other_content_of_the_secret_stays(api: ApiServer, replica: Reader) -> None:
    api.put(secret("default", data(issued(age=YEAR), more=b"x"), owner="another-client"))
    await replica.next()
    stored = kept(api)
    assert stored["metadata"]["annotations"]["owner"] == "another-client"
    assert base64.b64decode(stored["data"]["more"]) == b"x"


async def test_writer_that_undoes_every_write_is_answered_with_pauses(api: ApiServer, replica: Reader) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(55):
            while await replica.next():
                api.put(secret("default", {"tls.crt": "", "tls.key": ""}))
    assert 4 <= len(writes(api)) <= 8


async def test_cert_managers_secret_is_left_to_it(
    api: ApiServer, replica: Reader, capfd: pytest.CaptureFixture[str]
) -> None:
    old = issued(age=YEAR * 0.7)
    api.put(secret("default", data(old), **{"cert-manager.io/certificate-name": "hooks"}))
    assert await replica.next() == old
    assert await replica.quiet(50)
    assert capfd.readouterr().err.count("start with --webhook-certs secret:certs") == 1
    assert writes(api) == []


@pytest.mark.parametrize(("there", "method", "verb"), [(False, "POST", "create"), (True, "PUT", "update")])
async def test_missing_rights_are_reported_and_tried_again(
    api: ApiServer, replica: Reader, capfd: pytest.CaptureFixture[str], there: bool, method: str, verb: str
) -> None:
    if there:
        api.put(secret("default", data(issued(age=YEAR * 0.7))))
    api.faults.add(Fault("answer", f"{method} ", status=403))
    if there:
        await replica.next()
    assert await replica.quiet(50)
    logged = capfd.readouterr().err
    assert f"cannot {verb} Secret default/certs" in logged
    assert "a Role in its namespace must allow to get, list, watch, create and update secrets" in logged
    assert logged.count("cannot be used") == 1
    assert 4 <= len(writes(api)) <= 8
    api.faults.clear()
    assert (await replica.next(40)).serial == serial_of(kept(api))


async def test_a_secret_that_the_server_does_not_take_is_to_be_deleted(
    api: ApiServer, replica: Reader, capfd: pytest.CaptureFixture[str]
) -> None:
    """As one that is immutable."""
    api.faults.add(Fault("answer", "POST ", status=422))
    assert await replica.quiet(5)
    assert ": delete it, and it will be created again" in capfd.readouterr().err


async def test_an_answer_that_the_server_is_busy_delays_the_next_attempt_little(
    api: ApiServer, replica: Reader
) -> None:
    api.faults.add(Fault("answer", "POST ", status=500))
    assert await replica.quiet(50)
    api.faults.clear()
    assert (await replica.next(4)).serial == serial_of(kept(api))


@pytest.mark.slow
async def test_api_server_unreachable_for_the_first_minute_is_awaited(api: ApiServer, replica: Reader) -> None:
    api.faults.add(Fault("refuse"))
    assert await replica.quiet(60)
    assert len(api.requests) < 140  # a look each second, which aiohttp makes twice where connections break
    api.faults.clear()
    assert (await replica.next(30)).serial == serial_of(kept(api))


async def test_a_conflict_is_no_reason_to_write_again(api: ApiServer, replica: Reader) -> None:
    api.put(secret("default", data(issued(age=YEAR * 0.7))))
    api.faults.add(Fault("answer", "PUT ", status=409, times=1))
    assert await replica.quiet(0.5)
    assert writes(api) == ["PUT"]
    assert (await replica.next()).serial == serial_of(kept(api))

"""Certificates are exchanged in an order in which no client meets one that it does not trust yet. Level: pure."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from hookrunner.certificates.issuing import issue
from hookrunner.certificates.material import Material
from hookrunner.certificates.provided import LatestMaterial
from hookrunner.errors import BadConfig
from hookrunner.registration.registrar import SETTLE
from hookrunner.webhooks.servers import NEAR_END, Rotation
from tests.fakes.cluster import running

pytestmark = pytest.mark.looptime

NOW = 1_800_000_000.0
YEAR = 365 * 86400.0


@dataclass(eq=False)
class Server:
    """Remembers what happens to it and to the registrations, and when, in the loop's time."""

    batches: list[tuple[float, str]] = field(default_factory=list)
    names: dict[bytes, str] = field(default_factory=dict)
    start: float = NOW
    reachable: asyncio.Event = field(default_factory=asyncio.Event)
    materials: asyncio.Queue[Material] = field(default_factory=asyncio.Queue)

    def __post_init__(self) -> None:
        self.reachable.set()

    def show(self, certificate: bytes, key: bytes) -> None:
        if certificate not in self.names:
            raise BadConfig("no certificate at all")
        self._happened(f"show {self.names[certificate]}")

    async def publish(self, trust: bytes) -> None:
        await self.reachable.wait()
        self._happened("trust " + "+".join(name for pem, name in self.names.items() if pem in trust))

    def _happened(self, what: str) -> None:
        self.batches.append((round(asyncio.get_running_loop().time(), 1), what))

    def issue(self, name: str, names: str = "a.example.com") -> Material:
        material = issue([names], NOW)
        self.names[material.certificate] = name
        self.names[material.trust] = name
        self.materials.put_nowait(material)
        return material

    async def given(self) -> AsyncGenerator[Material, None]:
        while True:
            yield await self.materials.get()


async def until(server: Server, seconds: float) -> list[str]:
    """What has happened when so many seconds are over."""
    await asyncio.sleep(seconds - asyncio.get_running_loop().time())
    return [what for _, what in server.batches]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    rotation = Rotation(
        "admission", server.show, server.publish, lambda: server.start + asyncio.get_running_loop().time()
    )
    async with running(rotation.follow(LatestMaterial("a"), server.given())):
        yield server


async def test_missing_certificates_are_reported_with_the_reason() -> None:
    server, latest = Server(), LatestMaterial("/certs")
    rotation = Rotation("admission", server.show, server.publish)
    following = asyncio.create_task(rotation.follow(latest, server.given()))
    await until(server, 1)
    assert rotation.problem == "admission: no certificate yet"
    latest.complain("there is no such file")
    assert rotation.problem == "admission: no certificate yet: there is no such file"
    server.issue("a")
    await until(server, 2)
    assert rotation.problem == "admission: the certificate in use stays: there is no such file"
    following.cancel()


async def test_a_certificate_near_its_end_is_reported() -> None:
    server = Server()
    rotation = Rotation("admission", server.show, server.publish, lambda: server.start)
    async with running(rotation.follow(LatestMaterial("a"), server.given())):
        server.issue("a")
        await until(server, 1)
        assert rotation.problem == ""
        server.start = NOW + YEAR - NEAR_END + 60
        assert re.fullmatch(
            r"admission: the certificate in use ends at \S+Z, and no newer one has come", rotation.problem
        )


async def test_the_first_certificate_is_shown_at_once(server: Server) -> None:
    server.reachable.clear()
    server.issue("a")
    assert await until(server, 1) == ["show a"]
    server.reachable.set()
    assert await until(server, 2) == ["show a", "trust a"]


async def test_new_ca_is_published_before_its_use_and_the_old_one_for_another_hour(server: Server) -> None:
    server.issue("a")
    await until(server, 10)
    server.issue("b")
    assert await until(server, 3600) == ["show a", "trust a", "trust a+b", "show b"]
    assert server.batches[-1][0] - server.batches[-2][0] == SETTLE
    assert await until(server, 3620) == ["show a", "trust a", "trust a+b", "show b", "trust b"]


async def test_nothing_is_shown_before_it_could_be_published(server: Server) -> None:
    server.issue("a")
    await until(server, 1)
    server.reachable.clear()
    server.issue("b")
    assert await until(server, 1000) == ["show a", "trust a"]
    server.reachable.set()
    assert await until(server, 1010) == ["show a", "trust a", "trust a+b", "show b"]


async def test_unpublished_certificate_is_shown_before_the_old_one_expires_and_published_late(server: Server) -> None:
    server.start = NOW + YEAR - 1000
    server.issue("a")
    await until(server, 1)
    server.reachable.clear()
    server.issue("b")
    assert (await until(server, 939))[-1] == "trust a"
    assert (await until(server, 941))[-1] == "show b"
    await until(server, 1500)
    server.reachable.set()
    assert (await until(server, 1501))[-2:] == ["show b", "trust a+b"]


async def test_another_certificate_of_the_same_ca_is_shown_without_waiting(server: Server) -> None:
    first = server.issue("a")
    await until(server, 1)
    second = replace(first, certificate=first.certificate + first.trust)
    server.names[second.certificate] = "a2"
    server.materials.put_nowait(second)
    assert await until(server, 2) == ["show a", "trust a", "show a2", "trust a"]


async def test_changed_cas_alone_are_published_unchanged(server: Server) -> None:
    first = server.issue("a")
    await until(server, 1)
    other = issue(["b"], NOW)
    server.names[other.trust] = "b"
    server.materials.put_nowait(replace(first, trust=first.trust + other.trust))
    assert await until(server, 20) == ["show a", "trust a", "trust a+b"]
    server.materials.put_nowait(first)
    assert await until(server, 30) == ["show a", "trust a", "trust a+b", "trust a"]


async def test_a_certificate_that_cannot_be_shown_does_not_replace_one_that_can(server: Server) -> None:
    first = server.issue("a")
    await until(server, 1)
    server.materials.put_nowait(replace(first, certificate=issue(["b"], NOW).certificate))
    server.issue("c")
    assert (await until(server, 20))[-1] == "show c"


async def test_refused_certificate_leaves_the_trust_in_the_present_one(server: Server) -> None:
    server.issue("a")
    await until(server, 1)
    new = server.issue("b")
    del server.names[new.certificate]
    assert (await until(server, 8000))[-1] == "trust a"


async def test_expired_certificate_is_replaced_at_once_and_the_new_ca_published(
    server: Server,
) -> None:
    server.start = NOW + YEAR + 1000
    server.issue("a")
    await until(server, 1)
    server.issue("b")
    assert await until(server, 2) == ["show a", "trust a", "trust b", "show b"]


async def test_a_third_certificate_within_the_hour_does_not_end_the_trust_in_the_first(server: Server) -> None:
    for name, when in (("a", 10), ("b", 20), ("c", 30)):
        server.issue(name)
        await until(server, when)
    assert server.batches[-2][1] == "trust a+b+c"
    assert (await until(server, 8000))[-1] == "trust c"


async def test_endless_first_publication_does_not_block_the_next_certificate(server: Server) -> None:
    server.start = NOW + YEAR - 1000
    server.reachable.clear()
    server.issue("a")
    await until(server, 1)
    server.issue("b")
    assert (await until(server, 941))[-1] == "show b"


async def test_an_error_while_the_old_ca_is_forgotten_is_not_lost() -> None:
    server, published = Server(), 0

    async def broken(_trust: bytes) -> None:
        nonlocal published
        published += 1
        if published > 1:
            raise RuntimeError("a bug")

    server.issue("a")
    with pytest.raises(ExceptionGroup, match="unhandled errors"):
        await Rotation("admission", server.show, broken).follow(LatestMaterial("a"), server.given())
    assert published == 2


async def test_refused_certificate_is_reported_with_the_reason() -> None:
    server = Server()
    rotation = Rotation("admission", server.show, server.publish)
    following = asyncio.create_task(rotation.follow(LatestMaterial("a"), server.given()))
    good = server.issue("a")
    server.names.pop(good.certificate)
    await until(server, 1)
    assert rotation.problem == "admission: no certificate yet: no certificate at all"
    server.names[good.certificate] = "a"
    server.issue("b")
    await until(server, 10)
    assert rotation.problem == ""
    following.cancel()

"""Certificates are exchanged under a hundred requests a second and none of them fails (issue 5, §3; R26).

Each exchange is one of the CA as well, which clients have to trust before they meet it.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hookrunner.certificates.material import Material
from tests.certificates.made import Wish, authority, material
from tests.certificates.secrets import NAME, data, secret, serial_of
from tests.controlplane.cluster import Cluster
from tests.controlplane.processes import free_port
from tests.flows.conftest import Start
from tests.flows.service import Service
from tests.flows.traffic import Traffic, quick
from tests.flows.webhooks import Site, is_asked

DAY = 86400.0
LIFE = 3 * DAY


@pytest.fixture
def site(cluster: Cluster, namespace: str) -> Iterator[Site]:
    site = Site(cluster, namespace)
    yield site
    site.remove()


@pytest.fixture
def start(site: Site, operator: Start) -> Start:
    """Its operators end before the registrations of `site` are removed, since they would put them back."""
    return operator


def made(name: str, age: float = DAY) -> Material:
    """By a CA of its own."""
    return material(Wish(("127.0.0.1",), time.time() - age, LIFE), authority(name))


class Secrets:
    """The Secret with the certificate."""

    def __init__(self, site: Site) -> None:
        self._request = site.cluster.request
        self._namespace = site.namespace
        self._all = f"/api/v1/namespaces/{site.namespace}/secrets"
        self._path = f"{self._all}/{NAME}"

    def write(self, material: Material) -> None:
        """As cert-manager does."""
        body = secret(self._namespace, data(material))
        if self._request("PUT", self._path, body).status == 404:
            assert self._request("POST", self._all, body).status == 201

    def delete(self) -> None:
        assert self._request("DELETE", self._path).status == 200

    def serial(self) -> int:
        return serial_of(self._request("GET", self._path).body)


def write_files(directory: Path, material: Material) -> tuple[str, ...]:
    """One after the other, as somebody would by hand; the flags that name them."""
    contents = {"server-cert": material.certificate, "server-key": material.key, "ca": material.trust}
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    return ("--webhook-certs=files", *(f"--validating-webhook-{name}={directory / name}" for name in contents))


async def exchanged(site: Site, exchange: Callable[[], Any]) -> Traffic:
    """The traffic of the time before, while and after a certificate is exchanged."""
    async with Traffic(site) as traffic:
        await traffic.answered(100)
        await asyncio.to_thread(exchange)
        await traffic.meets_another()
    assert traffic.failures == []
    return traffic


async def test_files(site: Site, start: Start, tmp_path: Path) -> None:
    old, new = made("old"), made("new")
    one = await start({"h.sh": quick(site)}, *site.flags, *write_files(tmp_path, old))
    await is_asked(site, one)
    traffic = await exchanged(site, lambda: write_files(tmp_path, new))
    assert traffic.serials == [old.serial, new.serial]
    assert one.metric("webhook_certificate_expiry_timestamp_seconds") == new.expires


async def test_the_secret_of_cert_manager(site: Site, start: Start) -> None:
    old, new, secrets = made("old"), made("new"), Secrets(site)
    secrets.write(old)
    one = await start({"h.sh": quick(site)}, *site.flags, f"--webhook-certs=secret:{NAME}")
    await is_asked(site, one)
    traffic = await exchanged(site, lambda: secrets.write(new))
    assert traffic.serials == [old.serial, new.serial]


async def test_our_own(site: Site, start: Start) -> None:
    one, secrets = await start({"h.sh": quick(site)}, *site.flags, f"--webhook-certs=self:{NAME}"), Secrets(site)
    await is_asked(site, one)
    old = secrets.serial()
    traffic = await exchanged(site, secrets.delete)
    assert traffic.serials == [old, secrets.serial()]


async def test_replicas_renew_theirs_together(site: Site, start: Start) -> None:
    """Of a certificate with two thirds of its life behind it. The Secret is written by one of them, and so is the
    registration, or by both at once."""
    secrets, ports = Secrets(site), (free_port(), free_port())
    async with Service(site.port, *ports):
        for port in ports:
            flags = (f"--webhook-certs=self:{NAME}", f"--webhook-port={port}")
            await start({"h.sh": quick(site)}, *site.flags, *flags)
        old = secrets.serial()
        async with Traffic(site) as traffic:
            await traffic.answered(100)
            before = (await traffic.registration())["metadata"]["generation"]
            await asyncio.to_thread(secrets.write, made("due", age=LIFE * 0.7))
            await traffic.meets_another()
            after = (await traffic.registration())["metadata"]["generation"]
    assert traffic.failures == []
    assert traffic.serials == [old, secrets.serial()]
    assert after - before <= 2

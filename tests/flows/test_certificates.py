"""Certificates are replaced under twenty requests a second, at night a hundred, and no request fails.

Each exchange is one of the CA as well, which clients have to trust before they meet it.

Level: control plane.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.certificates.secrets import NAME
from tests.controlplane.processes import free_port
from tests.flows.certificates import LIFE, Secrets, made, write_files
from tests.flows.conftest import Start
from tests.flows.service import Service
from tests.flows.traffic import A_SECOND, Traffic, quick
from tests.flows.webhooks import Site, is_asked, site, start

__all__ = ["site", "start"]


async def exchanged(site: Site, exchange: Callable[[], Any]) -> Traffic:
    """The traffic of the time before, while and after a certificate is exchanged."""
    async with Traffic(site) as traffic:
        await traffic.answered(A_SECOND)
        await asyncio.to_thread(exchange)
        await traffic.meets_another()
    assert traffic.failures == []
    return traffic


async def test_certificates_from_files_are_replaced_without_a_failed_request(
    site: Site, start: Start, tmp_path: Path
) -> None:
    old, new = made("old"), made("new")
    program = await start({"h.sh": quick(site)}, *site.flags, *write_files(tmp_path, old))
    await is_asked(site, program)
    traffic = await exchanged(site, lambda: write_files(tmp_path, new))
    assert traffic.serials == [old.serial, new.serial]
    assert program.metric("webhook_certificate_expiry_timestamp_seconds") == new.expires


async def test_certificates_of_cert_manager_are_replaced_without_a_failed_request(site: Site, start: Start) -> None:
    old, new, secrets = made("old"), made("new"), Secrets(site)
    secrets.write(old)
    program = await start({"h.sh": quick(site)}, *site.flags, f"--webhook-certs=secret:{NAME}")
    await is_asked(site, program)
    traffic = await exchanged(site, lambda: secrets.write(new))
    assert traffic.serials == [old.serial, new.serial]


async def test_self_issued_certificates_are_replaced_without_a_failed_request(site: Site, start: Start) -> None:
    program, secrets = await start({"h.sh": quick(site)}, *site.flags, f"--webhook-certs=self:{NAME}"), Secrets(site)
    await is_asked(site, program)
    old = secrets.serial()
    traffic = await exchanged(site, secrets.delete)
    assert traffic.serials == [old, secrets.serial()]


async def test_one_of_several_replicas_renews_the_certificate(site: Site, start: Start) -> None:
    """Of a certificate with two thirds of its life behind it. The Secret is written by one of them, and so is the
    registration, or by both at once."""
    secrets, ports = Secrets(site), (free_port(), free_port())
    async with Service(site.port, *ports):
        for port in ports:
            flags = (f"--webhook-certs=self:{NAME}", f"--webhook-port={port}")
            await start({"h.sh": quick(site)}, *site.flags, *flags)
        old = secrets.serial()
        async with Traffic(site) as traffic:
            await traffic.answered(A_SECOND)
            before = (await traffic.registration())["metadata"]["generation"]
            await asyncio.to_thread(secrets.write, made("due", age=LIFE * 0.7))
            await traffic.meets_another()
            after = (await traffic.registration())["metadata"]["generation"]
    assert traffic.failures == []
    assert traffic.serials == [old, secrets.serial()]
    assert after - before <= 2

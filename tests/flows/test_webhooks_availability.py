"""What happens to reviews when something is away, missing, forbidden or shutting down. Level: control plane."""

import asyncio
import json
import socket
import ssl
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

import aiohttp
import pytest

from tests.controlplane.cluster import Cluster
from tests.faults.proxy import Proxy
from tests.flows.certificates import made, write_files
from tests.flows.conftest import Start
from tests.flows.operator import Operator
from tests.flows.scripts import HOLD
from tests.flows.waiting import until
from tests.flows.webhooks import Site, answer, is_asked, site, start, validating

__all__ = ["site", "start"]


ALLOW = answer(allowed=True)
HELD = f'if grep -q \'"name":"held\' "$BINDING_CONTEXT_PATH"; then\n{HOLD}fi\n{ALLOW}'
"""Holds what is called `held…`, and allows everything."""

REGISTER = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
    "verbs": ["*"],
}
SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]}
RIGHTS = [
    (REGISTER, "a Role in its namespace must allow to get, list and watch it"),
    (SECRETS, "resources: [validatingwebhookconfigurations], verbs: [create, list, update]"),
]
"""What a user may do, and the message that refuses the rest."""


def registration(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        site.kubectl("get", "validatingwebhookconfiguration", site.name, "-o", "json")[1]
    )
    return found


def holding_hook(site: Site) -> str:
    """The API server is patient with it."""
    return validating(site, HELD, timeoutSeconds=30)


async def created(site: Site, name: str) -> tuple[int, str]:
    return await asyncio.to_thread(site.kubectl, "create", "configmap", name)


async def holding(site: Site, program: Operator, name: str) -> asyncio.Task[tuple[int, str]]:
    """A review that the hook is working on."""
    task = asyncio.create_task(created(site, name))
    await until(lambda: name in json.dumps(program.contexts("h.sh")), f"{name} is reviewed")
    return task


async def test_an_api_server_that_is_away_at_the_start_is_waited_for(site: Site, start: Start, proxy: Proxy) -> None:
    """With certificates of our own, whose Secret cannot be had either."""
    await proxy.refuse()
    program = await start({"h.sh": validating(site, ALLOW)}, *site.flags, kubeconfig=proxy.kubeconfig, ready=False)
    await program.not_ready("admission: no certificate yet: ")
    await program.not_ready("Connection refused")
    await proxy.accept()
    await program.ready()
    await is_asked(site, program)


async def test_a_stop_answers_running_reviews_and_refuses_later_ones(site: Site, start: Start) -> None:
    program = await start({"h.sh": holding_hook(site)}, *site.flags)
    await is_asked(site, program)
    held = [await holding(site, program, f"held-{number}") for number in range(3)]
    program.send(SIGTERM)
    await program.wait_log("stopping")
    # The port is closed a moment after that.
    refusal = "failed calling webhook"
    await until(lambda: refusal in site.refusal("late"), refusal)
    program.tell("go")
    assert [await review for review in held] == [(0, f"configmap/held-{number} created\n") for number in range(3)]
    assert await program.ended() == 0
    assert len(registration(site)["webhooks"]) == 1


async def test_a_review_that_outlasts_the_grace_fails_and_its_hook_is_stopped(site: Site, start: Start) -> None:
    program = await start({"h.sh": holding_hook(site)}, *site.flags, "--shutdown-grace=500ms")
    await is_asked(site, program)
    held = await holding(site, program, "held")
    assert await program.stop() == 1
    code, shown = await held
    assert code == 1
    assert "Hook failed: h.sh" in shown
    await program.alone()


async def test_a_second_signal_waits_for_no_review(site: Site, start: Start) -> None:
    program = await start({"h.sh": holding_hook(site)}, *site.flags, "--shutdown-grace=1h")
    await is_asked(site, program)
    held = await holding(site, program, "held")
    program.send(SIGTERM)
    await program.wait_log("stopping")
    assert await program.stop() == 1
    assert (await held)[0] == 1
    await program.alone()


async def test_a_start_after_a_kill_uses_the_same_certificate(site: Site, start: Start) -> None:
    program = await start({"h.sh": holding_hook(site)}, *site.flags)
    await is_asked(site, program)
    before = registration(site)["webhooks"]
    secret = site.kubectl("get", "secret", "hookrunner-webhook-certs", "-o", "json")[1]
    held = await holding(site, program, "held")
    program.send(SIGKILL)
    assert (await held)[0] == 1
    await program.ended()
    program.tell("go")
    program.start()
    await program.ready()
    assert await created(site, "a") == (0, "configmap/a created\n")
    assert registration(site)["webhooks"] == before
    assert site.kubectl("get", "secret", "hookrunner-webhook-certs", "-o", "json")[1] == secret


async def test_an_occupied_port_refuses_the_start(site: Site, start: Start) -> None:
    with socket.create_server(("127.0.0.1", site.port)):
        program = await start({"h.sh": validating(site, ALLOW)}, *site.flags, ready=False)
        assert await program.ended() == 1
    assert f"port {site.port}: another process listens there" in (program.directory / "errors").read_text()


async def test_missing_certificate_files_are_reported_and_waited_for(site: Site, start: Start, tmp_path: Path) -> None:
    flags = write_files(tmp_path, made("ca"))
    (tmp_path / "ca").unlink()
    program = await start({"h.sh": validating(site, ALLOW)}, *site.flags, *flags, ready=False)
    await program.not_ready(f"{tmp_path / 'ca'} cannot be read: No such file or directory")
    write_files(tmp_path, made("ca"))
    await program.ready()
    await is_asked(site, program)


@pytest.mark.parametrize(("may", "missing"), RIGHTS)
async def test_missing_rights_are_reported(
    site: Site, start: Start, cluster: Cluster, may: dict[str, list[str]], missing: str
) -> None:
    user = cluster.user("few", site.namespace, [may], everywhere=True)
    program = await start({"h.sh": validating(site, ALLOW)}, *site.flags, kubeconfig=user.kubeconfig, ready=False)
    try:
        await program.not_ready(missing)
    finally:
        cluster.kubectl("delete", "clusterrole,clusterrolebinding", f"{site.namespace}-few")


async def test_the_webhook_port_answers_only_reviews_and_probes(site: Site, start: Start, tmp_path: Path) -> None:
    certificate = made("ca")
    program = await start({"h.sh": validating(site, ALLOW)}, *site.flags, *write_files(tmp_path, certificate))
    trust = ssl.create_default_context(cadata=certificate.trust.decode())
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT

    async with aiohttp.ClientSession(f"https://127.0.0.1:{site.port}") as session:

        async def status(path: str, method: str = "GET") -> int:
            async with session.request(method, path, ssl=trust) as reply:
                return reply.status

        for path in ("/", "/metrics", "/metrics/hooks", "/queue/list.json", "/config/list", "/debug/pprof/", "/hooks/"):
            assert (path, await status(path)) == (path, 404)
            assert (path, await status(path, "POST")) == (path, 404)
        assert [await status(path) for path in ("/healthz", "/readyz")] == [200, 200]
        [webhook] = registration(site)["webhooks"]
        assert await status(webhook["clientConfig"]["url"].removeprefix(f"https://127.0.0.1:{site.port}")) == 405
    assert program.get("/hooks/x")[0] == 404

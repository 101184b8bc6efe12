"""Which requests a sandbox answers: with the token, without, with a wrong one; and how it refuses.

Level: control plane."""

import ssl
import urllib.request
from collections.abc import AsyncIterator

import aiohttp
import pytest

from kubesandbox.http.authentication import PUBLIC
from kubesandbox.sandbox import Options, serving
from tests.controlplane.cluster import Cluster
from tests.controlplane.rest import send
from tests.fakes.transports import all_closed
from tests.kubesandbox.conftest import Client

WRONG = {"Authorization": "Bearer wrong"}
REFUSAL: dict[str, object] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
REFUSAL |= {"message": "Unauthorized", "reason": "Unauthorized", "code": 401}
ASKED = {
    "GET /api/v1/secrets": (200, 401, 401),
    "GET /apis": (200, 401, 401),
    "GET /": (200, 401, 401),
    "GET /_sandbox/faults": (200, 401, 401),
    "POST /_sandbox/compact": (200, 401, 401),
    "GET /healthz/ping": (200, 401, 401),
    "GET /nowhere": (404, 401, 401),
    "POST /healthz": (405, 401, 401),
    **dict.fromkeys((f"GET {path}" for path in PUBLIC), (200, 200, 401)),
}
"""The codes with the token, without one and with a wrong one."""


@pytest.fixture
async def guarded() -> AsyncIterator[Client]:
    """A sandbox that asks for the token `right`."""
    async with serving(Options(token="right")) as sandbox, aiohttp.ClientSession() as session:
        yield Client(sandbox, session)
    await all_closed()


async def test_without_the_token_only_health_and_version_are_answered(guarded: Client) -> None:
    got = {}
    for asked in ASKED:
        method, path = asked.split()
        answers = [await guarded.send(method, path, **who) for who in ({"Authorization": "Bearer right"}, {}, WRONG)]
        got[asked] = tuple(answer.status for answer in answers)
        assert all(answer.body == REFUSAL for answer in answers if answer.status == 401)
    assert got == ASKED


async def test_the_token_is_read_from_the_header_as_an_api_server_reads_it(guarded: Client) -> None:
    texts = ("bearer right", " Bearer  right ", "right", "Basic right", "Bearer", "Bearer right wrong")
    codes = [(await guarded.send("GET", "/api", Authorization=text)).status for text in texts]
    assert codes == [200, 200, 401, 401, 401, 401]


async def test_a_refusal_is_yaml_for_a_client_that_asks_for_yaml(guarded: Client) -> None:
    refused = await guarded.send("GET", "/api/v1/pods", Accept="application/yaml")
    assert (refused.status, b"reason: Unauthorized" in refused.body) == (401, True)


def test_a_real_api_server_answers_these_paths_in_the_same_way(cluster: Cluster) -> None:
    """Where the sandbox refuses a client without a token with 401, a real one may say 403, by its settings."""
    trust = ssl.create_default_context(cafile=str(cluster.ca))

    def codes(path: str, headers: dict[str, str]) -> int:
        return send(urllib.request.Request(cluster.url + path, headers=headers), trust, 60).status

    assert {path: (codes(path, {}), codes(path, WRONG)) for path in PUBLIC} == dict.fromkeys(PUBLIC, (200, 401))
    assert send(urllib.request.Request(cluster.url + "/api", headers=WRONG), trust, 60).body == REFUSAL

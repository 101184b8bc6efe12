"""Messages when a cluster refuses our credentials, or cannot be reached: which server, credentials, what to do.

Level: pure."""

import asyncio
import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from hookrunner.errors import ApiError, Unreachable, api_error
from hookrunner.kube import refusals
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.settings import KubeSettings
from tests.controlplane.certs import ServerCertificate, make_server_certificate
from tests.tables import each

SERVER = "https://cluster.example.com:6443"
ORIGIN = "kubeconfig '/home/me/.kube/config', context 'prod'"


def connection(means: str, **more: str) -> Connection:
    return Connection(SERVER, origin=ORIGIN, user="me", means=means, **more)  # type: ignore[arg-type]


def refused(status: int = 401, message: str = "Unauthorized", reason: str = "Unauthorized") -> ApiError:
    return api_error(status, reason, message)


@each(
    ("means", "advice"),
    [
        ("token", "it may have expired"),
        ("exec plugin 'aws'", "log in again"),
        ("auth provider 'oidc'", "log in again"),
        ("client certificate", "CA"),
        ("user name and password", "since Kubernetes 1.19"),
        ("", "it has no credentials"),
    ],
)
def test_refused_credentials_are_named_with_what_to_do(means: str, advice: str) -> None:
    explained = str(refusals.explain_credentials(refused(), connection(means)))
    shown = f" ({means})" if means else ""
    assert explained.startswith(f"{SERVER} does not accept the credentials of {ORIGIN}, user 'me'{shown}: ")
    assert advice in explained
    assert explained.endswith(" (Unauthorized)")


def test_a_token_file_is_named() -> None:
    explained = str(refusals.explain_credentials(refused(), connection("token file", token_file="/run/token")))
    assert "(token file '/run/token')" in explained


def test_advice_in_a_pod_names_its_service_account() -> None:
    pod = Connection(SERVER, origin="service account of this pod", means="token file", token_file="/t", in_pod=True)
    explained = str(refusals.explain_credentials(refused(), pod))
    assert (
        "the credentials of service account of this pod (token file '/t'): was the ServiceAccount deleted" in explained
    )


def test_anonymous_requests_are_explained() -> None:
    message = 'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps"'
    explained = str(refusals.explain_credentials(refused(403, message, "Forbidden"), connection("client certificate")))
    assert explained.startswith(
        f"{SERVER} does not accept the credentials of {ORIGIN}, user 'me' (client certificate): "
    )
    assert explained.endswith(f"({message})")


def test_refusal_without_a_user_says_who_we_are() -> None:
    explained = str(
        refusals.explain_credentials(refused(403, "GET /api: HTTP 403 Forbidden: no", ""), connection("token"))
    )
    assert explained.startswith(
        f"{SERVER} forbids this to {ORIGIN}, user 'me' (token); see `kubectl auth can-i --list`"
    )


@each("message", ['pods "a" is forbidden: exceeded quota', 'User "me" cannot list resource "pods"'])
def test_clear_refusals_stay_unchanged(message: str) -> None:
    error = refused(403, message, "Forbidden")
    assert refusals.explain_credentials(error, connection("token")) is error


def test_a_status_and_its_reason_stay() -> None:
    error = refusals.explain_credentials(refused(), connection("token"))
    assert (type(error), error.status, error.reason) == (type(refused()), 401, "Unauthorized")


def test_unreachable_server_is_named_with_its_origin() -> None:
    assert refusals.describe_unreachable(OSError("no route"), connection("token")) == f"{SERVER}: no route ({ORIGIN})"


async def refusal(shown: ServerCertificate) -> str:
    """Why we trust no server that shows this certificate, although we know its CA."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(shown.certificate, shown.key)
    async with await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        connection = Connection(f"https://127.0.0.1:{port}", ca=shown.certificate.read_text(), origin=ORIGIN)
        async with Client(Credentials(KubeSettings(), connection), Requests(Metrics(""))) as client:
            with pytest.raises(Unreachable) as caught:
                await client.get("/version")
    return str(caught.value).removeprefix(f"{connection.server}: ")


@pytest.mark.looptime
@pytest.mark.parametrize(("days", "why"), [(31, "certificate has expired"), (-1, "certificate is not yet valid")])
async def test_expired_server_certificate_is_reported_with_advice(tmp_path: Path, days: int, why: str) -> None:
    advice = "renew the server's certificate, or correct this machine's clock"
    explained = await refusal(make_server_certificate(tmp_path, "server", timedelta(days=days)))
    assert explained == f"certificate verify failed: {why}: {advice} ({ORIGIN})"

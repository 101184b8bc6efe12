"""What a real API server accepts when it calls a webhook: certificates in the eyes of Go.

The webhook is the standard library's server on the loopback address. It is asked about the ConfigMaps of the test's own
namespace and allows none, so that one sees from when on it is asked.

Level: control plane.
"""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from hookrunner.certificates.issuing import issue
from hookrunner.certificates.material import Material, checked, doubts, overlap
from tests.certificates.made import YEAR, CertificateSpec, authority, certificate, parts, server_context
from tests.controlplane.cluster import Cluster

NOW = time.time()
HERE = CertificateSpec(names=("127.0.0.1",), begin=NOW - 60)
REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


class Denying(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = {"uid": review["request"]["uid"], "allowed": False, "status": {"message": "the webhook was asked"}}
        answer = json.dumps(review | {"response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """No words about requests."""


class Quiet(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that refuses our certificate is what some tests are about."""


@contextmanager
def webhook(material: Material) -> Iterator[int]:
    """Its port."""
    server = Quiet(("127.0.0.1", 0), Denying)
    server.socket = server_context(material).wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def answer(cluster: Cluster, namespace: str, server: Material, trust: bytes) -> str:
    """What the API server says of a webhook that shows this certificate, if it trusts these CAs."""
    with webhook(server) as port:
        cluster.create(REGISTRATIONS, registration(namespace, port, trust))
        try:
            return refusal(cluster, f"/api/v1/namespaces/{namespace}/configmaps?dryRun=All")
        finally:
            cluster.request("DELETE", f"{REGISTRATIONS}/{namespace}")


def refusal(cluster: Cluster, path: str) -> str:
    """Why the webhook refuses an object. Until the API server has heard of it, the object is allowed, or refused
    because an earlier webhook, of whose end it has not heard, does not answer."""
    for _ in range(1000):
        reply = cluster.request("POST", path, {"metadata": {"name": "a"}})
        if reply.status != 201 and "connection refused" not in reply.body["message"]:
            return str(reply.body["message"])
    raise AssertionError("the webhook was never asked")


def registration(namespace: str, port: int, trust: bytes) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {
        "name": f"{namespace}.hookrunner.io",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": base64.b64encode(trust).decode()},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": namespace}, "webhooks": [hook]}


def ours() -> Material:
    return issue(["127.0.0.1"], NOW)


def with_an_intermediate_ca_trusted() -> Material:
    between = authority("between", authority())
    return checked(*parts(certificate("server", between, HERE), trust=between.pem))


def with_a_chain() -> Material:
    root = authority()
    between = authority("between", root)
    return checked(*parts(certificate("server", between, HERE), between, trust=root.pem))


def signed_by_itself() -> Material:
    alone = certificate("server", spec=HERE)
    return checked(*parts(alone, trust=alone.pem))


def trusted_itself() -> Material:
    server = certificate("server", authority(), HERE)
    return checked(*parts(server, trust=server.pem))


@pytest.mark.parametrize(
    "make", [ours, with_a_chain, with_an_intermediate_ca_trusted, signed_by_itself, trusted_itself]
)
def test_certificates_that_we_accept_work(cluster: Cluster, namespace: str, make: Callable[[], Material]) -> None:
    server = make()
    assert "the webhook was asked" in answer(cluster, namespace, server, server.trust)


def test_old_and_new_certificates_are_accepted_while_they_overlap(cluster: Cluster, namespace: str) -> None:
    old, new = ours(), ours()
    both = overlap(old.trust, new.trust, NOW)
    for server in (old, new):
        assert "the webhook was asked" in answer(cluster, namespace, server, both)


def test_old_certificate_is_refused_after_the_overlap(cluster: Cluster, namespace: str) -> None:
    assert "certificate signed by unknown authority" in answer(cluster, namespace, ours(), ours().trust)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (replace(HERE, begin=NOW - YEAR, life=YEAR / 2), "certificate has expired"),
        (replace(HERE, begin=NOW + 3600), "is not yet valid"),
        (replace(HERE, names=()), "doesn't contain any IP SANs"),
        (replace(HERE, usages=(ExtendedKeyUsageOID.CLIENT_AUTH,)), "incompatible key usage"),
    ],
)
def test_certificates_that_we_doubt_are_refused(
    cluster: Cluster, namespace: str, spec: CertificateSpec, problem: str
) -> None:
    issuer = authority()
    server = checked(*parts(certificate("server", issuer, spec), trust=issuer.pem))
    assert doubts(server, NOW)
    assert problem in answer(cluster, namespace, server, server.trust)

"""Where stories keep certificates: in files and in a Secret."""

import time
from pathlib import Path

from hookrunner.certificates.material import Material
from tests.certificates.made import CertificateSpec, authority, material
from tests.certificates.secrets import NAME, data, secret, serial_of
from tests.flows.webhooks import Site

DAY = 86400.0
LIFE = 3 * DAY


def made(name: str, age: float = DAY) -> Material:
    """By a CA of its own."""
    return material(CertificateSpec(("127.0.0.1",), time.time() - age, LIFE), authority(name))


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
    """Write one file after the other, as a person would by hand; return the flags that name them."""
    contents = {"server-cert": material.certificate, "server-key": material.key, "ca": material.trust}
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    return ("--webhook-certs=files", *(f"--validating-webhook-{name}={directory / name}" for name in contents))

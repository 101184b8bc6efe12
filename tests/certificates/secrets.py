"""Secrets as cert-manager and we write them."""

import base64
from collections.abc import Mapping
from typing import Any

from hookrunner.certificates.material import Material

JSON = Any
NAME = "certs"


def data(material: Material, **more: bytes) -> dict[str, str]:
    """Of a Secret. `more` replaces or adds: underscores stand for dots."""
    texts = {"tls_crt": material.certificate, "tls_key": material.key, "ca_crt": material.trust} | more
    return {key.replace("_", "."): base64.b64encode(text).decode() for key, text in texts.items()}


def secret(namespace: str, content: Mapping[str, str], **annotations: str) -> JSON:
    metadata = {"name": NAME, "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": content}


def serial_of(secret: JSON) -> int:
    """Of the certificate in it."""
    return Material(base64.b64decode(secret["data"]["tls.crt"]), b"", b"").serial

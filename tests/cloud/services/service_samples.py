"""Services as the API server has them, and their projections."""

from typing import Any

from hookrunner.cloud.services.cloud_service import CLEANUP_FINALIZER, CloudService, read_service

PORT = {"name": "http", "protocol": "TCP", "port": 80, "targetPort": 8080, "nodePort": 30080}


def service(name: str = "web", kind: str = "LoadBalancer", **parts: Any) -> Any:
    """A Service; `parts` are `finalizers`, `annotations`, `labels`, `uid`, `deletionTimestamp` of its metadata,
    `ingress` of its status, and fields of its spec."""
    ingress = parts.pop("ingress", [])
    keys = ("finalizers", "annotations", "labels", "uid", "deletionTimestamp")
    metadata = {"name": name, "namespace": "default"} | {key: parts.pop(key) for key in keys if key in parts}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"type": kind, "ports": [PORT], "sessionAffinity": "None"} | parts,
        "status": {"loadBalancer": {"ingress": ingress} if ingress else {}},
    }


def kept(name: str = "web", kind: str = "LoadBalancer", **parts: Any) -> Any:
    """A Service with our finalizer."""
    return service(name, kind, finalizers=[CLEANUP_FINALIZER], **parts)


def projected(document: Any, before: CloudService | None = None) -> CloudService:
    """The projection, with a uid if it has none."""
    metadata = {"uid": f"uid-{document['metadata']['name']}"} | document["metadata"]
    return read_service({**document, "metadata": metadata}, before)

"""The schema of a kind, as its API server publishes it (OpenAPI v3), for messages about a refused object.

    schema = await read_schema(client, "x.io/v1", "Widget")     # None: the server has none, or it cannot be read

Every authenticated client may read these documents (ClusterRole `system:discovery`). Nothing is kept: they are read
only after a refusal, and a definition may be corrected meanwhile.

Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3
"""

from contextlib import suppress
from typing import Any

import orjson

from hookrunner.errors import KubeError
from hookrunner.kube.client import ApiCall, Client
from kubetypes.openapi.schemas import REFERENCE, Schema

_LARGEST = 4 << 20
"""Bytes of a document, which are parsed in some 20 ms."""
_PATIENCE = 3.0
"""Seconds for which a message waits for its hint."""


async def read_schema(client: Client, api_version: str, kind: str) -> Schema | None:
    """The kind's schema, with the document's references; None if it cannot be read for any reason, or is too large."""
    root = "apis" if "/" in api_version else "api"
    call = ApiCall("GET", f"/openapi/v3/{root}/{api_version}", timeout=_PATIENCE, largest=_LARGEST)
    with suppress(KubeError, orjson.JSONDecodeError):
        return _schema_of(orjson.loads(await client.send(call)), api_version, kind)
    return None


def _schema_of(document: Any, api_version: str, kind: str) -> Schema | None:
    """The definition with this group, version and kind. An aggregated API server may publish anything."""
    group, _, version = api_version.rpartition("/")
    identity = {"group": group, "version": version, "kind": kind}
    match document:
        case {"components": {"schemas": dict(definitions)}}:
            for name, raw in definitions.items():
                match raw:
                    case {"x-kubernetes-group-version-kind": [*kinds]} if identity in kinds:
                        return Schema({"$ref": REFERENCE + name}, definitions)
    return None

"""The paths that are no resource's: which document is shown at each, in which of its forms."""

from collections.abc import Mapping
from dataclasses import field
from http import HTTPStatus

import orjson

from kubesandbox.http import answers, discovery, openapi
from kubesandbox.kinds import Kinds
from kubesandbox.status import NoPage
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

TEXT = {"Content-Type": "text/plain; charset=utf-8"}
JSON_TYPE = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer that needs no resource."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: JSON_TYPE)
    code: int = HTTPStatus.OK


def at(path: str, query: Mapping[str, str], headers: Mapping[str, str], kinds: Kinds) -> Shown | None:
    """What stands at a path; None if a resource may be there. Raises Refused 404."""
    if (text := discovery.health(path, verbose="verbose" in query)) is not None:
        return Shown(text.encode(), TEXT)
    if path == "/openapi/v2":
        return _openapi_v2(headers)
    if path.startswith("/openapi/v3"):
        return _openapi(path.removeprefix("/openapi/v3").strip("/"), query, headers, kinds)
    if _aggregated(headers) and path in ("/api", "/apis"):
        return _tagged(discovery.aggregated(kinds, legacy=path == "/api"), headers)
    found = _discovery(path, headers.get("Host", ""), kinds)
    if found is not None:
        return Shown(orjson.dumps(found))
    parts = path.removeprefix("/").rstrip("/").split("/")
    if parts[0] not in ("api", "apis") or len(parts) < 3:
        raise NoPage
    return None


def _discovery(path: str, host: str, kinds: Kinds) -> JSON:
    match path.strip("/").split("/"):
        case [""]:
            return discovery.index(kinds)
        case ["version"]:
            return discovery.release()
        case ["api"]:
            return discovery.legacy_versions(host)
        case ["apis"]:
            return discovery.groups(kinds)
        case ["api", version]:
            return discovery.resources(kinds, "", version)
        case ["apis", group]:
            return discovery.group(kinds, group)
        case ["apis", group, version]:
            return discovery.resources(kinds, group, version)
    return None


def _aggregated(headers: Mapping[str, str]) -> bool:
    """Whether the client takes everything at once, and rather than one document after another."""
    wanted = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
    for media in answers.accepted(headers.get("Accept", "")):
        if wanted.items() <= media.parameters.items():
            return True
        if media.type in ("application/json", "*/*") and "as" not in media.parameters:
            return False
    return False


def _tagged(document: JSON, headers: Mapping[str, str]) -> Shown:
    tag = discovery.etag(document)
    told = {"Content-Type": discovery.AGGREGATED, "ETag": tag, "Vary": "Accept"}
    if headers.get("If-None-Match") == tag:
        return Shown(b"", told, HTTPStatus.NOT_MODIFIED)
    return Shown(orjson.dumps(document), told)


def _openapi_v2(headers: Mapping[str, str]) -> Shown:
    if "protobuf" in headers.get("Accept", ""):
        return Shown(openapi.empty_v2(protobuf=True), {"Content-Type": openapi.V2_PROTOBUF})
    return Shown(openapi.empty_v2(protobuf=False))


def _openapi(path: str, query: Mapping[str, str], headers: Mapping[str, str], kinds: Kinds) -> Shown:
    if not path:
        return Shown(orjson.dumps(openapi.index(kinds)))
    document = openapi.document(kinds, path)
    if document is None:
        raise NoPage
    if query.get("hash", document.digest) != document.digest:
        return Shown(b"", {"Location": document.url}, HTTPStatus.MOVED_PERMANENTLY)
    tag = f'"{document.digest}"'
    if headers.get("If-None-Match") == tag:
        return Shown(b"", {"ETag": tag}, HTTPStatus.NOT_MODIFIED)
    cached = "public, immutable" if "hash" in query else "no-cache, private"
    return Shown(document.body(), JSON_TYPE | {"ETag": tag, "Cache-Control": cached})

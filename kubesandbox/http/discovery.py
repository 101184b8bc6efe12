"""What the sandbox says it serves: `/api`, `/apis`, their groups and versions, `/version`, the index and health checks.

Pure functions from the kinds to documents. Subresources and kinds that the sandbox only knows in order to refuse them
are left out. Order, names and hashes are those of a real API server (compared by the tests).

https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator

import orjson

from kubesandbox.kinds import Kind, Kinds, Subresource
from kubesandbox.structural.versions import priority
from kubetypes.json_values import JSON
from kubetypes.openapi import builtin_kinds

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The media type in which clients ask for everything at once: of `aggregated`."""

Document = dict[str, JSON]

CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
CHECKS = ("ping", "log", "etcd")
HEALTH = {"healthz": CHECKS, "livez": CHECKS, "readyz": (*CHECKS, "informer-sync", "shutdown")}


# ── one document for each path ────────────────────────────────────────────────────────────────────────────────────


def legacy_versions(address: str) -> Document:
    """`/api`. `address` is `host:port` of this server."""
    servers: JSON = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": servers}


def groups(kinds: Kinds) -> Document:
    """`/apis`."""
    found: list[JSON] = [_group(name, versions) for name, versions in _versions(kinds).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(kinds: Kinds, name: str) -> Document | None:
    """`/apis/<group>`; None if nothing of it is served."""
    versions = _versions(kinds).get(name) if name else None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None


def resources(kinds: Kinds, group: str, version: str) -> Document | None:
    """`/api/v1`, `/apis/<group>/<version>`; None if nothing of it is served."""
    served = _versions(kinds).get(group, {}).get(version)
    if not served:
        return None
    told: list[JSON] = [one for kind in served for one in _resources(kind)]
    # A real server leaves the apiVersion out for the core group.
    about = {"apiVersion": "v1", "groupVersion": f"{group}/{version}"} if group else {"groupVersion": version}
    return {"kind": "APIResourceList", **about, "resources": told}


def aggregated(kinds: Kinds, *, legacy: bool) -> Document:
    """All of `/api` (`legacy`) or of `/apis` in the media type `AGGREGATED`."""
    items: list[JSON] = [
        {"metadata": {"name": name} if name else {}, "versions": [_version(*one) for one in versions.items()]}
        for name, versions in _versions(kinds).items()
        if legacy != bool(name)
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def etag(document: Document) -> str:
    """The `ETag` of an aggregated document, quotes included; kubectl asks again with `If-None-Match`."""
    return f'"{hashlib.sha512(orjson.dumps(document)).hexdigest().upper()}"'


def release() -> Document:
    """`/version`: the release that the built-in kinds are of."""
    said: Document = builtin_kinds.document()["version"]
    return said


def index(kinds: Kinds) -> Document:
    """`/`: every path that is no resource's."""
    versions = _versions(kinds)
    paths = {"/api", "/api/v1", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"}
    paths |= {f"/apis/{name}" for name in versions if name}
    paths |= {f"/apis/{name}/{version}" for name, several in versions.items() if name for version in several}
    paths |= {f"/{name}" for name in HEALTH} | {f"/{name}/{one}" for name, checks in HEALTH.items() for one in checks}
    return {"paths": [*sorted(paths)]}


def health(path: str, *, verbose: bool = False) -> str | None:
    """The text of `/healthz`, `/livez`, `/readyz`, with `?verbose` each check; None for another path."""
    name, _, check = path.strip("/").partition("/")
    if name not in HEALTH or (check and check not in HEALTH[name]):
        return None
    if check or not verbose:
        return "ok"
    return "".join(f"[+]{one} ok\n" for one in HEALTH[name]) + f"{name} check passed\n"


# ── parts of documents ────────────────────────────────────────────────────────────────────────────────────────────

Versions = dict[str, list[Kind]]


def _versions(kinds: Iterable[Kind]) -> dict[str, Versions]:
    """What is served, by group and version: built-in groups in their order, custom ones by name; best version first."""
    found: dict[str, Versions] = {}
    for kind in sorted(kinds, key=lambda one: (one.custom, one.group if one.custom else "")):
        if kind.served:
            found.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
    return {name: dict(sorted(several.items(), key=lambda one: priority(one[0]))) for name, several in found.items()}


def _group(name: str, versions: Versions) -> Document:
    told: list[JSON] = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def _resources(kind: Kind) -> Iterator[Document]:
    yield {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _verbs(kind),
        **_names(kind),
        **_storage_hash(kind),
    }
    for below in kind.subresources.values():
        if below.served:
            yield {
                "name": f"{kind.plural}/{below.name}",
                "singularName": "",
                "namespaced": kind.namespaced,
                **({"group": below.group, "version": below.version} if _foreign(kind, below) else {}),
                "kind": below.kind,
                "verbs": [*below.verbs],
            }


def _version(version: str, kinds: list[Kind]) -> Document:
    return {"version": version, "resources": [_resource(kind) for kind in kinds], "freshness": "Current"}


def _resource(kind: Kind) -> Document:
    below: list[JSON] = [
        {"subresource": one.name, "responseKind": _response_kind(kind, one), "verbs": [*one.verbs]}
        for one in kind.subresources.values()
        if one.served
    ]
    return {
        "resource": kind.plural,
        "responseKind": _response_kind(kind, kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
        **_names(kind),
        **({"subresources": below} if below else {}),
    }


def _verbs(kind: Kind) -> list[JSON]:
    """A real API server has another order for custom kinds."""
    return [*(sorted(kind.verbs, key=CUSTOM_VERBS.index) if kind.custom else kind.verbs)]


def _names(kind: Kind) -> Document:
    names: Document = {"shortNames": [*kind.short_names], "categories": [*kind.categories]}
    return {key: value for key, value in names.items() if value}


def _response_kind(kind: Kind, of: Kind | Subresource) -> Document:
    """Built-in kinds leave out their own group and version, custom ones do not."""
    told = kind.custom or _foreign(kind, of)
    return {"group": of.group if told else "", "version": of.version if told else "", "kind": of.kind}


def _foreign(kind: Kind, of: Kind | Subresource) -> bool:
    return (of.group, of.version) != (kind.group, kind.version)


def _storage_hash(kind: Kind) -> Document:
    """Tells clients when objects come to be stored in another version; nothing if that one is not served."""
    version = kind.version
    if kind.definition:
        stored = (one["name"] for one in kind.definition["versions"] if one["storage"] and one["served"])
        version = next(stored, "")
    digest = hashlib.sha256(f"{kind.group}/{version}/{kind.kind}".encode()).digest()
    return {"storageVersionHash": base64.b64encode(digest[:8]).decode()} if version else {}

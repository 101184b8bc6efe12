"""Writes what the sandbox knows of built-in kinds: `python -m tests.controlplane.kinds_data` asks a real API server.

`kinds.json.gz` has names, scope, verbs, subresources and table columns, and under `served` the names of all kinds that
the server has, also of those that the sandbox has not; one `<group>_<version>.json.gz` for each group version of the
sandbox is its OpenAPI document, byte for byte; `custom_<scope>.json.gz` is that of a CustomResourceDefinition
(made for it, and deleted), names replaced by `@tokens@`. Wants `KUBECONFIG` from `python -m tests.controlplane`;
writes into `kubetypes/openapi/`, and templates of custom kinds into `kubesandbox/data/`.
"""

import gzip
import json
import os
import re
import secrets
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.controlplane.build import GO_MODULE
from tests.controlplane.kubeconfig import Access, read_kubeconfig
from tests.controlplane.rest import content_type, request

ROOT = Path(__file__).parents[2]
CUSTOM = ROOT / "kubesandbox/data"
BUILTIN = ROOT / "kubetypes/openapi"

# In the order in which the API server lists them. Left out: groups that only work with components the sandbox has not
# (aggregation, reviews of tokens and rights, dynamic resources, flow control), and autoscaling/v1, v2's other shape.
GROUPS = {
    "": "v1",
    "apps": "v1",
    "events.k8s.io": "v1",
    "autoscaling": "v2",
    "batch": "v1",
    "certificates.k8s.io": "v1",
    "networking.k8s.io": "v1",
    "policy": "v1",
    "rbac.authorization.k8s.io": "v1",
    "storage.k8s.io": "v1",
    "admissionregistration.k8s.io": "v1",
    "apiextensions.k8s.io": "v1",
    "scheduling.k8s.io": "v1",
    "coordination.k8s.io": "v1",
    "node.k8s.io": "v1",
    "discovery.k8s.io": "v1",
}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;g=meta.k8s.io;v=v1;as=Table"


def generate(access: Access) -> dict[str, bytes]:
    """Ask the server; return the content of each file by name, before compression."""
    urls = json.loads(fetch(access, "/openapi/v3"))["paths"]
    found = {item["metadata"].get("name", ""): item for item in discovered(access)}
    files: dict[str, bytes] = {}
    groups = []
    for group, version in GROUPS.items():
        url = urls[path(group, version)]["serverRelativeURL"]
        files[f"{group or 'core'}_{version}.json"] = document = fetch(access, url)
        names = definition_names(json.loads(document))
        resources = [one for has in found[group]["versions"] if has["version"] == version for one in has["resources"]]
        kinds = [resource(access, group, version, one, names) for one in resources]
        groups.append({"group": group, "version": version, "openapi": url.partition("hash=")[2], "kinds": kinds})
    data = {"version": release(access), "served": served(found, built_in(access)), "groups": groups}
    templates = {f"custom_{scope.lower()}.json": template(access, scope) for scope in ("Namespaced", "Cluster")}
    return {"kinds.json": json.dumps(data, indent=1).encode() + b"\n", **files, **templates}


def served(found: dict[str, dict[str, Any]], versions: set[tuple[str, str]]) -> dict[str, list[str]]:
    """The kinds of each of these group versions."""
    return {
        f"{group}/{one['version']}".removeprefix("/"): sorted(has["responseKind"]["kind"] for has in one["resources"])
        for group, item in found.items()
        for one in item["versions"]
        if (group, one["version"]) in versions
    }


def built_in(access: Access) -> set[tuple[str, str]]:
    """The group versions that the server has from its start: custom ones, of other tests perhaps, come and go."""
    selector = "labelSelector=kube-aggregator.kubernetes.io%2Fautomanaged%3Donstart"
    services = json.loads(fetch(access, f"/apis/apiregistration.k8s.io/v1/apiservices?{selector}"))["items"]
    own = ("apiregistration.k8s.io", "v1")  # the aggregator's, which has no APIService
    return {own} | {(one["spec"].get("group", ""), one["spec"]["version"]) for one in services}


def resource(
    access: Access, group: str, version: str, found: dict[str, Any], names: dict[tuple[str, str, str], str]
) -> dict[str, Any]:
    """One kind as it stands in `kinds.json.gz`."""

    def made(of: dict[str, Any]) -> dict[str, Any]:
        kind = of["responseKind"]
        gvk = (kind["group"] or group, kind["version"] or version, kind["kind"])
        keys = dict(zip(("group", "version", "kind"), gvk, strict=True))
        return {**keys, "schema": names.get(gvk, ""), "verbs": of["verbs"]}

    subresources = {one["subresource"]: made(one) for one in found.get("subresources", ())}
    about = made(found)
    return {
        "plural": found["resource"],
        "kind": about["kind"],
        "namespaced": found["scope"] == "Namespaced",
        "singular": found["singularResource"],
        "shortNames": found.get("shortNames", []),
        "categories": found.get("categories", []),
        "verbs": about["verbs"],
        "schema": about["schema"],
        "subresources": subresources,
        "columns": columns(access, group, version, found) if "list" in about["verbs"] else [],
    }


def columns(access: Access, group: str, version: str, found: dict[str, Any]) -> list[dict[str, Any]]:
    """The columns of the kind's table, asked with a selector that nothing fits."""
    query = "includeObject=None&labelSelector=hookrunner.io%2Fnothing%3Dhas-this"
    table = json.loads(fetch(access, f"/{path(group, version)}/{found['resource']}?{query}", TABLE))
    defined: list[dict[str, Any]] = table["columnDefinitions"]
    return defined


def definition_names(document: dict[str, Any]) -> dict[tuple[str, str, str], str]:
    """The schema's name of each group, version and kind in an OpenAPI document."""
    return {
        (one["group"], one["version"], one["kind"]): name
        for name, schema in document["components"]["schemas"].items()
        for one in schema.get("x-kubernetes-group-version-kind", ())
    }


def template(access: Access, scope: str) -> bytes:
    """The OpenAPI document that a definition gets, its names replaced by tokens (longer ones first)."""
    name = f"q{secrets.token_hex(4)}"
    group, version = f"{name}.example.com", "v987"
    made = definition(group, version, scope)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    request(access, "POST", path, made)
    try:
        text = published(access, f"/openapi/v3/apis/{group}/{version}").decode()
    finally:
        request(access, "DELETE", f"{path}/{made['metadata']['name']}")
    tokens = {
        group: "@group@",
        f"com.example.{name}": "@reversed@",
        f"{name}ExampleCom_{version}": "@tag@",
        f"{name.capitalize()}ExampleComV987": "@operation@",
        version: "@version@",
        "qplurals": "@plural@",
        "Qkinds": "@list@",
        " a Qkind": "@article@@kind@",
        "Qkind": "@kind@",
    }
    for found, token in tokens.items():
        assert found in text, f"{found} is not in the document of a custom kind"
        text = text.replace(found, token)
    return text.encode()


def definition(group: str, version: str, scope: str) -> dict[str, Any]:
    """A CustomResourceDefinition with both subresources and an embedded object."""
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"embedded": embedded}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    offered = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "qplurals", "singular": "qkind", "kind": "Qkind", "listKind": "Qkinds"}
    versions = [{**offered, "subresources": {"status": {}, "scale": scale}}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"qplurals.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": versions},
    }


def published(access: Access, where: str) -> bytes:
    """A custom kind's document; the API server takes some seconds to publish it."""
    for _ in range(300):
        try:
            document = fetch(access, where)
        except urllib.error.HTTPError as refused:
            refused.close()
        else:
            if b"/scale" in document:
                return document
        time.sleep(0.1)
    raise TimeoutError(f"{where} was not published within 30 s")


def discovered(access: Access) -> list[dict[str, Any]]:
    """Every group of both roots, as the aggregated discovery has them."""
    roots = [json.loads(fetch(access, root, AGGREGATED)) for root in ("/api", "/apis")]
    return [item for root in roots for item in root["items"]]


def release(access: Access) -> dict[str, str]:
    """`/version` without fields of one machine or build. The test bed's build has none: the Go module's is used."""
    said: dict[str, str] = json.loads(fetch(access, "/version"))
    module = re.search(r"k8s\.io/kubernetes (v\S+)", (GO_MODULE / "go.mod").read_text())
    assert module, "go.mod names no k8s.io/kubernetes"
    unnamed = {"gitCommit": "", "gitTreeState": "", "goVersion": "", "compiler": "", "platform": ""}
    return {**said, "gitVersion": module[1], **unnamed}


def path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def fetch(
    access: Access, where: str, accept: str = "application/json", *, method: str = "GET", body: bytes | None = None
) -> bytes:
    """The body of an answer, as it came. Raises `HTTPError` if it is a refusal."""
    headers = {"Authorization": f"Bearer {access.token}", "Accept": accept, "Content-Type": content_type(method)}
    asked = urllib.request.Request(access.url + where, body, headers, method=method)
    with urllib.request.urlopen(asked, context=ssl.create_default_context(cafile=str(access.ca))) as response:
        answer: bytes = response.read()
        return answer


def write(files: dict[str, bytes]) -> None:
    """Write the files compressed, the same bytes each time."""
    for name, content in files.items():
        folder = CUSTOM if name.startswith("custom_") else BUILTIN
        (folder / f"{name}.gz").write_bytes(gzip.compress(content, compresslevel=9, mtime=0))


if __name__ == "__main__":
    write(generate(read_kubeconfig(Path(os.environ["KUBECONFIG"]))))

"""Writes what the sandbox knows of built-in kinds: `python -m tests.controlplane.kinds_data` asks a real API server.

`kinds.json` has names, scope, verbs, subresources and table columns; one `<group>_<version>.json.gz` for each served
group version is its OpenAPI document, byte for byte. Wants `KUBECONFIG` from `python -m tests.controlplane`; writes
into `hookrunner/sandbox/data/`.
"""

import gzip
import json
import os
import re
import ssl
import urllib.request
from pathlib import Path
from typing import Any

from tests.controlplane.build import GO_MODULE
from tests.controlplane.kubeconfig import Access, read_kubeconfig

DATA = Path(__file__).parents[2] / "hookrunner/sandbox/data"

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
    data = {"version": release(access), "groups": groups}
    return {"kinds.json": json.dumps(data, indent=1).encode() + b"\n", **files}


def resource(
    access: Access, group: str, version: str, found: dict[str, Any], names: dict[tuple[str, str, str], str]
) -> dict[str, Any]:
    """One kind as it stands in `kinds.json`."""

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


def discovered(access: Access) -> list[dict[str, Any]]:
    """Every group of both roots, as the aggregated discovery has them."""
    roots = [json.loads(fetch(access, root, AGGREGATED)) for root in ("/api", "/apis")]
    return [item for root in roots for item in root["items"]]


def release(access: Access) -> dict[str, str]:
    """`/version`, without what is of one machine or build; the test bed's own is unnamed, so the module's is told."""
    said: dict[str, str] = json.loads(fetch(access, "/version"))
    module = re.search(r"k8s\.io/kubernetes (v\S+)", (GO_MODULE / "go.mod").read_text())
    assert module, "go.mod names no k8s.io/kubernetes"
    unnamed = {"gitCommit": "", "gitTreeState": "", "goVersion": "", "compiler": "", "platform": ""}
    return {**said, "gitVersion": module[1], **unnamed}


def path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def fetch(access: Access, where: str, accept: str = "application/json") -> bytes:
    """The body of an answer, as it came."""
    headers = {"Authorization": f"Bearer {access.token}", "Accept": accept}
    asked = urllib.request.Request(access.url + where, headers=headers)
    with urllib.request.urlopen(asked, context=ssl.create_default_context(cafile=str(access.ca))) as response:
        body: bytes = response.read()
        return body


def write(files: dict[str, bytes], into: Path) -> None:
    """Write the files; OpenAPI documents compressed, the same bytes each time."""
    for name, content in files.items():
        if name == "kinds.json":
            (into / name).write_bytes(content)
        else:
            (into / f"{name}.gz").write_bytes(gzip.compress(content, compresslevel=9, mtime=0))


if __name__ == "__main__":
    write(generate(read_kubeconfig(Path(os.environ["KUBECONFIG"]))), DATA)

"""Stored objects, changed: what an update keeps, counts and refuses, against a real API server."""

import secrets
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesandbox.status import Refused
from tests.controlplane.cluster import Cluster
from tests.kubesandbox.builtin.changed import changed
from tests.kubesandbox.builtin.ours import Object, comparable, kind_of, path, updated

GROUPS = yaml.load((Path(__file__).parent / "updates.yaml").read_text(), yaml.CSafeLoader)
OWN = f"own-{secrets.token_hex(4)}"


def cases() -> list[Any]:
    """Every change, called by what it does."""
    return [
        pytest.param(group["of"], case, id=f"{group['of']['kind']}-{case}"[:80])
        for group in GROUPS
        for case in group["cases"]
    ]


def at(obj: Object) -> str:
    """Where the object is, with a name that is this run's own if it is in no namespace."""
    kind = kind_of(obj)
    return path(kind, OWN, obj["metadata"]["name"] if kind.namespaced else OWN)


@pytest.fixture(scope="session", autouse=True)
def stored(cluster: Cluster) -> Iterator[None]:
    """All objects, stored; gone at the end of the session, for a worker that takes cases from another comes back to
    this file, and a namespace is not gone at once."""
    cluster.create("/api/v1/namespaces", {"metadata": {"name": OWN}})
    objects = [group["of"] for group in GROUPS]
    for obj in objects:
        kind = kind_of(obj)
        name = obj["metadata"]["name"] if kind.namespaced else OWN
        if kind.kind != "Namespace":
            cluster.create(path(kind, OWN), {**obj, "metadata": {**obj["metadata"], "name": name}})
    yield
    for obj in objects:
        if not kind_of(obj).namespaced:
            cluster.request("DELETE", at(obj))
    cluster.request("DELETE", f"/api/v1/namespaces/{OWN}")


def mine(obj: Object, old: Object, subresource: str) -> tuple[int, Object]:
    """Code and answer of the rules."""
    try:
        return HTTPStatus.OK, updated(obj, old, subresource)
    except Refused as refused:
        return refused.code, refused.json()


@pytest.mark.parametrize(("obj", "case"), cases())
def test_an_update_comes_out_as_on_a_real_server(cluster: Cluster, obj: Object, case: Object) -> None:
    where, subresource = at(obj), case.get("sub", "")
    for _ in range(5):  # a controller may have been faster
        old = cluster.request("GET", where).body
        new = changed(old, case)
        reply = cluster.request("PUT", f"{where}{subresource and '/' + subresource}?dryRun=All", new)
        if reply.status != HTTPStatus.CONFLICT or "uid" in str(case):
            break
    assert comparable(mine(new, old, subresource)) == comparable((reply.status, reply.body)), reply.body.get("message")

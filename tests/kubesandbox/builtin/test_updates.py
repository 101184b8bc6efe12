"""Stored objects, changed: what an update keeps, counts and refuses, against a real API server.

Level: control plane."""

from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesandbox.status import Refused
from tests.kubesandbox.builtin.changed import changed
from tests.kubesandbox.builtin.ours import Object, comparable, kind_of, path, updated
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

GROUPS = yaml.load((Path(__file__).parent / "updates.yaml").read_text(), yaml.CSafeLoader)
Place = Callable[[Object], str]


def cases() -> list[Any]:
    """Every change, called by what it does."""
    return [
        pytest.param(group["of"], case, id=f"{group['of']['kind']}-{case}"[:80])
        for group in GROUPS
        for case in group["cases"]
    ]


@pytest.fixture(scope="module")
def stored(oracle: Oracle) -> Iterator[Place]:
    """All objects, stored until the end; where each of them is. One that is in no namespace has a name of its own."""
    own = oracle.unique("updates")

    def at(obj: Object) -> str:
        kind = kind_of(obj)
        return path(kind, oracle.namespace, obj["metadata"]["name"] if kind.namespaced else own)

    objects = [group["of"] for group in GROUPS]
    for obj in objects:
        where, name = at(obj).rsplit("/", 1)
        oracle.made(where, {**obj, "metadata": {**obj["metadata"], "name": name}})
    yield at
    for obj in objects:
        if not kind_of(obj).namespaced:
            oracle.remove(at(obj))


def mine(obj: Object, old: Object, subresource: str) -> tuple[int, Object]:
    """Code and answer of the rules."""
    try:
        return HTTPStatus.OK, updated(obj, old, subresource)
    except Refused as refused:
        return refused.code, refused.json()


@each(("obj", "case"), cases)
def test_an_update_comes_out_as_on_a_real_server(oracle: Oracle, stored: Place, obj: Object, case: Object) -> None:
    where, subresource = stored(obj), case.get("sub", "")
    for _ in range(5):  # a controller may have been faster
        old = oracle.ask("GET", where, known_as=case)[1]
        new = changed(old, case)
        code, body = oracle.put(f"{where}{subresource and '/' + subresource}", new, dry=True, known_as=case)
        if code != HTTPStatus.CONFLICT or "uid" in str(case):
            break
    assert comparable(mine(new, old, subresource)) == comparable((code, body)), body.get("message")

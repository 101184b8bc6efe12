"""Every field of every least and rich object, dropped or set to something else: the same answer as of a real server.

Not compared: what needs CEL or other objects, and what the sandbox allows on purpose (privileged containers).

Level: control plane.
"""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from tests.kubesandbox.builtin.ours import Object, comparable, mine, theirs
from tests.kubesandbox.builtin.test_create import called, objects
from tests.kubesandbox.oracle import Oracle
from tests.tables import each

ELSEWHERE = ("CustomResourceDefinition", "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")
NEEDS_MORE = ("priorityClassName", "preemptionPolicy", "privileged", "expression", "reclaimPolicy", "nodePort")
DROPPED = object()


def instead(value: Any) -> list[Any]:
    """What is tried in a value's place."""
    if isinstance(value, str):
        return [DROPPED, "", "A_b c"]
    if isinstance(value, int) and not isinstance(value, bool):
        return [DROPPED, -1, 2**31 - 1]
    return [DROPPED, {} if isinstance(value, dict) else [] if isinstance(value, list) else not value]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place in an object that a change can be made at, and what is there; not its type, name and status."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        here = (*path, key)
        if here[0] not in ("apiVersion", "kind", "status") and here[-1] not in NEEDS_MORE:
            if here not in (("metadata",), ("metadata", "name"), ("metadata", "namespace")):
                yield here, item
            yield from places(item, here)


def variants(obj: Object) -> Iterator[tuple[str, Object]]:
    """The object with one change each, and what the change is."""
    text = orjson.dumps(obj)
    for path, value in places(obj):
        for other in instead(value):
            made = orjson.loads(text)
            holder: Any = made
            for key in path[:-1]:
                holder = holder[key]
            if other is DROPPED:
                del holder[path[-1]]
            else:
                holder[path[-1]] = other
            yield f"{'.'.join(map(str, path))}: {'dropped' if other is DROPPED else other!r}", made


@pytest.mark.slow
@each(
    "obj",
    lambda: [one for one in objects("minimal.yaml") + objects("rich.yaml") if one["kind"] not in ELSEWHERE],
    ids=called,
)
def test_each_field_changed_has_the_answer_of_a_real_server(oracle: Oracle, obj: Object) -> None:
    different = [change for change, made in variants(obj) if comparable(mine(made)) != comparable(theirs(oracle, made))]
    assert different == []

"""A real hookrunner that is killed at each of its writes to a real control plane, and what is installed in the end."""

import asyncio
import hashlib
import itertools
import json
from collections.abc import Awaitable, Callable
from signal import SIGKILL
from typing import Any

from tests.flows.addons.cluster_world import MARKED, ClusterWorld
from tests.flows.modules.world import is_write
from tests.flows.waiting import until_is

DIFFERENT = (
    *("uid", "resourceVersion", "creationTimestamp", "managedFields", "status", "caBundle"),
    *("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"),
)
"""Fields that are others each time: the API server gives them, or they are made from a certificate."""


async def installed(there: ClusterWorld) -> dict[str, str]:
    """What is in the cluster by addons: a digest of each object; of a Secret the names of its data only."""
    words = ("get", ",".join(MARKED), "-A", "-l", "hookrunner.io/addon", "-o", "json")
    items = json.loads(await there.kubectl(*words))["items"]
    found = {}
    for obj in items:
        metadata = obj["metadata"]
        if metadata.get("labels", {}).get("owner") != "helm":
            place = "/".join((obj["kind"], metadata.get("namespace", ""), metadata["name"]))
            text = json.dumps(_without(obj), sort_keys=True)
            found[place] = f"{metadata.get('generation', '')} {hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return found


def _without(value: Any) -> Any:
    """Without fields that differ each time."""
    if isinstance(value, dict):
        kept = {key: _without(item) for key, item in value.items() if key not in DIFFERENT}
        return kept | ({"data": sorted(kept.get("data") or {})} if kept.get("kind") == "Secret" else {})
    return [_without(item) for item in value] if isinstance(value, list) else value


async def die_at_each_write(there: ClusterWorld, is_reached: Callable[[], Awaitable[bool]]) -> int:
    """Start hookrunner until this is reached and all is quiet. The first process is killed at its first write, the next
    one at its second, and so on: whoever takes up an attempt writes its record first. Every other write at which one
    dies arrives, but is not answered. The last process runs on; the number of deaths."""
    operator = there.world.operator
    for deaths in itertools.count():
        death = there.proxy.kill(
            lambda: operator.send(SIGKILL),
            deaths + 1,
            lambda request: is_write(request.line),
            forwarded=bool(deaths % 2),
        )
        await there.world.start(ready=False)

        async def is_over() -> bool:
            return death.left < 0 or (await is_reached() and await is_quiet(there))  # noqa: B023

        await until_is(is_over, True, f"the end after {deaths} deaths")
        if death.spare():
            return deaths
        await operator.ended()
    raise AssertionError("never")


async def is_quiet(there: ClusterWorld, seconds: float = 2) -> bool:
    """Is nothing written for so long?"""
    count = len(writes(there))
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.1)
        if len(writes(there)) > count:
            return False
    return True


def writes(there: ClusterWorld) -> list[str]:
    """All writes so far, other than `World.writes` without a memory."""
    return [line.partition("?")[0] for line in there.world.requests() if is_write(line)]

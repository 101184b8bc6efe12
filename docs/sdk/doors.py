#!/usr/bin/env python3
from dataclasses import dataclass
from typing import Any

from hookrunner.sdk import After, Cluster, Hook

hook = Hook(timeout="30s")


@dataclass
class Door:
    metadata: dict[str, Any]
    spec: dict[str, Any]

    @property
    def is_open(self) -> bool:
        return bool(self.spec.get("open"))


@hook.reconcile("example.com/v1/Door", concurrency=20)
async def close(door: Door | None, cluster: Cluster) -> After | None:
    if door and door.is_open:
        where = {"apiVersion": "example.com/v1", "kind": "Door", "metadata": door.metadata}
        cluster.merge(where, {"spec": {"open": False}})
        return After(minutes=10)
    return None


hook.run()

"""The end of a Pod's grace: without a kubelet nothing reports that its containers have stopped, and it would never go.

So it is removed at its `metadata.deletionTimestamp`; `--simulate` plays the kubelet, which ends it sooner. A real
API server waits indefinitely. https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
"""

import asyncio
from contextlib import suppress
from datetime import datetime

from kubesandbox.query.requests import DeleteParameters, Place
from kubesandbox.status import Refused
from kubesandbox.store import Key, StoreChange, Stored
from kubesandbox.verbs.api import Api

PODS = "pods"


class GracePeriods:
    """Removes Pods whose grace period is over."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._ending: dict[Key, asyncio.TimerHandle] = {}

    def sweep(self) -> None:
        """What a restart has left."""
        for stored in self._api.store.select(PODS):
            self._wait(stored)

    def happened(self, change: StoreChange) -> None:
        """React to one change."""
        if change.key.resource == PODS:
            if (waiting := self._ending.pop(change.key, None)) is not None:
                waiting.cancel()
            if change.after is not None:
                self._wait(change.after)

    def close(self) -> None:
        """Cancel all timers."""
        for waiting in self._ending.values():
            waiting.cancel()

    def _wait(self, stored: Stored) -> None:
        meta = stored.json()["metadata"] if b'"deletionGracePeriodSeconds"' in stored.body else {}
        if meta.get("deletionGracePeriodSeconds"):
            left = datetime.fromisoformat(meta["deletionTimestamp"]) - self._api.now()
            later = asyncio.get_running_loop().call_later
            self._ending[stored.key] = later(left.total_seconds(), self._end, stored.key, meta["uid"])

    def _end(self, key: Key, uid: str) -> None:
        kind = self._api.kinds.of_stored(PODS)
        assert kind is not None
        where = Place(kind.group, kind.version, kind.plural, key.namespace, key.name)
        with suppress(Refused):  # it is gone, or is another one
            self._api.delete(kind, where, DeleteParameters(grace=0, uid=uid))

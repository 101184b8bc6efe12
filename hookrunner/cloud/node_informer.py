"""The Nodes of the cluster as projections, kept by one watch for all loops of the cloud.

    informer = NodeInformer(watches)
    await informer.follow()                       # as a task, until cancelled
    with informer.subscribe() as changes:         # begins with every Node that is known
        while True:
            for change in await changes.next_batch(): ...

    node = informer.get("worker-1")
    informer.is_current                           # False: nothing may be decided on what is kept

Only what the loops look at counts as a change, so the heartbeats of kubelets wake no loop.
"""

from collections.abc import Iterable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass

from hookrunner.cloud.cloud_node import CloudNode, read_node
from hookrunner.engine.run_gate import Notifier
from hookrunner.kube.informer import Added, Deleted, Fact, Informer, Modified, Opener
from hookrunner.model.events import Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import ObjectKey, Resource, Selection

NODES = Resource("v1", "Node", "nodes", False)
"""How requests about Nodes are made."""


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A Node is new (`before` is None), is gone (`after` is None), or something of it has changed that matters. One
    that was made anew under its name has another uid afterwards."""

    before: CloudNode | None
    after: CloudNode | None

    @property
    def name(self) -> str:
        """The Node's name."""
        node = self.after or self.before
        return node.name if node else ""

    @property
    def is_new(self) -> bool:
        """Does the Node exist now, and did it not before, or was it another one?"""
        return self.after is not None and (self.before is None or self.before.uid != self.after.uid)


class NodeSubscription:
    """The changes that one loop has not read; for one reader. Several changes of one Node are one."""

    def __init__(self, known: Iterable[CloudNode], is_listed: bool) -> None:
        self._waiting = {node.name: NodeChange(None, node) for node in known}
        self._is_listed = is_listed
        self._arrived = Notifier()

    def put(self, change: NodeChange) -> None:
        """Add a change."""
        earlier = self._waiting.get(change.name)
        self._waiting[change.name] = NodeChange(earlier.before, change.after) if earlier else change
        self._arrived.notify()

    def note_list(self) -> None:
        """The first list is complete: what comes out from now on was decided on all Nodes."""
        self._is_listed = True
        self._arrived.notify()

    async def next_batch(self) -> list[NodeChange]:
        """The changes since the last call, as soon as there is one, and not before the first list is complete."""
        while not (self._waiting and self._is_listed):
            await self._arrived.next()
        changes = [change for change in self._waiting.values() if change.before or change.after]
        self._waiting.clear()
        return changes


class NodeInformer:
    """All Nodes. `obstacle` is why the watch reports nothing at the moment, empty if it does."""

    def __init__(self, watches: Opener) -> None:
        self.is_listed = False
        self.obstacle = "the Nodes have not been listed"
        self._watches = watches
        self._nodes: dict[ObjectKey, CloudNode] = {}
        self._informer = Informer(self._nodes)
        self._subscriptions: list[NodeSubscription] = []

    def __iter__(self) -> Iterator[CloudNode]:
        return iter(tuple(self._nodes.values()))

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def is_current(self) -> bool:
        """Were all Nodes listed, and does the watch report their changes?"""
        return self.is_listed and not self.obstacle and not self._informer.is_relisting

    def get(self, name: str) -> CloudNode | None:
        """The latest state of a Node, None if it is not known."""
        return self._nodes.get(ObjectKey("", NODES.kind, name))

    @contextmanager
    def subscribe(self) -> Iterator[NodeSubscription]:
        """The changes from now on; those before are one for each Node that is known."""
        subscription = NodeSubscription(self, self.is_listed)
        self._subscriptions.append(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.remove(subscription)

    async def follow(self) -> None:
        """Keep the Nodes until cancelled."""
        async with aclosing(self._watches.open(Selection(NODES.api_version, NODES.kind))) as batches:
            async for reports in batches:
                self._read(reports)
                del reports  # complete Nodes, of up to 15 KB each

    def _read(self, reports: Iterable[Report]) -> None:
        for fact in self._informer.facts(reports):
            if (change := self._take_in(fact)) and change.before != change.after:
                for subscription in self._subscriptions:
                    subscription.put(change)

    def _take_in(self, fact: Fact) -> NodeChange | None:
        match fact:
            case Added(seen) | Modified(seen):
                before, after = self._nodes.get(seen.key), read_node(seen.obj)
                self._nodes[seen.key] = after
                return NodeChange(before, after)
            case Deleted(key):
                return NodeChange(self._nodes.pop(key, None), None)
            case Synced():
                self._end_list()
            case WatchLost(reason=reason):
                self.obstacle = reason
            case WatchRestored():
                self.obstacle = "" if self.is_listed else self.obstacle
        return None

    def _end_list(self) -> None:
        self.obstacle = ""
        if not self.is_listed:
            self.is_listed = True
            for subscription in self._subscriptions:
                subscription.note_list()

"""How long Nodes exist, also while the wall clock is set: a jump makes no Node old enough to be deleted, and keeps none
for hours.

    ages = NodeAges(loop.time(), time.time())
    seconds = ages.of(nodes, loop.time(), time.time())[node.uid]    # in each pass
"""

from collections.abc import Iterable, Mapping

from hookrunner.cloud.nodes.cloud_node import CloudNode


class NodeAges:
    """Remembers since when it knows each Node. `now` are seconds of the event loop's clock, which is never set,
    `epoch_seconds` the wall clock's at the same moment."""

    def __init__(self, now: float, epoch_seconds: float) -> None:
        self._offset = epoch_seconds - now
        self._since: dict[str, float] = {}

    def of(self, nodes: Iterable[CloudNode], now: float, epoch_seconds: float) -> Mapping[str, float]:
        """Seconds by uid; Nodes that are not given are forgotten.

        The smaller one counts of the age by the wall clock and that by the clock which it was at the beginning: one of
        them may be ahead. It is at least the time for which the Node is known: both may be behind.
        """
        created = {node.uid: node.created_at for node in nodes}
        self._since = {uid: self._since.get(uid, now) for uid in created}
        wall = min(epoch_seconds, self._offset + now)
        return {uid: max(now - since, wall - created[uid]) for uid, since in self._since.items()}

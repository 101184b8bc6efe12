"""The names of addons whose components may have changed: the work queue of `addon_controller.py`."""

from collections.abc import Iterable

from hookrunner.controllers.work_queue import WorkQueue
from hookrunner.waits import Pauses

BATCH = 1.0
"""Seconds in which changes of an addon's components are gathered: so many may come in a rollout, and each write has all
its references."""


class AddonQueue(WorkQueue[str]):
    """Names of addons."""

    def __init__(self) -> None:
        super().__init__("discovery", Pauses(1.0, 60.0))

    def note(self, names: Iterable[str]) -> None:
        """Something of these addons may have changed."""
        for name in names:
            self.add_after(name, BATCH)

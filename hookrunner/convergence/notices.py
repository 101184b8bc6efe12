"""What users should hear about modules and their configuration; `events.py` writes it as Kubernetes Events. To publish
never waits and never fails."""

from collections import deque
from dataclasses import dataclass

from hookrunner.engine.run_gate import Notifier

_MOST = 1000
"""Notices that are kept while no Event can be written; then the oldest are dropped."""


@dataclass(frozen=True, slots=True)
class Notice:
    """`subject` is a module, a release or a section of the configuration; `reason` one word in CamelCase, `message` for
    a person; `bad` means that a person should look at it."""

    subject: str
    reason: str
    message: str
    bad: bool = True


class Notices:
    """Notices in the order in which they were published; for one reader."""

    def __init__(self) -> None:
        self._notices: deque[Notice] = deque(maxlen=_MOST)
        self._published = Notifier()

    def publish(self, notice: Notice) -> None:
        """Add a notice."""
        self._notices.append(notice)
        self._published.notify()

    async def next_batch(self) -> list[Notice]:
        """All that were not read yet, as soon as there is one."""
        while not self._notices:
            await self._published.next()
        notices = list(self._notices)
        self._notices.clear()
        return notices

"""What happens to modules and to their configuration that people should hear of: told here by whoever knows, and turned
into Events by `events`. Telling never waits and never fails."""

from collections import deque
from dataclasses import dataclass

from hookrunner.engine.progress import Progress

_MOST = 1000
"""Items that wait while nobody can be told; then the oldest go."""


@dataclass(frozen=True, slots=True)
class Item:
    """`subject` is a module, a release or a section of the configuration; `reason` one word in CamelCase, `message` for
    a person; `bad` says that somebody should look."""

    subject: str
    reason: str
    message: str
    bad: bool = True


class News:
    """Items in the order in which they were told; for one reader."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque(maxlen=_MOST)
        self._told = Progress()

    def tell(self, item: Item) -> None:
        """Something has happened."""
        self._items.append(item)
        self._told.happened()

    async def some(self) -> list[Item]:
        """All that has not been read yet, as soon as there is any."""
        while not self._items:
            await self._told.next()
        items = list(self._items)
        self._items.clear()
        return items

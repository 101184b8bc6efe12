"""What can be told of how a hook reads its contexts, whatever the language. Found by `shell.py` and `python.py`.

Both err on one side: what they cannot follow is "not found", so that a hook which is right is never told otherwise.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """Offsets are None where nothing of the kind is found.

    `first_only`: where element 0 of the array is taken, if no other ever is. `change`: a read of what only an Event
    has, of `watchEvent` if that is ever read, and `name` of that key. `aware`: something in it knows that there is a
    Synchronization. `guarded`: it copes with keys that are not there. `closed`: nobody else is handed the contexts.
    `objects` and `filtered`: where `object` and `filterResult` are first read.
    """

    first_only: int | None = None
    change: int | None = None
    name: str = ""
    aware: bool = False
    guarded: bool = False
    closed: bool = False
    objects: int | None = None
    filtered: int | None = None

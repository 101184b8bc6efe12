"""The state of a running program as plain values: conditions, queues, snapshots, modules, instances of addons.

The engine makes them, `web` renders them; making one changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field

from hookrunner.model.contexts import Entry
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

IGNORED = "the API server ignores fields that it does not know"
"""Begins a report of fields that no kind of the API server has."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of readiness. `since` is the wall-clock time (epoch seconds) at which
    `ready` became what it is; `message` says what is missing and what to do, or gives news that does not matter for
    being ready."""

    name: str
    ready: bool
    message: str
    since: float


@dataclass(frozen=True, slots=True)
class QueueDump:
    """A queue and the (position from 1, description) of each task in it. `status` is empty while it idles."""

    name: str
    status: str = ""
    tasks: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ResidentDump:
    """The processes of a resident hook. `age` is that of the oldest in seconds, `memory` that of all in bytes; they
    have `in_use` of `places` runs. `restarts` are counted by their reasons. `trouble` is why none can be started, empty
    if one can; `in_crash_loop` says that they have ended several times in a row without an answer."""

    processes: int
    age: float
    memory: int
    in_use: int
    places: int
    restarts: Mapping[str, int]
    trouble: str
    in_crash_loop: bool


@dataclass(frozen=True, slots=True)
class SnapshotDump:
    """The snapshot of one binding. `operations` is the JSON object with `sinceStart` and `sinceLastExecution`."""

    binding: str
    entries: Sequence[Entry]
    operations: JSON


@dataclass(frozen=True, slots=True)
class ModuleDump:
    """One module. `state` is on, off or undecided, or rejected for a directory without a module; `by` who says so;
    `reason` why it is off, or what is wrong with it. `phase` and `revision` are empty and 0 for a module of which
    nothing is there. Times are epoch seconds, 0 for never. `drift` are its objects that are not as they were applied,
    `records` what is wrong with records of its release; `refused` is what is wrong with its section of the
    configuration, whose last good values are in use; `lacks` are its hooks that never run here (`Module.compiled`).
    `unknown_fields` are what the API server ignores of its objects, as far as this process has written them.
    `unseen_since` is when the API server was heard of last, if it does not answer."""

    name: str
    weight: int
    version: str
    state: str
    by: str = ""
    phase: str = ""
    ready: bool = False
    reason: str = ""
    revision: int = 0
    since: float = 0.0
    last_success: float = 0.0
    drift: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    refused: str = ""
    lacks: tuple[str, ...] = ()
    unknown_fields: tuple[str, ...] = ()
    unseen_since: float = 0.0


@dataclass(frozen=True, slots=True)
class InstanceDump:
    """One instance of an addon, as its status has it. `unit` is the name of its queue and its release, `objects` the
    number of its objects by their status, empty before they are seen; `created` is epoch seconds. `pinned` says that
    its objects are those of an earlier revision, brought back on request. `unseen_since` is since when (epoch seconds)
    the API server shows neither it nor its objects, so that all else may be out of date; 0 if it does."""

    addon: str
    namespace: str
    name: str
    kind: str
    unit: str
    version: str
    channel: str
    phase: str
    reason: str
    message: str
    healthy: bool
    available: str
    revision: int
    pinned: bool
    created: float
    objects: Mapping[str, int] = field(default_factory=dict)
    unseen_since: float = 0.0


@dataclass(frozen=True, slots=True)
class ObjectDump:
    """One object of an instance's release, such as `Deployment kube-system/coredns`, its status (a word of kstatus) and
    what is wrong with it."""

    object: str
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class RevisionDump:
    """One revision of an instance's release. `status` is Helm's word for it; `note` is `pinned` or `rolled-back` for
    one that was restored, else empty."""

    revision: int
    version: str
    status: str
    note: str


@dataclass(frozen=True, slots=True)
class ConvergeDump:
    """The progress of the passes over all modules: whether the first has `begun` and is `done`, and the number of
    `tasks` of the present one that remain in all queues, including those of modules that wait for their next
    attempt."""

    begun: bool = False
    done: bool = False
    tasks: int = 0


MOST = 20
"""Objects that one message names."""


def one_line(text: str) -> str:
    """A message of several lines for a place that shows only the first, or one: a list's items are parted by `;`."""
    lines = [words for line in text.splitlines() if (words := " ".join(line.split()).removeprefix("- "))]
    joined = ""
    for line in lines:
        joined += line if not joined else f" {line}" if joined.endswith((":", ";", ",")) else f"; {line}"
    return joined


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters: of a longer one the beginning and the end. A traceback has the place in its
    beginning and the reason in its last line."""
    if len(text) <= most:
        return text
    head = (most - 3) // 3
    return f"{text[:head].rstrip()} … {text[len(text) - (most - 3 - head) :].lstrip()}"


def some(names: Sequence[str], between: str = ", ") -> str:
    """The first names, and the number of the others: for messages in logs and at `/readyz`."""
    more = (f"and {len(names) - MOST} more",) if len(names) > MOST else ()
    return between.join((*names[:MOST], *more))

"""What of a running program needs its user, as plain values: for `hookrunner status`, and in the same words and order
for `/readyz`.

Each room makes those of what it knows; making one changes nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from enum import StrEnum
from typing import Literal, TypeAlias

from kubetypes.light_dataclasses import dataclass


class Urgency(StrEnum):
    """How soon a user should look; the most urgent first."""

    CRITICAL = "critical"
    """The cluster or all of hookrunner is affected: requests are refused, hooks cannot run, modules will be removed."""
    FAILING = "failing"
    """Is tried again and fails again, or is left as it was since it is invalid."""
    WAITING = "waiting"
    """Waits for something else, takes long, or is held."""
    ADVICE = "advice"
    """Works, or was stopped on request."""


KINDS = (
    "background",
    "webhooks",
    "configuration",
    "provider",
    "watches",
    "rights",
    "leader",
    "hooks",
    "tasks",
    "modules",
    "addons",
    "discovery",
    "nodes",
    "services",
    "loops",
    "deletions",
    "purge",
    "replicas",
)
"""What a need can be about, in the order of those that are equally urgent. Those that `/readyz` reports have the name
of their condition."""


@dataclass(frozen=True, slots=True)
class UserNeed:
    """`name` is which of its `kind`, empty where there is one; `message` what is wrong, and `action` a command to run
    or what to do. `failures` counts attempts in a row; `again` is the next one (epoch seconds), 0 if none is planned;
    `queue` is where it waits or runs, with so many tasks `behind` it that wait for it."""

    urgency: Urgency
    kind: str
    name: str
    message: str
    action: str
    failures: int = 0
    again: float = 0.0
    queue: str = ""
    behind: int = 0

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.name else self.message


ReadNeeds: TypeAlias = Callable[[], Iterable[UserNeed]]


def by_urgency(needs: Iterable[UserNeed]) -> list[UserNeed]:
    """The most urgent first; of the same kind those that have failed most often."""
    order = [*Urgency]
    return sorted(
        needs, key=lambda need: (order.index(need.urgency), KINDS.index(need.kind), -need.failures, need.name)
    )


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """What runs here: `started` is epoch seconds; `queues` are those in which `tasks` wait or run. The others are None
    without modules, addons or a cloud: how many are on, and how many of them are ready; how many instances there are,
    and how many are healthy; who leads (empty if that is not known), and whether this process does."""

    version: str = ""
    started: float = 0.0
    hooks: int = 0
    queues: int = 0
    tasks: int = 0
    modules: int | None = None
    modules_ready: int | None = None
    instances: int | None = None
    instances_healthy: int | None = None
    leader: str | None = None
    leads: bool | None = None


@dataclass(frozen=True, slots=True)
class ProgramStatus:
    """The whole program. `ready` is what `/readyz` answers, `reason` why it is not, where `needs` do not
    state it, or what a stop waits for."""

    state: Literal["ready", "not ready", "stopping"] = "not ready"
    ready: bool = False
    reason: str = ""
    facts: ProgramFacts = ProgramFacts()
    needs: list[UserNeed] = field(default_factory=list)

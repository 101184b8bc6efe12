"""Gates of queues without monitors and hooks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hookrunner.model.events import Obstacle
from hookrunner.model.tasks import HookRun, Order


@dataclass
class FakeGate:
    """Lets orders through; `missing` maps a binding to what its snapshot lacks, `pauses` are those of the rate limit,
    one for each time that a queue asks."""

    missing: dict[str, Obstacle] = field(default_factory=dict)
    pauses: Iterable[float] = ()
    take: Callable[[], float] | None = None

    def __post_init__(self) -> None:
        self._pauses = iter(self.pauses)

    def obstacle(self, order: Order) -> Obstacle | None:
        return self.missing.get(order.binding) if isinstance(order, HookRun) else None

    def take_token(self, order: Order) -> float:
        return self.take() if self.take else next(self._pauses, 0.0)

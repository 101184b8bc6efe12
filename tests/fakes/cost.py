"""How the cost of a piece of work grows with its size: a ratio, so that it is the same on fast and on slow machines."""

import gc
import time
from collections.abc import Callable
from functools import partial

QUADRATIC = 16.0
"""What `growth` returns, about, for work whose cost is the square of its size; for linear work it is 4."""


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times more CPU time `work(4 * size)` takes than `work(size)`, the quickest of three tries each.

    The quickest, because a neighbour on the machine may slow a try down."""
    small, large = (min(cpu_seconds(partial(work, n)) for _ in range(3)) for n in (size, 4 * size))
    return large / small


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time that one piece of work takes.

    Only this thread counts, and garbage is not collected meanwhile, nor before: a collection of all that earlier tests
    have left may cost more than the work."""
    gc.disable()
    try:
        began = time.thread_time()
        work()
        return time.thread_time() - began
    finally:
        gc.enable()

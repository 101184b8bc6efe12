"""How the cost of a piece of work grows with its size: a ratio, so that it is the same on fast and on slow machines."""

import gc
import time
from collections.abc import Callable

QUADRATIC = 16.0
"""What `growth` returns, about, for work whose cost is the square of its size; for linear work it is 4."""


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times more CPU time `work(4 * size)` takes than `work(size)`, the quickest of three tries each.

    Only this thread counts, and garbage is not collected meanwhile, nor before: a collection of all that earlier tests
    have left may cost more than the work."""
    gc.disable()
    try:
        small, large = (min(_seconds(work, n) for _ in range(3)) for n in (size, 4 * size))
    finally:
        gc.enable()
    return large / small


def _seconds(work: Callable[[int], object], size: int) -> float:
    began = time.thread_time()
    work(size)
    return time.thread_time() - began

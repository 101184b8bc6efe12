"""What a piece of work costs the thread that does it, whatever else the machine or this process has to do."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def cost() -> Iterator[Callable[[], float]]:
    """Seconds of the processor since the beginning, whenever asked. Garbage of earlier tests is collected before: a
    collection among all that they have left costs more than what is to be measured."""
    gc.collect()
    gc.disable()
    began = time.thread_time()
    try:
        yield lambda: time.thread_time() - began
    finally:
        gc.enable()

"""Runs the work of a tool that starts hooks: told to end, it ends them first and takes away its files."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """As asyncio.run, which knows Ctrl-C only. CI systems and `timeout` send SIGTERM, a terminal that goes SIGHUP: the
    process ends by that signal when the work has cleaned up."""
    told = list[signal.Signals]()
    try:
        return asyncio.run(_until_told(work, told))
    except asyncio.CancelledError:
        if told:
            signal.raise_signal(told[0])  # nobody handles it any more: the loop is closed
        raise


async def _until_told(work: Coroutine[Any, Any, T], told: list[signal.Signals]) -> T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task

    def end(number: signal.Signals) -> None:
        told.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # by nohup(1)
            loop.add_signal_handler(number, end, number)
    return await work

"""Says so when the event loop stands still: answers probes in its place, and logs where it hangs.

    with watched(listener):           # inside the loop that answers on `listener`

A thread sends the loop a heartbeat every few seconds. If none is answered for `limit` seconds, the thread takes the
loop's connections over: each gets a 503 that says for how long the loop has been blocked, so that the kubelet restarts
the container. The log gets the stack of the loop's thread. When the loop is back, it answers by itself again.

Time is counted in slices, each once, however long it took: when the whole process was stopped (SIGSTOP, a suspended
machine), the loop could not have answered, and a restart would not help.

Where code in C holds Python's lock, this thread stands still, too, and probes get no answer at all. The stack comes
then from the kernel's timer of CPU time (SIGPROF), whose handler needs no lock; it goes to standard error as it is.
"""

import asyncio
import faulthandler
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from hookrunner import log
from kubetypes.light_dataclasses import dataclass

_STDERR = 2
_MOST_ANSWERS = 20
"""Clients that are answered in one slice; each may take `_READING` seconds to send its request."""
_READING = 0.1

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Seconds between two of them, of a slice, and from which on the loop counts as blocked: that is seen 10 to 12.5 s
    after it stood still. An idle process pays 0.1 ms of CPU time a second for it."""

    interval: float = 2.5
    slice: float = 1.0
    limit: float = 10.0


@contextmanager
def watched(listener: socket.socket, heartbeat: Heartbeat = Heartbeat()) -> Iterator[None]:
    """Watch the running loop, whose thread calls this, inside the `with`."""
    with listener.dup() as own:  # the loop may close its own while we accept
        watchdog = _Watchdog(own, heartbeat)
        watchdog.thread.start()
        try:
            yield
        finally:
            watchdog.stop()


def blocked_seconds(answered: Callable[[float], bool], heartbeat: Heartbeat) -> Iterator[float]:
    """Seconds for which a heartbeat has not been answered, after each slice, from the limit on. `answered` waits for
    the answer up to a number of seconds; the iteration ends when it has come."""
    slices = 0
    while not answered(heartbeat.slice):
        slices += 1
        if (seconds := slices * heartbeat.slice) >= heartbeat.limit:
            yield seconds


class _Watchdog:
    def __init__(self, listener: socket.socket, heartbeat: Heartbeat) -> None:
        self._listener = listener
        self._heartbeat = heartbeat
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._answered, self._ended = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def stop(self) -> None:
        self._ended.set()
        self._answered.set()
        self.thread.join()
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _run(self) -> None:
        faulthandler.register(signal.SIGPROF, file=_STDERR)
        self._rearm()
        while not self._ended.wait(self._heartbeat.interval):
            self._answered.clear()
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._answered.set)
                self._await_answer()

    def _await_answer(self) -> None:
        reported, seconds = 0.0, 0.0
        for seconds in blocked_seconds(self._has_answered, self._heartbeat):
            if seconds >= 2 * reported:
                reported = seconds
                _log.error("event loop blocked", seconds=seconds, stack=self._stack())
            self._answer(f"event loop blocked for {seconds:g} s\n")
        if reported and not self._ended.is_set():
            _log.warn("event loop runs again", seconds=seconds)

    def _has_answered(self, seconds: float) -> bool:
        self._rearm()
        return self._answered.wait(seconds) or self._ended.is_set()

    def _rearm(self) -> None:
        """Not less than `limit` of CPU time, all of which code that holds the lock may take."""
        signal.setitimer(signal.ITIMER_PROF, self._heartbeat.interval + self._heartbeat.limit)

    def _stack(self) -> list[str]:
        frame = sys._current_frames().get(self._watched)
        return "".join(traceback.format_stack(frame)).splitlines() if frame else []

    def _answer(self, text: str) -> None:
        """Tell those who wait to be accepted. The listener does not block, so this ends after the last one."""
        head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
        message = f"{head}Content-Length: {len(text)}\r\n\r\n{text}".encode()
        with suppress(OSError):  # no client, or it has left: the next client is answered in the next slice
            for _ in range(_MOST_ANSWERS):
                connection, _address = self._listener.accept()
                with connection, suppress(OSError):
                    connection.settimeout(_READING)
                    connection.recv(1 << 16)  # what is not read when it is closed would take our answer away
                    connection.sendall(message)

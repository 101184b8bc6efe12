"""One prepared interpreter: the process of `fork_server.py`, which describes the messages, and the socket to it.

It is a child of this process, in a process group of its own, started with the environment that all its scripts share.
What it forks are our children, too, so they are waited for and ended as any other.
"""

import asyncio
import os
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from hookrunner.errors import HookFailed
from hookrunner.process.child import Child, Command, Patience, Spawned
from hookrunner.process.leader import Leader, processes
from hookrunner.process.output import OutputStream
from hookrunner.process.python_script import NotForked
from hookrunner.process.spawn import spawn

_PROGRAM = Path(__file__).with_name("fork_server.py")
_PATIENCE = 60.0
"""Seconds for the answer to a request, of which the first one waits for the start and for imports."""
_STATUS = 1 << 16
"""Bytes of an answer."""


class Outdated(Exception):
    """Nothing was started: another interpreter is needed, which does not import `excluded`. The message is why."""

    def __init__(self, reason: str, excluded: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.excluded = frozenset(excluded)


class _Silence:
    """The interpreter prints nothing but the reason of its end, which its `Exit` has."""

    def line(self, stream: OutputStream, text: str) -> None: ...

    def ended(self, stream: OutputStream) -> None: ...


class PreparedInterpreter:
    """A running interpreter. `notes` say by script what has been imported for it, and why no more was."""

    def __init__(self, channel: socket.socket, child: Child) -> None:
        self.pid = child.pid
        self.notes: dict[str, str] = {}
        self._channel = channel
        self._child = child
        self._end = asyncio.ensure_future(child.result())
        self._waiting = 0
        self._has_answered = False

    @classmethod
    async def start(
        cls, interpreter: tuple[str, ...], environment: Mapping[str, str], excluded: Iterable[str]
    ) -> "PreparedInterpreter":
        """Start one, which answers when it is ready. Raises NotForked."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        words = (str(_PROGRAM), str(theirs.fileno()), ",".join(sorted(excluded)))
        command = Command((*interpreter, *words), Path("/"), environment, descriptors=(theirs.fileno(),))
        try:
            with theirs:
                spawned = await spawn(command)
        except BaseException as error:
            ours.close()
            if isinstance(error, HookFailed):
                raise NotForked(str(error)) from None
            raise
        return cls(ours, Child(command, spawned, _Silence(), Patience()))

    @property
    def is_usable(self) -> bool:
        """Neither ended nor closed?"""
        return not self._end.done() and self._channel.fileno() >= 0

    @property
    def is_idle(self) -> bool:
        """No request waits for its answer?"""
        return self._waiting == 0

    async def fork(self, script: str, request: bytes) -> Spawned:
        """Start a run of a script. Raises NotForked, Outdated: nothing was started."""
        reads: list[int] = []
        self._waiting += 1
        try:
            answer = await _read_answer(reads[2]) if self._send(request, reads) else []
            pid = self._pid_of(script, answer) or await self._explain_end(answer)
        except BaseException as error:
            _close(reads)
            if isinstance(error, OSError):
                raise NotForked(f"the prepared interpreter cannot be asked: {error.strerror}") from None
            raise
        finally:
            self._waiting -= 1
        os.close(reads[2])
        return Spawned(pid, reads[0], reads[1])

    def close(self) -> None:
        """Dismiss it: it ends when it has answered what was sent. Its children go on."""
        self._channel.close()

    async def stop(self) -> None:
        """End it now, and wait for that."""
        self.close()
        self._child.stop(grace=0.0)
        await asyncio.shield(self._end)

    def _send(self, request: bytes, reads: list[int]) -> bool:
        """Send a request with the ends of pipes to write to; those to read from are added to the list. False if there
        is no process at the other end. Raises OSError."""
        writes: list[int] = []
        try:
            for _ in range(3):
                read, write = os.pipe()
                reads.append(read)
                writes.append(write)
            socket.send_fds(self._channel, [request], writes)
        except (BrokenPipeError, ConnectionResetError):
            return False
        finally:
            _close(writes)
        return True

    def _pid_of(self, script: str, answer: Iterable[str]) -> int:
        """The process that was started; 0 if there is no answer. Raises NotForked, Outdated."""
        for line in filter(None, answer):
            self._has_answered = True
            kind, text = line[:1], line[1:]
            match kind:
                case "=":
                    self.notes[script] = text
                case "!":
                    raise NotForked(text)
                case "~":
                    raise Outdated(text)
                case "^":
                    names, _, reason = text.partition(" ")
                    raise Outdated(f"importing {names} {reason}", names.split(","))
                case _ if line.isdecimal():
                    return int(line)
        return 0

    async def _explain_end(self, answer: Iterable[str]) -> NoReturn:
        """End a process that does not answer. Raises Outdated, or NotForked if another one would not do better."""
        await self.stop()
        await self._reap_unknown()
        end = self._end.result()
        printed = end.stderr.decode(errors="replace").strip().splitlines()
        for line in answer:
            if line.startswith("?"):
                raise Outdated(f"importing {line[1:]} ends the process: {end}", line[1:].split(","))
        if self._has_answered:
            raise Outdated(f"it has ended: {end}")
        raise NotForked(f"its interpreter cannot be prepared: {printed[-1] if printed else end}")

    async def _reap_unknown(self) -> None:
        """Reap forks that have ended before they wrote their ids: no run waits for them. They are still in the group of
        the interpreter; a fork that leads a group of its own has written its id."""
        for row in processes():
            if row.group == self.pid and row.parent == os.getpid():
                unknown = Leader(row.pid)
                unknown.release()
                await unknown.ended.wait()


async def _read_answer(status: int) -> list[str]:
    """The lines of an answer; without the last one if the other end is closed, or does not answer in time."""
    os.set_blocking(status, False)
    text, part = b"", b"-"
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while part and (not text or text.endswith(b"\n")):
                await _wait_until_readable(status)
                part = os.read(status, _STATUS)
                text += part
    return os.fsdecode(text).split("\n")


async def _wait_until_readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)

"""A program that adopts orphans, as PID 1 or as a subreaper: `python -m tests.process.adopter HOOK RUNS`.

Runs HOOK with a random exit code RUNS times in eight lanes, then once with `wait`, so that all orphans have ended.
As a subreaper, a child of other code is a zombie all the time, and the first that the kernel shows. Prints JSON: how
many exit codes were wrong, and how many other zombies are left.
"""

import asyncio
import ctypes
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from hookrunner.process.child import Command, Patience
from hookrunner.process.children import Children
from hookrunner.process.leader import processes
from hookrunner.process.output import OutputStream

PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


class Nowhere:
    def line(self, stream: OutputStream, text: str) -> None: ...

    def ended(self, stream: OutputStream) -> None: ...


def zombies() -> list[int]:
    return [row.pid for row in processes() if row.state == "Z" and row.parent == os.getpid()]


async def lane(children: Children, hook: str, runs: int) -> int:
    wrong = 0
    for _ in range(runs):
        code = random.randrange(256)
        exit = await children.run(Command((hook, str(code)), Path("/"), {"PATH": os.defpath}), Nowhere())
        wrong += exit.code != code
    return wrong


async def main(hook: str, runs: int, other: subprocess.Popen[bytes] | None) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    children = Children(Patience())
    children.adopt_orphans()
    wrong = sum(await asyncio.gather(*(lane(children, hook, runs // 8) for _ in range(8))))
    await children.run(Command((hook, "wait"), Path("/"), {"PATH": os.defpath}), Nowhere())
    left = [pid for pid in zombies() if other is None or pid != other.pid]
    wrong += other is not None and other.wait() != 42
    print(json.dumps({"pid": os.getpid(), "wrong": wrong, "zombies": len(left)}))


# As PID 1 there is no child of other code: then the first that the kernel shows is often our own.
bystander = None if os.getpid() == 1 else subprocess.Popen(["/bin/sh", "-c", "exit 42"])
asyncio.run(main(sys.argv[1], int(sys.argv[2]), bystander))

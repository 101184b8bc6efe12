"""A sandbox in a thread of its own, for commands: they have the main one, with its event loop and its signals.

with serve_in_thread(directory, [{"kind": "Node", ...}]) as served:
    command("cloud", "adopt", served.flag)
"""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import yaml

from kubesandbox.sandbox import Options, Sandbox, serving


@dataclass(frozen=True, slots=True)
class ServedSandbox:
    """`flag` leads a command to it."""

    sandbox: Sandbox
    flag: str


@contextmanager
def serve_in_thread(directory: Path, objects: Sequence[Any]) -> Iterator[ServedSandbox]:
    """Serve these objects until the end of the block. Files are left in the directory."""
    seed, kubeconfig = directory / "seed.yaml", directory / "kubeconfig"
    seed.write_text(yaml.safe_dump_all(objects))
    started: SimpleQueue[tuple[Sandbox, asyncio.AbstractEventLoop]] = SimpleQueue()
    stop = asyncio.Event()

    async def serve() -> None:
        async with serving(Options(seed=[seed])) as sandbox:
            started.put((sandbox, asyncio.get_running_loop()))
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    sandbox, loop = started.get(timeout=60)
    kubeconfig.write_text(sandbox.kubeconfig())
    try:
        yield ServedSandbox(sandbox, f"--kube-config={kubeconfig}")
    finally:  # else the thread would keep a run alive whose test has failed
        loop.call_soon_threadsafe(stop.set)
        thread.join()

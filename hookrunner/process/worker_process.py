"""What the programs of worker processes share. They start quickly, so nothing here imports asyncio."""

import resource
import struct
import sys
from pathlib import Path

LENGTH = struct.Struct("!I")
"""The length that precedes each part of a message."""


def limit_memory(memory: int) -> None:
    """Allow this process so many bytes of private data beyond what it has now, and no core dump."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # macOS does not count data
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[5])
        most = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))

"""What three or more rooms use: the real control plane and the fault proxy. See `tests/controlplane/README.md`."""

import asyncio
import os

# looptime asks for the event loop in synchronous tests too; without this Python would make one that nobody closes.
asyncio.set_event_loop(None)

pytest_plugins = ("tests.controlplane.fixtures", "tests.faults.fixtures")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: much of the contract is waiting for a real API server."""
    return (os.cpu_count() or 1) + 1

"""What three or more rooms use: the real control plane and the fault proxy. See `tests/controlplane/README.md`."""

import asyncio

# looptime asks for the event loop in synchronous tests too; without this Python would make one that nobody closes.
asyncio.set_event_loop(None)

pytest_plugins = ("tests.controlplane.fixtures", "tests.faults.fixtures")

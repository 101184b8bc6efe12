"""Clients that open connections and send nothing must not use up the file descriptors of all others. Level: sandbox."""

import os
import resource
import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.flows.scripts import hook
from tests.flows.waiting import until
from tests.security.attacked import ALLOW, VALIDATING, admission, attacked

IDLE = 1300
USUAL = 1024


def closed(connections: Sequence[socket.socket]) -> int:
    """How many the program has closed."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    return len(poll.poll(0))


@pytest.fixture
def usual() -> Iterator[None]:
    """The program is started with the soft limit that is usual; this process may have more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("launcher")
@pytest.mark.usefixtures("usual")
async def test_idle_connections_to_the_metrics_port_do_not_shut_out_others(tmp_path: Path) -> None:
    scripts = {"h.sh": hook(VALIDATING, f'ulimit -Sn > "$TOLD/limit"\n{ALLOW}')}
    async with attacked(tmp_path, scripts, executed=True) as target:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2 * IDLE, hard), hard))
        before = len(os.listdir(f"/proc/{target.program.pid}/fd"))
        with ExitStack() as stack:
            port = target.program.port
            idle = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(IDLE)]
            await until(lambda: closed(idle) >= IDLE - 128, "the end of all connections but 128")
            assert [target.program.get(path)[0] for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3
            assert await target.reviews(*[admission(b"{}")] * 10) == [200] * 10
            assert len(os.listdir(f"/proc/{target.program.pid}/fd")) < before + 300
        assert resource.prlimit(target.program.pid, resource.RLIMIT_NOFILE)[0] == min(hard, 1 << 20)
        assert int((target.program.told / "limit").read_text()) == USUAL

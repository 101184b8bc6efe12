"""What attacks are tried on: the command line, a running program with modules on a sandbox, the sandbox alone."""

from tests.fakes.command_line import command, endpoint
from tests.flows.modules.conftest import sandbox, world
from tests.kubesandbox.conftest import client

__all__ = ["client", "command", "endpoint", "sandbox", "world"]

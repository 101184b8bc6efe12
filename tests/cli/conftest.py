"""The command line in this process, a debug endpoint for it to ask, and webhooks for it to find."""

from tests.fakes.command_line import command, endpoint
from tests.fakes.installation import installation
from tests.sandboxes import sandbox

__all__ = ["command", "endpoint", "installation", "sandbox"]

"""The command line in this process and a debug endpoint for it to ask."""

from tests.fakes.command_line import command, endpoint

__all__ = ["command", "endpoint"]

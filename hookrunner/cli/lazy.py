"""A group of commands that imports a command's file when it is called, so that the others start as fast as they can."""

import importlib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import ClassVar

import click


class Lazy(click.Group):
    """`table` has for each command its file in this room, its name there, and its line in the help."""

    table: ClassVar[Mapping[str, tuple[str, str, str]]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        file, name, _ = self.table[cmd_name]
        command = getattr(importlib.import_module(f"hookrunner.cli.{file}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As for options: a word that is none is told with the nearest that is one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = [f" Did you mean '{name}'?" for name in get_close_matches(args[0], self.table, 1)]
            raise click.UsageError("".join([error.message, *near]), error.ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in self.table.items()])

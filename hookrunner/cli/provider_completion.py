"""How a shell completes PROVIDER and --cloud-provider: names of the providers directory, or paths."""

import os
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from hookrunner import settings


def complete_providers(ctx: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """The executables of --providers-dir; files where none of these fits, or with a slash, which makes it a path."""
    names = [] if "/" in typed else [name for name in _names(ctx) if name.startswith(typed)]
    return [CompletionItem(name) for name in names] or [CompletionItem(typed, type="file")]


def _names(ctx: click.Context) -> list[str]:
    with suppress(Exception):  # an error message would break the completion
        directory = ctx.params.get("providers_dir")
        flags = {"providers-dir": directory} if directory else {}
        found = settings.load(flags, ctx.find_root().info_name or "").cloud.providers_directory
        files = [entry for entry in os.scandir(found) if entry.is_file() and os.access(entry, os.X_OK)]
        return sorted(entry.name for entry in files if entry.name.isprintable())
    return []

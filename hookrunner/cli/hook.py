"""`hookrunner hook …`: tools for writing hooks, which need no cluster, and a look at those of a running hookrunner."""

from typing import ClassVar

import click

from hookrunner.cli.lazy import Lazy


class _Commands(Lazy):
    """The tools first, in the order in which an author needs them."""

    table: ClassVar = {
        "lint": ("lint", "lint", "Check hooks: files, or directories of them."),
        "config": ("hook_config", "hook_config", "Show what hooks declare, with every default."),
        "run": ("hook_run", "hook_run", "Run a hook on a made-up event and show what it asks for."),
        "test": ("hook_test", "hook_test", "Run test cases of hooks."),
        "list": ("debug", "hook_list", "Name all hooks that a running hookrunner has loaded."),
        "snapshot": ("debug", "hook_snapshot", "Show the snapshots of a hook that runs."),
    }


@click.group(cls=_Commands)
def hook() -> None:
    """Write, check and test hooks without a cluster; look at those that run.

    \b
    hookrunner new hook copy                                        begin with one that works
    hookrunner hook run hooks/copy.sh --event Added --object s.yaml  see what it does
    hookrunner hook test hooks                                      run the test cases beside the hooks
    """

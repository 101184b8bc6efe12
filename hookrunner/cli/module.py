"""`hookrunner module …`: modules of a running hookrunner or in a directory, and tools for writing them."""

from typing import ClassVar

import click

from hookrunner.cli.lazy import Lazy


class _Commands(Lazy):
    """A look at modules first, then the tools for authors."""

    table: ClassVar = {
        "list": ("module_list", "module_list", "Show modules: what is on, how far it is, and why."),
        "values": ("module_values", "module_values", "Show a module's values, and which layer has set each."),
        "config": ("module_values", "module_config", "Show what users have set of a module's values."),
        "render": ("module_render", "module_render", "Show a module's manifests, or how they differ from the cluster."),
        "graph": ("module_list", "module_graph", "Show which module waits for which."),
        "rollback": ("module_seen", "module_rollback", "Bring an earlier revision of a module's release back."),
        "adopt": ("module_seen", "module_adopt", "Have a module take over objects that no release looks after."),
        "patches": ("module_seen", "module_patches", "Show how hooks have patched a module's values in memory."),
        "snapshots": ("module_seen", "module_snapshots", "Show the snapshots of a module's hooks."),
        "resource-monitor": ("module_seen", "resource_monitor", "Show which objects of releases are watched."),
        "lint": ("module_lint", "module_lint", "Check modules: files, schemas, values, hooks, charts."),
        "test": ("module_test", "module_test", "Run test cases of modules and of their hooks."),
    }


@click.group(cls=_Commands)
def module() -> None:
    """See the modules of a running hookrunner; write, check and test them.

    \b
    hookrunner module list                                        what is on, how far it is, and why
    hookrunner module values dns --explain                        who has set which value
    hookrunner module render dns --diff                           what the next run would change in the cluster
    hookrunner module render dns --modules-dir modules            no cluster, nothing running: files alone
    hookrunner new module dns && hookrunner module test modules   begin with one that works

    A running hookrunner is asked over its debug socket; with --modules-dir the files in a directory are.
    """

"""The argument of `hookrunner module …` that names a module, and how a shell completes it."""

import click

from hookrunner.cli.sources import gathered
from hookrunner.cli.unit_targets import UnitTarget, ask_running, completing


@completing
def _complete_modules(ctx: click.Context) -> list[str]:
    """The modules in the directories, else those of a running hookrunner."""
    if ctx.params.get("directories"):
        # 0.3 s, which only the completion of files needs.
        from hookrunner.cli.modules import module_offline

        return module_offline.names(ctx.params["directories"])
    return [row["name"] for row in ask_running(ctx, "/module/list.json")["modules"]]


_MODULE = click.argument("name", metavar="MODULE", shell_complete=_complete_modules)

of_module = gathered("target", (_MODULE,), lambda name: UnitTarget(name))
"""Of commands about a module: as `target` which one."""

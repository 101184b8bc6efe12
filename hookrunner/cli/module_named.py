"""The argument MODULE of `hookrunner module …`, which a shell can complete."""

from contextlib import suppress

import click
import orjson

from hookrunner.cli import debug


def _names(ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
    """For completion: modules in the directories, else those of a running hookrunner."""
    with suppress(Exception):  # nobody wants to read an error there
        if ctx.params.get("directories"):
            # Half of a second that nothing else of these commands needs.
            from hookrunner.cli import module_offline

            found = module_offline.names(ctx.params["directories"])
        else:
            sockets = ctx.params.get("sockets") or debug.places(ctx)
            rows = orjson.loads(debug.ask(sockets, "/module/list.json"))["modules"]
            found = [row["name"] for row in rows]
        return [name for name in found if name.startswith(typed) and name.isprintable()]
    return []


name = click.argument("name", metavar="MODULE", shell_complete=_names)

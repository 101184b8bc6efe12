"""Commands about modules that only a running hookrunner can answer, asked over its debug socket (addon-operator.md
§8.5). They print what it answers."""

from urllib.parse import quote, urlencode

import click

from hookrunner.cli.debug import Sockets, as_form, ask, at
from hookrunner.cli.module_named import name
from hookrunner.cli.output import show
from hookrunner.model.values import GLOBAL

PATIENCE = 1260.0
"""Seconds for what works on the cluster: as long as a release may take there, and a little more."""

as_document = click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="Its form."
)


def where(section: str, what: str, output: str, **flags: bool) -> str:
    """The path of a view of a module or of `global`: `/module/dns/values.yaml?global=true`."""
    place = section if section == GLOBAL else f"module/{quote(section, safe='')}"
    query = urlencode({flag: "true" for flag, wanted in flags.items() if wanted})
    return f"/{place}/{what}.{output}" + f"?{query}" * bool(query)


@click.command("patches")
@name
@as_document
@at
def module_patches(name: str, output: str, sockets: Sockets) -> None:
    """Show how hooks have patched a module's values in memory, until the program ends or the module goes off.

    \b
    hookrunner module patches dns
    """
    show(ask(sockets, where(name, "patches", output)))


@click.command("snapshots")
@name
@as_document
@at
def module_snapshots(name: str, output: str, sockets: Sockets) -> None:
    """Show the snapshots of a module's hooks: by hook, by binding.

    \b
    hookrunner module snapshots dns -o json | jq keys
    """
    show(ask(sockets, where(name, "snapshots", output)))


@click.command("resource-monitor")
@click.argument("ignored", metavar="[MODULE]", required=False)
@as_document
@at
def resource_monitor(ignored: str | None, output: str, sockets: Sockets) -> None:
    """Show which objects of releases are watched, so that they come back when somebody deletes them.

    \b
    hookrunner module resource-monitor

    All modules are shown, whether or not MODULE is given.
    """
    show(ask(sockets, f"/module/resource-monitor.{output}"))


@click.command("rollback")
@name
@click.argument("revision", type=click.IntRange(1), metavar="[REVISION]", required=False)
@at
def module_rollback(name: str, revision: int | None, sockets: Sockets) -> None:
    """Bring an earlier revision of a module's release back: the one before, or REVISION.

    \b
    helm history dns              which revisions there are
    hookrunner module rollback dns
    hookrunner module rollback dns 4

    What comes back stays until the module's values or its chart change.
    """
    path = f"/module/{quote(name, safe='')}/rollback" + f"?revision={revision}" * bool(revision)
    show(ask(sockets, path, {}, PATIENCE))


@click.command("adopt")
@name
@as_form
@at
def module_adopt(name: str, output: str, sockets: Sockets) -> None:
    """Have a module run now and, in this run, take over objects that are in its way: those of no release, and those of
    a release that has no record any more.

    \b
    hookrunner module adopt dns              prints which objects, and from whom
    hookrunner module adopt dns -o json | jq '.adopted[].object'

    Objects of a release that exists are never taken over. For every run: `adopt: true` in module.yaml, or the
    annotation hookrunner.io/adopt: "true" on objects in templates.
    """
    form = "" if output == "text" else f".{output}"
    show(ask(sockets, f"/module/{quote(name, safe='')}/adopt{form}", {}, PATIENCE))

"""`hookrunner module render`: the manifests of a module, or how they differ from what is in the cluster; of a running
hookrunner, or of the files in a modules directory."""

from urllib.parse import quote

import click

from hookrunner.cli import ending
from hookrunner.cli.debug import ask
from hookrunner.cli.module_cluster import Wanted, for_a_cluster
from hookrunner.cli.module_files import Files, Source, sourced
from hookrunner.cli.module_named import name
from hookrunner.cli.module_seen import PATIENCE
from hookrunner.cli.output import echo, echo_styled, show, styled

DIFFERENT = 3
"""The exit code of --diff: something would change."""

_NO_DIFF = "No diff found"


@click.command("render")
@name
@click.option("--diff", is_flag=True, help="Show how they differ from what is in the cluster, by a dry run there.")
@click.option("--debug", is_flag=True, help="Helm hooks and notes, too.")
@sourced
@for_a_cluster
def module_render(name: str, diff: bool, debug: bool, wanted: Wanted, source: Source) -> int:
    """Show a module's manifests as its next run would make them, or with --diff what that would change.

    \b
    hookrunner module render dns
    hookrunner module render dns --diff
    hookrunner module render dns --modules-dir modules --config configmap.yaml
    hookrunner module render dns --modules-dir modules --kube-version 1.33 --api-versions example.com/v1/Thing
    hookrunner module render dns --modules-dir modules --kube-config ~/.kube/config --diff

    Of files, without a cluster, templates see a stock Kubernetes, and `lookup` finds nothing. What Secrets hold is not
    shown by --diff. It ends with 0; of --diff with 3 if something would change, and 0 if nothing would; with 1 if it
    cannot be rendered or compared, with 2 for bad usage.
    """
    if isinstance(source, Files):
        # Half a second, which a look at a running hookrunner need not pay.
        from hookrunner.cli import module_rendering as files

        work = files.difference(source, name, wanted) if diff else files.manifests(source, name, wanted, debug)
        text = ending.run(work)
    else:
        flags = "&".join(f"{flag}=true" for flag, on in {"diff": diff, "debug": debug}.items() if on)
        text = ask(source, f"/module/{quote(name, safe='')}/render" + f"?{flags}" * bool(flags), seconds=PATIENCE)
    if not text:
        echo(f"{name} has no chart and no templates: there is nothing to render", err=True)
    elif diff:
        echo_styled("\n".join(styled(text.splitlines())))
    else:
        show(text)
    return DIFFERENT if diff and text and text.strip() != _NO_DIFF else 0

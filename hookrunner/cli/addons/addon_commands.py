"""What `hookrunner addon …` shows of an instance and does with it, over the debug socket of a running hookrunner;
`render` also makes objects of files."""

import click
import orjson

from hookrunner.cli.addons.addon_sources import AddonDirectories, ClusterFlags, Source, sourced, with_given
from hookrunner.cli.addons.instance_targets import (
    InstanceTarget,
    RenderSubject,
    complete_revisions,
    of_files_or_instance,
    of_instance,
)
from hookrunner.cli.debug import Sockets, ask, at
from hookrunner.cli.output import echo, echo_styled, show, to_table
from hookrunner.cli.sources import (
    CLUSTER_TIMEOUT,
    as_document,
    as_explained,
    explained_form,
    show_difference,
    show_values,
    with_global,
    with_reasons,
)


@click.command("values")
@of_instance
@with_global
@with_reasons
@as_explained
@at
def addon_values(target: InstanceTarget, whole: bool, explain: bool, output: str | None, sockets: Sockets) -> None:
    """Show an instance's values as its hooks and templates get them.

    \b
    hookrunner addon values coredns/default
    hookrunner addon values coredns/default --explain        which layer has set each
    hookrunner addon values web/shop -n prod -o json | jq .

    The layers, each over those before it: values.yaml, defaults of openapi/spec.yaml, the spec, defaults of
    openapi/values.yaml, patches of hooks.
    """
    if explain and whole:
        raise click.UsageError("--explain is about one section; for the other: hookrunner global values --explain")
    page = target.path(f"values.{explained_form(explain, output)}", **{"global": whole, "explain": explain})
    show_values(ask(sockets, page), explain, output)


@click.command("config")
@of_instance
@with_global
@as_document
@at
def addon_config(target: InstanceTarget, whole: bool, output: str, sockets: Sockets) -> None:
    """Show what the author of an instance has set: its spec without the fields that all kinds have; null if nothing.

    \b
    hookrunner addon config coredns/default
    hookrunner addon config coredns/default --global
    """
    show(ask(sockets, target.path(f"config.{output}", **{"global": whole})))


@click.command("objects")
@of_instance
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@at
def addon_objects(target: InstanceTarget, output: str, sockets: Sockets) -> None:
    """Show which objects an instance has in the cluster, each with its health.

    \b
    hookrunner addon objects coredns/default
    hookrunner addon objects coredns/default -o json | jq -r '.objects[] | select(.status != "Current") | .object'

    The health is that of kstatus: Current, InProgress, Failed, Terminating, NotFound, Unknown.
    """
    text = ask(sockets, target.path(f"objects.{'json' if output == 'table' else output}"))
    if output != "table":
        show(text)
        return
    rows = [(row["object"], row["status"], row["message"] or "-") for row in orjson.loads(text)["objects"]]
    echo_styled(to_table(("OBJECT", "STATUS", "WHY"), rows))


@click.command("patches")
@of_instance
@as_document
@at
def addon_patches(target: InstanceTarget, output: str, sockets: Sockets) -> None:
    """Show how hooks have patched an instance's values in memory, until the program ends or the instance goes.

    \b
    hookrunner addon patches coredns/default

    This is not `spec.patches`, which change objects; those are in what `addon render` shows.
    """
    show(ask(sockets, target.path(f"patches.{output}")))


@click.command("snapshots")
@of_instance
@as_document
@at
def addon_snapshots(target: InstanceTarget, output: str, sockets: Sockets) -> None:
    """Show the snapshots of an instance's hooks: by hook, by binding.

    \b
    hookrunner addon snapshots coredns/default -o json | jq keys
    """
    show(ask(sockets, target.path(f"snapshots.{output}")))


@click.command("rollback")
@of_instance
@click.argument("revision", type=click.IntRange(1), required=False, shell_complete=complete_revisions)
@at
def addon_rollback(target: InstanceTarget, revision: int | None, sockets: Sockets) -> None:
    """Bring an earlier revision of an instance back: the one before, or REVISION.

    \b
    helm history coredns.kube-system.default     which revisions there are; so does completion
    hookrunner addon rollback coredns/default
    hookrunner addon rollback coredns/default 4

    What comes back stays until the spec, the package or the annotation hookrunner.io/reconcile of the instance changes.
    To stay at a version for good, set spec.version.
    """
    show(ask(sockets, target.path("rollback", revision=revision or 0), {}, CLUSTER_TIMEOUT))


@click.command("render")
@of_files_or_instance
@click.option("--diff", is_flag=True, help="Show how they differ from what is in the cluster, or of files in --given.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@sourced
@with_given
def addon_render(subject: RenderSubject, diff: bool, output: str, cluster: ClusterFlags, source: Source) -> int:
    """Print the objects of an instance: of a running hookrunner, as its next run would make them; with --addons-dir
    those of the instances in FILE (`-` is standard input), without a cluster and without a network.

    \b
    hookrunner addon render coredns/default
    hookrunner addon render coredns/default --diff                                   what the next run would change
    hookrunner addon render addons/coredns/example.yaml --addons-dir addons
    hookrunner addon render coredns.yaml --addons-dir addons --given services.yaml   hooks see these objects
    hookrunner addon render coredns.yaml --addons-dir addons --kube-version 1.31 -o json
    kubectl get deploy,cm,svc -A -o yaml | hookrunner addon render coredns.yaml --addons-dir addons --given - --diff

    Of files, hooks run, and find the objects of --given as the cluster; notes go to standard error. Of a running
    hookrunner, what Secrets hold is not shown by --diff. It ends with 0; with 1 if the instance would be refused; with
    3 if --diff shows that something would change.
    """
    if isinstance(source, AddonDirectories):
        # 0.3 s, which a look at a running hookrunner need not pay.
        from hookrunner.cli.addons import addon_rendering

        return addon_rendering.run(source, subject.files, cluster, diff=diff, output=output)
    return _render_running(source, subject.instance, diff=diff, output=output)


def _render_running(sockets: Sockets, target: InstanceTarget, *, diff: bool, output: str) -> int:
    text = ask(sockets, target.path("render", diff=diff), seconds=CLUSTER_TIMEOUT)
    if diff:
        return show_difference(text)
    if not text:
        echo(f"{target.addon}/{target.name} has no objects", err=True)
    elif output == "json":
        # 0.1 s, which only this form needs.
        from hookrunner.cli.addons.addon_rendering import as_list, to_objects

        show(as_list(to_objects(text)))
    else:
        show(text)
    return 0

"""`render` and `rollback` of a module and of an instance of an addon.

A running hookrunner is asked over its debug socket; with a directory, its files are rendered.
"""

from typing import Any

import click

from hookrunner.cli.addons import addon_sources
from hookrunner.cli.addons.addon_sources import AddonDirectories, ClusterFlags
from hookrunner.cli.addons.instance_targets import (
    complete_revisions,
    in_namespace,
    named_files,
    of_instance,
    rendered_instance,
)
from hookrunner.cli.debug import Sockets, ask
from hookrunner.cli.modules import module_options
from hookrunner.cli.modules.module_options import ClusterChoice, ModuleFiles
from hookrunner.cli.modules.module_targets import of_module
from hookrunner.cli.output import echo, show, to_list
from hookrunner.cli.sources import CLUSTER_TIMEOUT, command_of, of_running, require_files, show_difference
from hookrunner.cli.unit_targets import UnitTarget


def _roll_back(target: UnitTarget, source: Sockets, revision: int | None) -> None:
    show(ask(source, target.path("rollback", revision=revision or 0), {}, CLUSTER_TIMEOUT))


_revision = click.argument("revision", type=click.IntRange(1), metavar="[REVISION]", required=False)
_known_revision = click.argument("revision", type=click.IntRange(1), required=False, shell_complete=complete_revisions)


@command_of(_roll_back, of_module, _revision, of_running)
def module_rollback() -> None:
    """Bring an earlier revision of a module's release back: the one before, or REVISION.

    \b
    helm history dns              which revisions there are
    hookrunner module rollback dns
    hookrunner module rollback dns 4

    What comes back stays until the module's values or its chart change.
    """


@command_of(_roll_back, of_instance, _known_revision, of_running)
def addon_rollback() -> None:
    """Bring an earlier revision of an instance back: the one before, or REVISION.

    \b
    helm history coredns.kube-system.default     which revisions there are; so does completion
    hookrunner addon rollback coredns/default
    hookrunner addon rollback coredns/default 4

    What comes back stays until the spec, the package or the annotation hookrunner.io/reconcile of the instance changes.
    To stay at a version for good, set spec.version.
    """


def _render_running(sockets: Sockets, target: UnitTarget, **flags: bool) -> str:
    return ask(sockets, target.path("render", **flags), seconds=CLUSTER_TIMEOUT)


def _show_rendered(text: str, empty: str, diff: bool) -> int:
    """Print manifests or a difference, or that there are no objects. Returns the exit code."""
    if not text:
        echo(empty, err=True)
    elif diff:
        return show_difference(text)
    else:
        show(text)
    return 0


@click.command("render")
@of_module
@click.option("--diff", is_flag=True, help="Show how they differ from what is in the cluster, by a dry run there.")
@click.option("--debug", is_flag=True, help="Helm hooks and notes, too.")
@module_options.sourced
@module_options.for_a_cluster
def module_render(
    target: UnitTarget, diff: bool, debug: bool, cluster: ClusterChoice, source: ModuleFiles | Sockets
) -> int:
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
    require_files(cluster, source, module_options.MODULES_DIR)
    if isinstance(source, ModuleFiles):
        # Half a second, which a look at a running hookrunner need not pay.
        from hookrunner.cli.modules import module_rendering

        text = module_rendering.run(source, target.name, cluster, diff=diff, debug=debug)
    else:
        text = _render_running(source, target, diff=diff, debug=debug)
    return _show_rendered(text, f"{target} has no chart and no templates: there is nothing to render", diff)


@click.command("render")
@named_files
@in_namespace
@click.option("--diff", is_flag=True, help="Show how they differ from what is in the cluster, or of files in --given.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@addon_sources.sourced
@addon_sources.with_given
def addon_render(
    names: tuple[str, ...], namespace: str, source: addon_sources.Source, cluster: ClusterFlags, **shown: Any
) -> int:
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
    require_files(cluster, source, addon_sources.ADDONS_DIR)
    if not isinstance(source, AddonDirectories):
        return _render_instance(source, rendered_instance(names, namespace), **shown)
    if namespace:
        raise click.UsageError("-n is about a running hookrunner; in FILE, metadata.namespace says it")
    # 0.3 s, which a look at a running hookrunner need not pay.
    from hookrunner.cli.addons import addon_rendering

    return addon_rendering.run(source, names, cluster, **shown)


def _render_instance(sockets: Sockets, target: UnitTarget, *, diff: bool, output: str) -> int:
    text = _render_running(sockets, target, diff=diff)
    if text and output == "json" and not diff:
        # 0.1 s, which only this form needs.
        from hookrunner.cli.addons.addon_rendering import to_objects

        text = to_list(to_objects(text))
    return _show_rendered(text, f"{target} has no objects", diff)

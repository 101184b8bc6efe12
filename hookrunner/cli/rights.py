"""`hookrunner rbac`: the rights that hooks, modules, addons and hookrunner itself need, as objects, as values of the
chart, or as a table with the reasons."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from textwrap import indent

import click

from hookrunner import settings
from hookrunner.cli.output import echo, echo_styled, show, to_table
from hookrunner.cli.shared import account_option, quiet, run_to_end
from hookrunner.cli.start import click_option, given
from hookrunner.errors import BadSetting
from hookrunner.manifests import yaml_writer
from hookrunner.manifests.role_objects import Account, to_account, to_roles, to_values
from hookrunner.model.rights import Right, compact
from hookrunner.modules.offline import read_configured
from hookrunner.options import Compat
from hookrunner.rights.needed_rights import Files, NeededRights, find_needed_rights, read_files
from hookrunner.settings import Settings
from hookrunner.testing.addons.addon_bench import offline_source
from kubetypes.json_values import JSON

_OF_KUBERNETES = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that each cluster has."""


class _Rights(click.Command):
    def invoke(self, ctx: click.Context) -> int:
        own = {name: ctx.params.pop(name) for name in ("service_account", "output", "config", "hooks")}
        flags = given(ctx)
        if own["hooks"] and "hooks-dir" in flags:
            raise click.UsageError("PATH and --hooks-dir are the same; give one of them")
        directory = {"hooks-dir": str(own["hooks"])} if own["hooks"] else {}
        loaded = settings.load(flags | directory, ctx.find_root().info_name or "")
        account: Account = own["service_account"]
        with quiet():
            files = _read(loaded, own["config"])
            needed = run_to_end(find_needed_rights(files, loaded.kube.namespace or account.namespace))
        for note in needed.notes:
            echo(f"note: {note}", err=True)
        _SHOW[own["output"]](needed, account, loaded)
        return 0


def _read(loaded: Settings, config: Sequence[Path]) -> Files:
    """Raises BadSetting without anything to look at, BadInput, StartRefused."""
    if not (loaded.may_have_hooks or loaded.cloud.on):
        raise BadSetting("there is nothing to look at: give --hooks-dir, --modules-dir or --addons-dir")
    source_of = partial(offline_source, loaded.addons)
    return read_files(loaded, read_configured(config, loaded.compat is Compat.ADDON), source_of)


def _show_objects(needed: NeededRights, account: Account, _loaded: Settings) -> None:
    rights = compact(needed.all)
    objects = [*_namespaces(rights, account), *to_account(account)]
    objects += to_roles("-".join(account), rights, account)
    show("---\n".join(map(yaml_writer.dump, objects)))


def _namespaces(rights: Sequence[Right], account: Account) -> Iterator[JSON]:
    """Those of Roles, which can be created only there."""
    for name in dict.fromkeys(right.namespace for right in rights):
        if name not in ("", account.namespace, *_OF_KUBERNETES):
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _show_values(needed: NeededRights, _account: Account, _loaded: Settings) -> None:
    """What the chart grants by its other values is left out."""
    show("rbac:\n" + indent(to_values(compact(needed.others)), "  "))


def _show_table(needed: NeededRights, _account: Account, _loaded: Settings) -> None:
    titles = ("NAMESPACE", "RESOURCE", "NAMES", "VERBS", "NEEDED BY", "FOR")
    echo_styled(to_table(titles, [row for right in needed.all for row in _rows(right)]))


def _rows(right: Right) -> Iterator[tuple[str, ...]]:
    """A line for each need; the right is in the first one."""
    group = f".{right.groups[0]}" if right.groups and right.groups[0] else ""
    resources = ",".join(f"{resource}{group}" for resource in right.resources) or ",".join(right.urls)
    cells = (right.namespace or "*", resources, ",".join(right.names) or "*", ",".join(right.verbs))
    for number, need in enumerate(right.needs):
        yield (*(cells if number == 0 else [""] * len(cells)), need.who, need.why)


_SHOW = {"yaml": _show_objects, "chart": _show_values, "rules": _show_table}

rbac = _Rights(
    "rbac",
    params=[
        click.Argument(
            ["hooks"], required=False, metavar="[PATH]", type=click.Path(exists=True, file_okay=False, path_type=Path)
        ),
        account_option("hookrunner/hookrunner"),
        click.Option(
            ["-o", "--output"],
            type=click.Choice(list(_SHOW)),
            default="yaml",
            show_default=True,
            help="Objects for `kubectl apply`, values for the chart, or a table with who needs what.",
        ),
        click.Option(
            ["--config"],
            multiple=True,
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Modules: what users set: a manifest of the ConfigMap or the Secret, or its sections as plain YAML.",
        ),
        *map(click_option, settings.options()),
    ],
    help="""Print the rights that hooks, modules and addons need.

    \b
    hookrunner rbac hooks | kubectl apply -f -
    hookrunner rbac --modules-dir modules --config values.yaml -o chart > rights.yaml
    hookrunner rbac --addons-dir addons --addons coredns,kube-proxy -o rules

    PATH is a directory of hooks, as --hooks-dir is. And those of hookrunner itself; no others. Give it the flags of
    `hookrunner start`, and --namespace if hookrunner runs in another one than its account. No cluster is asked. Hooks
    are run with --config, and their test cases are
    run.""",
)

"""Arguments of `hookrunner addon …` that name an addon, an instance or a revision, and how a shell completes them."""

from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from hookrunner.cli.addons.addon_sources import ADDONS_DIR
from hookrunner.cli.sources import directory_paths, gathered
from hookrunner.cli.unit_targets import UnitTarget, ask_running, completing

_LIST = "/addon/list.json"


def to_target(target: str, namespace: str = "") -> UnitTarget:
    """Parse ADDON/NAME. Raises click.UsageError."""
    addon, _, name = target.partition("/")
    if not (addon and name) or "/" in name:
        raise click.UsageError(f"'{target}' is not ADDON/NAME, such as coredns/default")
    return UnitTarget(name, addon, namespace)


@completing
def complete_addons(ctx: click.Context) -> list[str]:
    """The addons in the directories of --addons-dir, else those that a running hookrunner offers."""
    if directories := ctx.params.get("directories"):
        # 0.3 s, which only the completion of files needs.
        from hookrunner.addons.addon_discovery import find_addons
        from hookrunner.cli.shared import quiet

        with quiet():
            found = find_addons([path.absolute() for path in directory_paths(directories, ADDONS_DIR)])
        return [addon.name for addon in found.addons]
    return [row["name"] for row in ask_running(ctx, _LIST)["addons"]]


@completing
def _complete_instances(ctx: click.Context) -> list[str]:
    """ADDON/NAME of the instances of a running hookrunner, in the namespace of -n if it is given."""
    namespace, rows = ctx.params.get("namespace"), ask_running(ctx, _LIST)["instances"]
    return [f"{row['addon']}/{row['name']}" for row in rows if namespace in (None, "", row["namespace"])]


def _complete_rendered(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Files with --addons-dir, else ADDON/NAME of instances."""
    if ctx.params.get("directories"):
        return [CompletionItem(typed, type="file")]
    return [CompletionItem(name) for name in _complete_instances(ctx, param, typed)]


@completing
def _complete_namespaces(ctx: click.Context) -> list[str]:
    """The namespaces that have the instance of a running hookrunner that was named before."""
    named, rows = ctx.params.get("target"), ask_running(ctx, _LIST)["instances"]
    return [row["namespace"] for row in rows if named in (None, f"{row['addon']}/{row['name']}")]


def complete_revisions(ctx: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """The revisions of the instance that was named before, each with its version."""
    with suppress(Exception):  # an error message would break the completion
        target = to_target(ctx.params["target"], ctx.params.get("namespace") or "")
        rows = ask_running(ctx, target.path("revisions.json"))["revisions"]
        found = [row for row in rows if str(row["revision"]).startswith(typed)]
        return [CompletionItem(str(row["revision"]), help=f"{row['version']}, {row['status']}") for row in found]
    return []


in_namespace = click.option(
    "-n",
    "--namespace",
    default="",
    metavar="NS",
    shell_complete=_complete_namespaces,
    help="The instance's namespace, if several have that name.",
)
_INSTANCE = click.argument("target", metavar="ADDON/NAME", shell_complete=_complete_instances)

of_instance = gathered("target", (_INSTANCE, in_namespace), to_target)
"""Of commands about an instance: as `target` which one."""

named_files = click.argument(
    "names", metavar="FILE...|ADDON/NAME", nargs=-1, required=True, shell_complete=_complete_rendered
)


def rendered_instance(names: tuple[str, ...], namespace: str) -> UnitTarget:
    """The instance that is rendered. Raises click.UsageError for files."""
    name = names[0]
    if len(names) > 1 or name == "-" or name.endswith((".yaml", ".yml", ".json")):
        raise click.UsageError(f"{' '.join(names)}: to render files, give {ADDONS_DIR} DIR, too; else one ADDON/NAME")
    return to_target(name, namespace)

"""Arguments of `hookrunner addon …` that name an addon, an instance or a revision, and how a shell completes them.

Completion asks a running hookrunner, and is silent where no one answers.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any
from urllib.parse import quote, urlencode

import click
import orjson
from click.shell_completion import CompletionItem

from hookrunner.cli import debug
from hookrunner.cli.addons.addon_sources import ADDONS_DIR
from hookrunner.cli.sources import directory_paths
from kubetypes.json_values import JSON


@dataclass(frozen=True, slots=True)
class InstanceTarget:
    """The instance that ADDON/NAME means; `namespace` is empty if it was not named."""

    addon: str
    name: str
    namespace: str

    def path(self, what: str, **query: str | int | bool) -> str:
        """The path of one of its pages: `/addon/coredns/default/values.yaml?namespace=kube-system`."""
        wanted = {"namespace": self.namespace, **query}
        flags = {key: "true" if value is True else value for key, value in wanted.items() if value}
        base = f"/addon/{quote(self.addon, safe='')}/{quote(self.name, safe='')}"
        return f"{base}/{what}" + f"?{urlencode(flags)}" * bool(flags)


def to_target(text: str, namespace: str = "") -> InstanceTarget:
    """Parse ADDON/NAME. Raises click.UsageError."""
    addon, _, name = text.partition("/")
    if not (addon and name) or "/" in name:
        raise click.UsageError(f"'{text}' is not ADDON/NAME, such as coredns/default")
    return InstanceTarget(addon, name, namespace)


def ask_list(ctx: click.Context) -> JSON:
    """What a running hookrunner answers to `addon list -o json`. Raises click.ClickException."""
    return orjson.loads(debug.ask(ctx.params.get("sockets") or debug.places(ctx), "/addon/list.json"))


def complete_addons(ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
    """The addons in the directories of --addons-dir, else those that a running hookrunner offers."""
    with suppress(Exception):  # an error message would break the completion
        if directories := ctx.params.get("directories"):
            # 0.3 s, which only the completion of files needs.
            from hookrunner.addons.addon_discovery import find_addons
            from hookrunner.cli.shared import quiet

            with quiet():
                found = find_addons([path.absolute() for path in directory_paths(directories, ADDONS_DIR)])
            names = [addon.name for addon in found.addons]
        else:
            names = [row["name"] for row in ask_list(ctx)["addons"]]
        return _beginning_with(typed, names)
    return []


def complete_instances(ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
    """ADDON/NAME of the instances of a running hookrunner, in the namespace of -n if it is given."""
    with suppress(Exception):
        namespace, rows = ctx.params.get("namespace"), ask_list(ctx)["instances"]
        names = [f"{row['addon']}/{row['name']}" for row in rows if namespace in (None, "", row["namespace"])]
        return _beginning_with(typed, names)
    return []


def complete_rendered(ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Files with --addons-dir, else ADDON/NAME of instances."""
    if ctx.params.get("directories"):
        return [CompletionItem(typed, type="file")]
    return [CompletionItem(name) for name in complete_instances(ctx, param, typed)]


def complete_namespaces(ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
    """The namespaces that have the instance of a running hookrunner that was named before."""
    with suppress(Exception):
        named, rows = ctx.params.get("target"), ask_list(ctx)["instances"]
        places = [row["namespace"] for row in rows if named in (None, f"{row['addon']}/{row['name']}")]
        return _beginning_with(typed, places)
    return []


def complete_revisions(ctx: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    """The revisions of the instance that was named before, each with its version."""
    with suppress(Exception):
        target = to_target(ctx.params["target"], ctx.params.get("namespace") or "")
        answer = debug.ask(ctx.params.get("sockets") or debug.places(ctx), target.path("revisions.json"))
        rows = [row for row in orjson.loads(answer)["revisions"] if str(row["revision"]).startswith(typed)]
        return [CompletionItem(str(row["revision"]), help=f"{row['version']}, {row['status']}") for row in rows]
    return []


def _beginning_with(typed: str, names: list[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name.startswith(typed) and name.isprintable()]


_in_namespace = click.option(
    "-n",
    "--namespace",
    default="",
    metavar="NS",
    shell_complete=complete_namespaces,
    help="The instance's namespace, if several have that name.",
)


def of_instance(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the argument ADDON/NAME and the option -n, and as `target` what they mean."""

    @wraps(command)
    def call(target: str, namespace: str, **others: Any) -> Any:
        return command(target=to_target(target, namespace), **others)

    argument = click.argument("target", metavar="ADDON/NAME", shell_complete=complete_instances)
    return argument(_in_namespace(call))


@dataclass(frozen=True, slots=True)
class RenderSubject:
    """What is rendered: files, or an instance of a running hookrunner."""

    names: tuple[str, ...]
    namespace: str

    @property
    def files(self) -> tuple[str, ...]:
        """The files. Raises click.UsageError with -n."""
        if self.namespace:
            raise click.UsageError("-n is about a running hookrunner; in FILE, metadata.namespace says it")
        return self.names

    @property
    def instance(self) -> InstanceTarget:
        """The instance. Raises click.UsageError for files."""
        name = self.names[0]
        if len(self.names) > 1 or name == "-" or name.endswith((".yaml", ".yml", ".json")):
            shown = " ".join(self.names)
            raise click.UsageError(f"{shown}: to render files, give {ADDONS_DIR} DIR, too; else one ADDON/NAME")
        return to_target(name, self.namespace)


def of_files_or_instance(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the arguments FILE... or ADDON/NAME and the option -n, and as `subject` what they mean."""

    @wraps(command)
    def call(names: tuple[str, ...], namespace: str, **others: Any) -> Any:
        return command(subject=RenderSubject(names, namespace), **others)

    metavar = "FILE...|ADDON/NAME"
    argument = click.argument("names", metavar=metavar, nargs=-1, required=True, shell_complete=complete_rendered)
    return argument(_in_namespace(call))

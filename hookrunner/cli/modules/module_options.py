"""Options of `hookrunner module …`: files or a running hookrunner, and for which cluster files are rendered."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from hookrunner.cli import debug
from hookrunner.cli.sources import VERSION_OPTIONS, directory_paths, flags_query, named_versions
from hookrunner.model.modules import GLOBAL

MODULES_DIR = "--modules-dir"

_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class ModuleFiles:
    """Where modules are, and what users configure. `program` is the name that we were started under."""

    directories: tuple[Path, ...]
    global_hooks: Path | None
    config: tuple[Path, ...]
    program: str


_FILE_OPTIONS = (
    click.option(
        MODULES_DIR,
        "directories",
        multiple=True,
        metavar="DIR",
        help="Look at the modules in DIR, and ask no running hookrunner. May be repeated, or DIR:DIR.",
    ),
    click.option(
        "--global-hooks-dir",
        "global_hooks",
        type=_DIRECTORY,
        metavar="DIR",
        help="Of files: where the schemas of the global values are, in DIR/openapi.",
    ),
    click.option(
        "--config",
        "config",
        multiple=True,
        type=_FILE,
        metavar="FILE",
        help="Of files: what users set: a manifest of the ConfigMap, or of the Secret, or its sections as plain YAML.",
    ),
)

Source = ModuleFiles | debug.Sockets
"""Where answers come from: files, or a running hookrunner."""


def sourced(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags, and as `source` what they select: files with --modules-dir, else the debug sockets."""

    @wraps(command)
    def call(directories: tuple[str, ...], global_hooks: Path | None, config: tuple[Path, ...], **others: Any) -> Any:
        sockets = others.pop("sockets")
        program = click.get_current_context().find_root().info_name or ""
        files = ModuleFiles(directory_paths(directories, MODULES_DIR), global_hooks, config, program)
        if not files.directories and (global_hooks or config):
            raise click.UsageError("--config and --global-hooks-dir are for looking at files: give --modules-dir, too")
        return command(source=files if files.directories else sockets, **others)

    for option in (debug.at, *reversed(_FILE_OPTIONS)):
        call = option(call)
    return call


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """The cluster that files are rendered for. `live` reads a real one: that of these settings, else the usual one."""

    namespace: str
    version: str
    api_versions: tuple[str, ...]
    config: str
    context: str
    live: bool


_CLUSTER_OPTIONS = (
    click.option("--namespace", default="", metavar="NS", help="Of files: the namespace of the release."),
    *VERSION_OPTIONS,
    click.option(
        "--kube-config",
        "kubeconfig",
        default="",
        metavar="FILE",
        help="Of files: render for this cluster: its version, its APIs, and what `lookup` finds.",
    ),
    click.option("--kube-context", "context", default="", metavar="NAME", help="Of files: its context."),
)


def for_a_cluster(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the flags, and as `cluster` what they select."""

    @wraps(command)
    def call(namespace: str, version: str, kubeconfig: str, context: str, **rest: Any) -> Any:
        if kubeconfig and not Path(kubeconfig).is_file():
            raise click.BadParameter(f"there is no file '{kubeconfig}'", param_hint="--kube-config")
        named = named_versions(rest.pop("api_versions"))
        live = bool(kubeconfig or context or rest["diff"])
        cluster = ClusterChoice(namespace, version, named, kubeconfig, context, live)
        given = cluster != ClusterChoice("", "", (), "", "", live)
        if given and not isinstance(rest["source"], ModuleFiles):
            raise click.UsageError("flags about a cluster are for looking at files: give --modules-dir, too")
        return command(cluster=cluster, **rest)

    for option in reversed(_CLUSTER_OPTIONS):
        call = option(call)
    return call


def view_path(section: str, what: str, output: str, **flags: bool) -> str:
    """The path of a view of a module or of `global`: `/module/dns/values.yaml?global=true`."""
    base = section if section == GLOBAL else f"module/{quote(section, safe='')}"
    return f"/{base}/{what}.{output}" + flags_query(**flags)

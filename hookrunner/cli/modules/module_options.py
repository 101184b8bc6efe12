"""Options of `hookrunner module …`: files or a running hookrunner, and for which cluster files are rendered."""

from pathlib import Path

import click

from hookrunner.cli import debug
from hookrunner.cli.sources import VERSION_OPTIONS, directory_paths, gathered
from kubetypes.light_dataclasses import dataclass

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


def _select_source(
    directories: tuple[str, ...], global_hooks: Path | None, config: tuple[Path, ...], sockets: debug.Sockets
) -> Source:
    """Raises click.UsageError."""
    program = click.get_current_context().find_root().info_name or ""
    files = ModuleFiles(directory_paths(directories, MODULES_DIR), global_hooks, config, program)
    if not files.directories and (global_hooks or config):
        raise click.UsageError("--config and --global-hooks-dir are for looking at files: give --modules-dir, too")
    return files if files.directories else sockets


sourced = gathered("source", (*_FILE_OPTIONS, debug.at), _select_source)
"""Of commands that look at files too: as `source` files with --modules-dir, else the debug sockets."""


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """The cluster that files are rendered for; `kubeconfig` and `context` name a real one."""

    namespace: str = ""
    version: str = ""
    api_versions: tuple[str, ...] = ()
    kubeconfig: str = ""
    context: str = ""

    @property
    def live(self) -> bool:
        """Is a real cluster asked, and not only for a comparison?"""
        return bool(self.kubeconfig or self.context)


def _check_file(_ctx: click.Context, _param: click.Parameter, path: str) -> str:
    if path and not Path(path).is_file():
        raise click.BadParameter(f"there is no file '{path}'", param_hint="--kube-config")
    return path


_CLUSTER_OPTIONS = (
    click.option("--namespace", default="", metavar="NS", help="Of files: the namespace of the release."),
    *VERSION_OPTIONS,
    click.option(
        "--kube-config",
        "kubeconfig",
        default="",
        metavar="FILE",
        callback=_check_file,
        help="Of files: render for this cluster: its version, its APIs, and what `lookup` finds.",
    ),
    click.option("--kube-context", "context", default="", metavar="NAME", help="Of files: its context."),
)
for_a_cluster = gathered("cluster", _CLUSTER_OPTIONS, ClusterChoice)
"""Of commands that render files for a cluster: as `cluster` which one."""

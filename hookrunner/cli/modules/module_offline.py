"""What `hookrunner module …` says of files: read, decided and rendered without a running hookrunner."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import orjson

from hookrunner import settings
from hookrunner.cli.modules.module_options import MODULES_DIR, ModuleFiles
from hookrunner.cli.shared import quiet, relative, run_to_end
from hookrunner.cli.sources import directory_paths
from hookrunner.kube.cluster_lookup import without_cluster
from hookrunner.model.modules import Decision
from hookrunner.modules import graph as drawn
from hookrunner.modules import shelf
from hookrunner.modules.discovery import modules_in
from hookrunner.modules.offline import Offline, list_rows, offline, read_configured, stock_capabilities
from hookrunner.modules.scripts import Scripts
from hookrunner.options import Compat
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import Settings
from hookrunner.testing.display import as_yaml
from kubetypes.json_values import JSON

_DRAWINGS = {"text": drawn.text, "mermaid": drawn.mermaid, "dot": drawn.dot}


def load_settings(files: ModuleFiles) -> Settings:
    """Load the settings of `start`, with the flags of this command."""
    flags = {"modules-dir": ":".join(map(str, files.directories)) + ":"}
    flags |= {"global-hooks-dir": str(files.global_hooks)} if files.global_hooks else {}
    return settings.load(flags, files.program)


def read_modules(files: ModuleFiles) -> Offline:
    """Read the modules with their values. Raises StartRefused, BadInput."""
    with quiet():
        loaded = load_settings(files)
        given = read_configured(files.config, loaded.compat is Compat.ADDON)
        return offline(shelf.read(loaded.modules), given)


def named_paths(paths: Sequence[Path], directories: tuple[str, ...], loaded: Settings) -> tuple[Path, ...]:
    """The modules and directories of modules that the arguments of a command name. Raises click.UsageError."""
    named = (*paths, *directory_paths(directories, MODULES_DIR)) or loaded.modules.directories
    if not named:
        raise click.UsageError("there is no directory 'modules'; name a DIR, or --modules-dir DIR")
    return named


def module_paths(named: Sequence[Path]) -> list[Path]:
    """The modules that `named_paths` mean, each once. Raises BadInput."""
    return list(dict.fromkeys(module for path in named for module in modules_in(relative(path))))


def names(directories: tuple[str, ...]) -> list[str]:
    """The names of all modules in the directories that --modules-dir names."""
    return [
        module.name
        for module in read_modules(ModuleFiles(directory_paths(directories, MODULES_DIR), None, (), "")).shelf.modules
    ]


def values(files: ModuleFiles, name: str, layer: str, **flags: bool) -> JSON:
    """Effective values, or what the user has set if `layer` is `config`, as the debug endpoint has them with these
    flags. Raises BadInput, BadModule, BadValues."""
    modules = read_modules(files)
    if flags.get("explain"):
        return [origin.shown() for origin in modules.explain(name)]
    return (modules.config if layer == "config" else modules.values)(name, flags["global"])


def rows(files: ModuleFiles) -> list[JSON]:
    """A row for each module, as the debug endpoint has it."""
    modules = read_modules(files)
    return list_rows(modules.shelf, _decisions(files, modules))


def graph(files: ModuleFiles, form: str) -> str:
    """What waits for what. Without a configuration everything that can be loaded counts as on."""
    modules = read_modules(files)
    decisions = _decisions(files, modules) if files.config else {}
    return _DRAWINGS[form](drawn.Graph(modules.shelf.modules, decisions))


def to_text(value: JSON, form: str) -> str:
    """As the debug endpoint writes it."""
    if form == "yaml":
        return as_yaml(value) or "null\n"
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE).decode()


def _decisions(files: ModuleFiles, modules: Offline) -> dict[str, Decision]:
    with quiet():
        return run_to_end(_decide(load_settings(files), modules))


async def _decide(loaded: Settings, modules: Offline) -> dict[str, Decision]:
    """Decide which modules are on. Scripts find no cluster: they must not change the one that the user works with."""
    children = Children(Patience(kill=2.0, tidy=True))
    with TemporaryDirectory(prefix="hookrunner-enabled-") as scratch:
        hooks = replace(loaded.hooks, tmp_dir=Path(scratch), environ=without_cluster(loaded.hooks.environ))
        scripts = Scripts(hooks, children, loaded.modules.enabled_timeout)
        try:
            return await modules.decisions(loaded.modules.extenders, stock_capabilities().kube_version, scripts)
        finally:
            await children.stop(grace=0.0)

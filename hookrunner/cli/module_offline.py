"""What `hookrunner module …` says of files: read, decided and rendered without a running hookrunner."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from hookrunner import settings
from hookrunner.cli import ending
from hookrunner.cli.module_files import Files, paths
from hookrunner.cli.quiet import quiet
from hookrunner.kube.environment import without_cluster
from hookrunner.model.modules import Decision
from hookrunner.model.resources import JSON
from hookrunner.modules import configured, shelf
from hookrunner.modules import graph as drawn
from hookrunner.modules.offline import Offline, list_rows, offline, stock_capabilities
from hookrunner.modules.scripts import Scripts
from hookrunner.options import Compat
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import Settings
from hookrunner.testing.display import as_yaml

_DRAWINGS = {"text": drawn.text, "mermaid": drawn.mermaid, "dot": drawn.dot}


def asked(files: Files) -> Settings:
    """The settings under which the files are looked at: those of `start`, with what the flags say."""
    flags = {"modules-dir": ":".join(map(str, files.directories)) + ":"}
    flags |= {"global-hooks-dir": str(files.global_hooks)} if files.global_hooks else {}
    return settings.load(flags, files.program)


def opened(files: Files) -> Offline:
    """The modules with their values. Raises StartRefused, BadInput."""
    with quiet():
        found = asked(files)
        given = configured.read(files.config, found.compat is Compat.ADDON)
        return offline(shelf.read(found.modules), given)


def names(directories: tuple[str, ...]) -> list[str]:
    """Of all modules in what --modules-dir names."""
    return [module.name for module in opened(Files(paths(directories), None, (), "")).shelf.modules]


def values(files: Files, name: str, whole: bool) -> JSON:
    """Effective values. Raises BadInput, BadModule, BadValues."""
    return opened(files).values(name, whole)


def config(files: Files, name: str, whole: bool) -> JSON:
    """What the user has set. Raises BadInput, BadModule, BadValues."""
    return opened(files).config(name, whole)


def explained(files: Files, name: str) -> JSON:
    """A row for each value, as the debug endpoint has it. Raises BadInput, BadModule, BadValues."""
    return [origin.shown() for origin in opened(files).explain(name)]


def rows(files: Files) -> list[JSON]:
    """A row for each module, as the debug endpoint has it."""
    found = opened(files)
    return list_rows(found.shelf, _decisions(files, found))


def graph(files: Files, form: str) -> str:
    """What waits for what. Without a configuration everything that can be loaded counts as on."""
    found = opened(files)
    decisions = _decisions(files, found) if files.config else {}
    return _DRAWINGS[form](drawn.Graph(found.shelf.modules, decisions))


def written(value: JSON, form: str) -> str:
    """As the debug endpoint writes it."""
    if form == "yaml":
        return as_yaml(value) or "null\n"
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE).decode()


def _decisions(files: Files, found: Offline) -> dict[str, Decision]:
    with quiet():
        return ending.run(_decided(asked(files), found))


async def _decided(loaded: Settings, found: Offline) -> dict[str, Decision]:
    """Scripts find no cluster: nothing may happen to the one that somebody works with."""
    children = Children(Patience(kill=2.0, tidy=True))
    with TemporaryDirectory(prefix="hookrunner-enabled-") as scratch:
        hooks = replace(loaded.hooks, tmp_dir=Path(scratch), environ=without_cluster(loaded.hooks.environ))
        scripts = Scripts(hooks, children, loaded.modules.enabled_timeout)
        try:
            return await found.decisions(loaded.modules.extenders, stock_capabilities().kube_version, scripts)
        finally:
            await children.stop(grace=0.0)

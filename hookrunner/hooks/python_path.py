"""How Python hooks find the SDK with any Python that their first line names: at the end of PYTHONPATH (docs/sdk.md).

A module's environment, Debian's Python and the one of pipx do not have our packages, and our own `site-packages` would
give them libraries of another Python. So there is a directory with the SDK alone. Other hooks are run as ever. And the
terms under which a prepared interpreter may be forked for one.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import hookrunner
from hookrunner.hooks.discovery import HookFile
from hookrunner.process.child import Command, ForkTerms
from hookrunner.process.python_script import is_python
from hookrunner.settings import HooksSettings

PACKAGE = "hookrunner"
"""May be imported by an interpreter before it is forked: there it is the SDK."""
DIRECTORY = Path(hookrunner.__file__).parent / "on_python_path"


def with_sdk(file: HookFile, environ: Mapping[str, str]) -> HookFile:
    """The file, which finds the SDK if a Python runs it. What it finds by its PYTHONPATH comes first. The version is
    how the SDK knows what its configuration may contain."""
    given = {**environ, **file.environ}
    if not is_python(Command((*file.prefix, str(file.path)), Path(), given)):
        return file
    paths = [*filter(None, [given.get("PYTHONPATH")]), str(DIRECTORY)]
    own = {"PYTHONPATH": os.pathsep.join(paths), "HOOKRUNNER_VERSION": hookrunner.__version__}
    return replace(file, environ={**file.environ, **own})


def fork_terms(settings: HooksSettings, variables: Iterable[str] = ()) -> ForkTerms | None:
    """How a command may be forked, if it is a Python script. The variables are those of one run."""
    packages = (*settings.python_fork_packages, PACKAGE)
    return ForkTerms(frozenset(variables), packages) if settings.python_fork else None

"""New modules, with a chart, schemas, values, a hook and test cases. The texts are in `module/`."""

import re
import shlex
from pathlib import Path

from hookrunner.errors import BadInput
from hookrunner.model.modules import camel
from hookrunner.testing.starters.directory_starter import DirectoryStarter, checked_name

_FILES = {
    "module.yaml": "module.yaml",
    "Chart.yaml": "Chart.yaml",
    "helmignore": ".helmignore",
    "values.yaml": "values.yaml",
    "openapi/config-values.yaml": "openapi/config-values.yaml",
    "openapi/values.yaml": "openapi/values.yaml",
    "templates/config.yaml": "templates/config.yaml",
    "templates/deployment.yaml": "templates/deployment.yaml",
    "hooks/nodes.sh": "hooks/nodes.sh",
    "hooks/nodes.sh.test.yaml": "hooks/nodes.sh.test.yaml",
    "tests/module.test.yaml": "tests/@NAME@.test.yaml",
}
"""Each text, and which file in the module it becomes."""

_STEP = 10
_NUMBERED = re.compile("([0-9]+)-(.+)", re.DOTALL)


def module_starter(name: str, weight: int | None, directory: Path) -> DirectoryStarter:
    """A module of this name in the modules directory; without a weight, neither as a number before the name, it comes
    behind those that are there. Raises BadInput for a name that no module can have."""
    numbered = _NUMBERED.fullmatch(name)
    if numbered and weight is not None:
        raise BadInput(f"'{name}' says its weight, and so does --weight; drop one")
    bare = checked_name(numbered[2] if numbered else name, "module")
    _refuse_another(bare, directory)
    number = _next(directory) if weight is None else weight
    return _starter(bare, directory / (name if numbered else f"{number:03}-{name}"))


def _starter(name: str, directory: Path) -> DirectoryStarter:
    words = {
        "@NAME@": name,
        "@KEY@": camel(name),
        "@PATH@": shlex.quote(str(directory)),
        "@HOOK@": shlex.quote(str(directory / "hooks" / "nodes.sh")),
    }
    return DirectoryStarter(name, directory, "module", _FILES, words)


def _refuse_another(name: str, directory: Path) -> None:
    """Raise BadInput for a name that another module has: the second would not count, in any order."""
    for other in _names(directory):
        numbered = _NUMBERED.fullmatch(other)
        if name == (numbered[2] if numbered else other):
            raise BadInput(f"a module '{name}' is there already, in {directory / other}; take another name")


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []


def _next(directory: Path) -> int:
    """A number behind those that are taken."""
    taken = [int(match[1]) for name in _names(directory) if (match := _NUMBERED.fullmatch(name))]
    return (max(taken, default=0) // _STEP + 1) * _STEP

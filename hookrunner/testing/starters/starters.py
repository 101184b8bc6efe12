"""New hooks and modules with their test cases. The texts are the files beside this one."""

import re
import shlex
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path, PurePosixPath

from hookrunner.errors import BadInput
from hookrunner.model.modules import GLOBAL, camel, kebab
from hookrunner.modules.discovery import LONGEST_RELEASE
from hookrunner.testing.cases.case_format import SUFFIX

LANGUAGES = {"bash": "sh", "python": "py"}
"""Each with the extension of its files."""
KINDS = ("events", "validating", "mutating", "conversion")
"""What a hook may be for: to hear of events, or to be asked by the API server."""


@dataclass(frozen=True, slots=True)
class Starter:
    """Two files that are not written yet."""

    hook: Path
    tests: Path
    language: str
    kind: str

    def write(self) -> None:
        """Make both, the hook executable. Raises BadInput if one is there already, or cannot be made; then none is."""
        for path in (self.hook, self.tests):
            if path.exists():
                raise BadInput(f"{path} is there already, and nothing was changed; take another name")
        with ExitStack() as undo:
            try:
                self.hook.parent.mkdir(parents=True, exist_ok=True)
                self._make(self.hook, f"{self.kind}.{LANGUAGES[self.language]}.txt", 0o777, undo)
                self._make(self.tests, f"{self.kind}.test.yaml.txt", 0o666, undo)
            except OSError as error:
                raise BadInput(f"cannot write {error.filename or self.hook}: {error.strerror}") from None
            undo.pop_all()

    def _make(self, path: Path, template: str, mode: int, undo: ExitStack) -> None:
        """With the user's umask. A file that another program has made meanwhile is not overwritten."""
        text = (files("hookrunner.testing.starters") / template).read_text("utf-8")
        path.touch(mode, exist_ok=False)
        undo.callback(path.unlink)
        named = {"@FILE@": self.hook.name, "@PATH@": shlex.quote(str(self.hook)), "@WEBHOOK@": self._webhook}
        path.write_text(_filled(text, named), "utf-8")

    @property
    def _webhook(self) -> str:
        """A name for a webhook, after the hook."""
        return f"{re.sub('[^a-z0-9]+', '-', self.hook.stem.lower()).strip('-') or 'hook'}.example.com"


def _filled(text: str, named: Mapping[str, str]) -> str:
    """A template with its placeholders replaced, all at once: what is put in may look like another one."""
    return re.sub("|".join(named), lambda match: named[match[0]], text)


def starter(name: str, language: str, kind: str, directory: Path) -> Starter:
    """A hook of one of `KINDS` with this name (with folders, and with or without extension) in the hooks directory.

    Raises BadInput for a name that hookrunner would not take for a hook's.
    """
    path = PurePosixPath(name)
    parts = path.parts
    if not name.strip() or not name.isprintable() or path.is_absolute() or ".." in parts or name.endswith("/"):
        raise BadInput(f"{name!r} is not a file name below {directory}")
    if any(part.startswith(".") for part in parts) or "lib" in parts[:-1]:
        raise BadInput(f"'{name}': hidden files and what is in `lib` are never hooks; take another name")
    extension = LANGUAGES[language]
    hook = directory / (path if path.suffix == f".{extension}" else f"{path}.{extension}")
    return Starter(hook, hook.with_name(hook.name + SUFFIX), language, kind)


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


@dataclass(frozen=True, slots=True)
class ModuleStarter:
    """A directory that is not there yet."""

    name: str
    directory: Path

    @property
    def paths(self) -> list[Path]:
        """Its files."""
        return [self.directory / path.replace("@NAME@", self.name) for path in _FILES.values()]

    def write(self) -> None:
        """Make it, whole or not at all. Raises BadInput if it is there already, or cannot be made."""
        if self.directory.exists():
            raise BadInput(f"{self.directory} is there already, and nothing was changed; take another name")
        with ExitStack() as undo:
            try:
                self.directory.parent.mkdir(parents=True, exist_ok=True)
                self.directory.mkdir()
                undo.callback(shutil.rmtree, self.directory, ignore_errors=True)
                for text, path in zip(_FILES, self.paths, strict=True):
                    self._make(text, path)
            except OSError as error:
                raise BadInput(f"cannot write {error.filename or self.directory}: {error.strerror}") from None
            undo.pop_all()

    def _make(self, template: str, path: Path) -> None:
        """With the user's umask; a script can be executed."""
        with as_file(files("hookrunner.testing.starters")) as starters:
            text = (starters / "module" / f"{template}.txt").read_text("utf-8")
        named = {
            "@NAME@": self.name,
            "@KEY@": camel(self.name),
            "@PATH@": shlex.quote(str(self.directory)),
            "@HOOK@": shlex.quote(str(self.directory / "hooks" / "nodes.sh")),
        }
        path.parent.mkdir(exist_ok=True)
        path.touch(0o777 if text.startswith("#!") else 0o666, exist_ok=False)
        path.write_text(_filled(text, named), "utf-8")


def module_starter(name: str, weight: int | None, directory: Path) -> ModuleStarter:
    """A module of this name in the modules directory; without a weight, neither as a number before the name, it comes
    behind those that are there. Raises BadInput for a name that no module can have."""
    numbered = _NUMBERED.fullmatch(name)
    if numbered and weight is not None:
        raise BadInput(f"'{name}' says its weight, and so does --weight; drop one")
    bare = _named(numbered[2] if numbered else name)
    _refuse_another(bare, directory)
    number = _next(directory) if weight is None else weight
    return ModuleStarter(bare, directory / (name if numbered else f"{number:03}-{name}"))


def _named(name: str) -> str:
    if name == GLOBAL:
        raise BadInput(f"'{GLOBAL}' can be no module's name, for it is the section of the values that all share")
    wanted = kebab(camel(name))
    if not re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) or wanted != name:
        usable = re.fullmatch("[a-z][-a-z0-9]*", wanted) and wanted not in (name, GLOBAL)
        hint = f"; take '{wanted}'" if usable else ", like cert-manager"
        raise BadInput(f"'{name}' can be no module's name: lowercase letters, digits and '-'{hint}")
    if len(name) > LONGEST_RELEASE:
        raise BadInput(f"'{name}' is too long for the name of a release: at most {LONGEST_RELEASE} characters")
    return name


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

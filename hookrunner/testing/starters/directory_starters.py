"""New modules and addons: directories with files that are made from those in `module/` and `addon/`. The first is a
module as it stands, which ships as `modules/100-hello-world`: a new module has its files under another name. Those of
an addon are texts with placeholders."""

import re
import shlex
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from hookrunner.errors import BadInput
from hookrunner.model.modules import GLOBAL, camel, kebab
from hookrunner.model.releases import LONGEST_RELEASE
from kubetypes.light_dataclasses import dataclass

_STARTERS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class DirectoryStarter:
    """A directory that does not exist yet. `name` is what it is for; `folder` has the texts, each of which becomes one
    of `files`; `words` are what is replaced in both."""

    name: str
    directory: Path
    folder: str
    files: Mapping[str, str]
    words: Mapping[str, str]

    @property
    def paths(self) -> list[Path]:
        """Its files."""
        return [self.directory / filled(path, self.words) for path in self.files.values()]

    def write(self) -> None:
        """Make it, whole or not at all. Raises BadInput if it is there already, or cannot be made."""
        templates = ((_STARTERS / self.folder / file).read_text("utf-8") for file in self.files)
        texts = (filled(template, self.words) for template in templates)
        write_new(dict(zip(self.paths, texts, strict=True)), self.directory)


def write_new(texts: Mapping[Path, str], directory: Path | None = None) -> None:
    """Make files with these texts, which may all be in a new directory: all or none, with the user's umask; scripts can
    be executed. A file that another program has made meanwhile is not overwritten. Raises BadInput if one is there
    already, or the directory, or if one cannot be made."""
    new = [directory] if directory else list(texts)
    for path in new:
        if path.exists():
            raise BadInput(f"{path} is there already, and nothing was changed; take another name")
    with ExitStack() as undo:
        try:
            if directory:
                directory.parent.mkdir(parents=True, exist_ok=True)
                directory.mkdir()
                undo.callback(shutil.rmtree, directory, ignore_errors=True)
            for path, text in texts.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(0o777 if text.startswith("#!") else 0o666, exist_ok=False)
                undo.callback(path.unlink, missing_ok=True)
                path.write_text(text, "utf-8")
        except OSError as error:
            raise BadInput(f"cannot write {error.filename or new[0]}: {error.strerror}") from None
        undo.pop_all()


def filled(text: str, words: Mapping[str, str]) -> str:
    """A template with its words replaced, all at once: what is put in may look like another one. The first word that
    fits counts."""
    return re.sub("|".join(map(re.escape, words)), lambda match: words[match[0]], text)


def checked_name(name: str, what: str) -> str:
    """The name of a new module or addon, `what` says of which. Raises BadInput for one that it cannot have."""
    if name == GLOBAL:
        raise BadInput(f"'{GLOBAL}' can be no {what}'s name, for it is the section of the values that all share")
    wanted = kebab(camel(name))
    if not re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) or wanted != name:
        usable = re.fullmatch("[a-z][-a-z0-9]*", wanted) and wanted not in (name, GLOBAL)
        hint = f"; take '{wanted}'" if usable else ", like cert-manager"
        raise BadInput(f"'{name}' can be no {what}'s name: lowercase letters, digits and '-'{hint}")
    if len(name) > LONGEST_RELEASE:
        raise BadInput(f"'{name}' is too long for the name of a release: at most {LONGEST_RELEASE} characters")
    return name


_SAMPLE, _SAMPLES = "hello-world", "modules"
_SAMPLE_PATH = f"{_SAMPLES}/100-{_SAMPLE}"
"""The sample as its own comments name it: its name, the modules directory, its directory."""

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
    return _module_of(bare, directory / (name if numbered else f"{number:03}-{name}"))


def _module_of(name: str, directory: Path) -> DirectoryStarter:
    words = {
        f"--modules-dir {_SAMPLES}": f"--modules-dir {shlex.quote(str(directory.parent))}",
        _SAMPLE_PATH: shlex.quote(str(directory)),
        _SAMPLE: name,
        camel(_SAMPLE): camel(name),
    }
    sample = _STARTERS / "module"
    paths = sorted(str(path.relative_to(sample)) for path in sample.rglob("*") if path.is_file())
    return DirectoryStarter(name, directory, "module", dict(zip(paths, paths, strict=True)), words)


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


VERSION = "0.1.0"
"""The version of its only package."""

_PACKAGE = f"channels/packages/@NAME@/{VERSION}"
_ADDON_FILES = {
    "addon.yaml": "addon.yaml",
    "README.md": "README.md",
    "example.yaml": "example.yaml",
    "spec.yaml": "openapi/spec.yaml",
    "values.yaml": "openapi/values.yaml",
    "nodes.sh": "hooks/nodes.sh",
    "nodes.sh.test.yaml": "hooks/nodes.sh.test.yaml",
    "stable": "channels/stable",
    "config.yaml": f"{_PACKAGE}/config.yaml",
    "deployment.yaml": f"{_PACKAGE}/deployment.yaml",
    "greeting.in.yaml": "tests/greeting.in.yaml",
    "greeting.side_in.yaml": "tests/greeting.side_in.yaml",
    "greeting.out.yaml": "tests/greeting.out.yaml",
}
"""Each text without `.txt`, and which file in the addon it becomes."""


def addon_starter(name: str, directory: Path) -> DirectoryStarter:
    """An addon of this name in the addons directory. Raises BadInput for a name that no addon can have."""
    checked_name(name, "addon")
    addon = directory / name
    key = camel(name)
    words = {
        "@NAME@": name,
        "@KEY@": key,
        "@KIND@": key[:1].upper() + key[1:],
        "@LOWER@": key.lower(),
        "@VERSION@": VERSION,
        "@PATH@": shlex.quote(str(addon)),
        "@ADDONS@": shlex.quote(str(directory)),
        "@HOOK@": shlex.quote(str(addon / "hooks" / "nodes.sh")),
    }
    texts = {f"{text}.txt": path for text, path in _ADDON_FILES.items()}
    return DirectoryStarter(name, addon, "addon", texts, words)

"""A new directory with files that are made from texts beside this one: modules and addons begin as such."""

import re
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from hookrunner.errors import BadInput
from hookrunner.model.modules import GLOBAL, camel, kebab
from hookrunner.model.releases import LONGEST_RELEASE


@dataclass(frozen=True, slots=True)
class DirectoryStarter:
    """A directory that does not exist yet. `name` is what it is for; `folder` has the texts, each of which becomes one
    of `files`, by its name without `.txt`; `words` are the placeholders in both."""

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
        if self.directory.exists():
            raise BadInput(f"{self.directory} is there already, and nothing was changed; take another name")
        with ExitStack() as undo:
            try:
                self.directory.parent.mkdir(parents=True, exist_ok=True)
                self.directory.mkdir()
                undo.callback(shutil.rmtree, self.directory, ignore_errors=True)
                for text, path in zip(self.files, self.paths, strict=True):
                    self._make(text, path)
            except OSError as error:
                raise BadInput(f"cannot write {error.filename or self.directory}: {error.strerror}") from None
            undo.pop_all()

    def _make(self, template: str, path: Path) -> None:
        """With the user's umask; a script can be executed."""
        with as_file(files("hookrunner.testing.starters")) as starters:
            text = (starters / self.folder / f"{template}.txt").read_text("utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o777 if text.startswith("#!") else 0o666, exist_ok=False)
        path.write_text(filled(text, self.words), "utf-8")


def filled(text: str, words: Mapping[str, str]) -> str:
    """A template with its placeholders replaced, all at once: what is put in may look like another one."""
    return re.sub("|".join(words), lambda match: words[match[0]], text)


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

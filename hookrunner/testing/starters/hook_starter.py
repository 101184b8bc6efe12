"""New hooks with their test cases. The texts are the files beside this one."""

import re
import shlex
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath

from hookrunner.errors import BadInput
from hookrunner.testing.cases.case_format import SUFFIX
from hookrunner.testing.starters.directory_starters import filled

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
        path.write_text(filled(text, named), "utf-8")

    @property
    def _webhook(self) -> str:
        """A name for a webhook, after the hook."""
        return f"{re.sub('[^a-z0-9]+', '-', self.hook.stem.lower()).strip('-') or 'hook'}.example.com"


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

"""New hooks with their test cases. The texts are the files beside this one."""

import re
import shlex
from importlib.resources import files
from pathlib import Path, PurePosixPath

from hookrunner.errors import BadInput
from hookrunner.testing.cases.case_format import SUFFIX
from hookrunner.testing.starters.directory_starters import filled, write_new
from kubetypes.light_dataclasses import dataclass

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
    resident: bool = False

    def write(self) -> None:
        """Make both, the hook executable. Raises BadInput if one is there already, or cannot be made; then none is."""
        named = {"@FILE@": self.hook.name, "@PATH@": shlex.quote(str(self.hook)), "@WEBHOOK@": self._webhook}
        templates = {self.hook: LANGUAGES[self.language], self.tests: "test.yaml"}
        starters = files("hookrunner.testing.starters")
        kinds = {self.hook: "resident" if self.resident else self.kind, self.tests: self.kind}
        texts = {path: (starters / f"{kinds[path]}.{end}.txt").read_text("utf-8") for path, end in templates.items()}
        write_new({path: filled(text, named) for path, text in texts.items()})

    @property
    def _webhook(self) -> str:
        """A name for a webhook, after the hook."""
        return f"{re.sub('[^a-z0-9]+', '-', self.hook.stem.lower()).strip('-') or 'hook'}.example.com"


def starter(name: str, language: str, kind: str, directory: Path, resident: bool = False) -> Starter:
    """A hook of one of `KINDS` with this name (with folders, and with or without extension) in the hooks directory.
    `resident`: one whose process stays, which only the first kind has.

    Raises BadInput for a name that hookrunner would not take for a hook's, and for another kind that stays.
    """
    if resident and kind != KINDS[0]:
        raise BadInput(f"--resident writes a hook of the kind {KINDS[0]}; copy from it what answers runs")
    path = PurePosixPath(name)
    parts = path.parts
    if not name.strip() or not name.isprintable() or path.is_absolute() or ".." in parts or name.endswith("/"):
        raise BadInput(f"{name!r} is not a file name below {directory}")
    if any(part.startswith(".") for part in parts) or "lib" in parts[:-1]:
        raise BadInput(f"'{name}': hidden files and what is in `lib` are never hooks; take another name")
    extension = LANGUAGES[language]
    hook = directory / (path if path.suffix == f".{extension}" else f"{path}.{extension}")
    return Starter(hook, hook.with_name(hook.name + SUFFIX), language, kind, resident)

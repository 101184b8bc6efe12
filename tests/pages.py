"""What the pages of docs/ consist of besides prose: files that a reader writes, and commands with what they print."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class File:
    """A file's path and its text."""

    name: str
    text: str

    def write(self, directory: Path) -> None:
        """Scripts can be executed."""
        (path := directory / self.name).parent.mkdir(exist_ok=True)
        path.write_text(self.text)
        path.chmod(0o755 if self.text.startswith("#!") else 0o644)


@dataclass(frozen=True, slots=True)
class Console:
    """Commands, each with what is then shown; `mark` says where they are run, mostly nothing."""

    mark: str
    commands: list[tuple[str, str]]


def steps(page: str) -> Iterator[File | Console]:
    """In the page's order."""
    for language, name, text in _BLOCK.findall((DOCS / page).read_text()):
        if language == "console":
            yield Console(name, _COMMAND.findall(text))
        elif "." in name:
            yield File(name, text)

"""The text of a hook, as far as a linter can read it: in which language it is, and what of it is not a comment."""

import ast
import io
import re
import tokenize
from enum import Enum
from functools import cached_property
from pathlib import Path, PurePosixPath

from kubetypes.light_dataclasses import dataclass

_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "zsh")
_BINARY = b"\0"
_COMMENT_LINE = re.compile(r"^[ \t]*#(?!!).*$", re.MULTILINE)
_FRAMEWORK = re.compile(r"shell_lib\.sh|hookrunner shell-lib|/frameworks/shell\b")
_SOURCED = re.compile(
    r"""(?:^|[;&|{(]|\b(?:then|do|else)\b)[ \t]*(?:source[ \t]+|\.[ \t]+(?=["']?[$/.~]))([^;&|\n]+)""", re.MULTILINE
)
"""A sourced file, at the beginning of any command."""


class Language(Enum):
    """What the checks of texts can read. A program that was compiled is OTHER, as is every other script."""

    SHELL = "shell"
    PYTHON = "python"
    OTHER = "other"


@dataclass(frozen=True)
class Source:
    """A file's bytes and what they mean as text. Offsets in `text` and in `code` are the same."""

    path: Path
    raw: bytes

    @property
    def binary(self) -> bool:
        return _BINARY in self.raw[:8192]

    @cached_property
    def text(self) -> str:
        return "" if self.binary else self.raw.decode("utf-8-sig", errors="replace")

    @cached_property
    def language(self) -> Language:
        """By the first line, or by the file's name where that says nothing."""
        first = self.text.partition("\n")[0].strip()
        words = first.removeprefix("#!").split() if first.startswith("#!") else []
        names = [PurePosixPath(word).name for word in words if not word.startswith("-")]
        name = names[1] if names[:1] == ["env"] and len(names) > 1 else (names or [""])[0]
        if name in _SHELLS or (not name and self.path.suffix in (".sh", ".bash")):
            return Language.SHELL
        if name.startswith("python") or (not name and self.path.suffix == ".py"):
            return Language.PYTHON
        return Language.OTHER

    @cached_property
    def code(self) -> str:
        """The text with spaces where comments are. Comments behind code stay in shell scripts, where only a shell
        could distinguish them from texts."""
        if self.language is Language.PYTHON:
            return _without_python_comments(self.text)
        return _COMMENT_LINE.sub(lambda match: " " * len(match[0]), self.text)

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree of a Python file, None if it is not one or cannot be parsed."""
        if self.language is not Language.PYTHON:
            return None
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError):
            return None

    @property
    def framework(self) -> bool:
        """A shell script that leaves the reading of contexts to the shell framework."""
        return self.language is Language.SHELL and "hook::run" in self.code and bool(_FRAMEWORK.search(self.code))

    @property
    def sources_others(self) -> bool:
        """Does a shell script source files besides the framework? Nothing is known of those."""
        return any(not _FRAMEWORK.search(match[1]) for match in _SOURCED.finditer(self.code))

    def find(self, *texts: str) -> int:
        """The offset of the first of these texts that occurs, 0 if none does."""
        places = (self.text.find(text) for text in texts if text)
        return next((place for place in places if place >= 0), 0)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1."""
        before = self.text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    def offset(self, node: ast.expr) -> int:
        """Where a node of the tree begins."""
        lines = _lines(self.text)
        line = lines[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace")
        return sum(map(len, lines[: node.lineno - 1])) + len(line)


def _lines(text: str) -> list[str]:
    """With their ends, as Python counts them: a form feed ends none."""
    return io.StringIO(text).readlines()


def _without_python_comments(text: str) -> str:
    lines = _lines(text)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                (row, start), (_, end) = token.start, token.end
                line = lines[row - 1]
                lines[row - 1] = line[:start] + " " * (end - start) + line[end:]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return text
    return "".join(lines)

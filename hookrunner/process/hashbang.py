"""The first line of an executable as Linux reads it: `#!`, the interpreter, and one argument of all that follows.

Only spaces and tabs part the two (binfmt_script.c): a carriage return belongs to a name, which is then not found.
"""

import os
import re
from pathlib import Path

from kubetypes.light_dataclasses import dataclass

_LONGEST = 256
"""Bytes that Linux reads of it, BINPRM_BUF_SIZE."""
_GAP = re.compile(rb"[ \t]+")


@dataclass(frozen=True, slots=True)
class Hashbang:
    """`argument` may be empty; so is `interpreter` if nothing follows the `#!`."""

    interpreter: str
    argument: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """Both, or the interpreter alone."""
        return (self.interpreter, self.argument) if self.argument else (self.interpreter,)

    @property
    def ends_in_return(self) -> bool:
        """Was the file saved with the line ends of Windows?"""
        return self.words[-1].endswith("\r")


def read_head(path: str | Path) -> bytes:
    """The beginning of a file, as far as Linux looks. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(_LONGEST)


def parse(head: bytes) -> Hashbang | None:
    """None for a file that does not begin with `#!`."""
    if not head.startswith(b"#!"):
        return None
    words = _GAP.split(head[2:].split(b"\n")[0].strip(b" \t"), maxsplit=1)
    return Hashbang(*map(os.fsdecode, words))

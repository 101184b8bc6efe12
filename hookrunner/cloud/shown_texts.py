"""Texts of a cloud's program as people may see them, in Events, logs, conditions and messages: without secrets,
printable, on one line and short.

    shortened(mask(text))      # a message
    quoted(text, mask)         # a part of a message

Which words are secret is known where the program is (`provider/provider_program.py`); a function that puts such texts
into words takes a `Mask`. Texts are masked first: of one that was cut, half of a secret would be left. What is written
to a Node or a Service is never such a text: it is the valid one itself, or nothing.
"""

from collections.abc import Callable
from typing import TypeAlias

from hookrunner.printable import printable

Mask: TypeAlias = Callable[[str], str]
"""Takes secrets out of a text. `str` takes out none."""
LONGEST = 1000
_QUOTED = 80


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text as one printable line of at most so many characters."""
    if len(text) <= longest and text.isprintable() and "  " not in text:
        return text.strip()  # as most are, and an answer may have thousands
    return _cut(printable(" ".join(text.split())), longest)


def quoted(text: str, mask: Mask = str) -> str:
    """The text in quotes, for a message about what is wrong with it: ends of lines are visible."""
    line = mask(text).replace("\n", r"\n").replace("\t", r"\t")
    return f"'{_cut(printable(line), _QUOTED)}'"


def _cut(line: str, longest: int) -> str:
    return line if len(line) <= longest else f"{line[:longest]}…"

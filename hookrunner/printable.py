"""Characters that a terminal obeys, made visible: what a hook, an object or a file says never moves a cursor, sets a
title or hides a line. The log and all that the command line prints go through here.

Tabs and ends of lines stay. Directions of text (U+202A and others) let a line be read as another one, and count, too.
A file of its own because `--help` and the debug commands start without what the log needs (orjson, asyncio).
"""

import re

_OBEYED = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(rf"[{_OBEYED}]")
_CONTROL_IN_FILES = re.compile(rf"(?!\r\n)[{_OBEYED}]")
_STYLE = re.compile(r"(\x1b\[(?:[01]|3[1-6]|90)m)")


def printable(text: str) -> str:
    r"""The text with `\x1b` for an escape character, for one value of a line."""
    return _CONTROL.sub(_as_python, text)


def printable_text(text: str) -> str:
    """The same for whole texts, in which lines may end as on Windows."""
    return _CONTROL_IN_FILES.sub(_as_python, text)


def printable_json(text: str) -> str:
    r"""The same for a JSON text, which means what it meant before: `\u009b` in a string is the character itself."""
    return _CONTROL_IN_FILES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printable_but_colors(text: str) -> str:
    """The same, but the colours stay that the command line itself has set."""
    return "".join(part if index % 2 else printable_text(part) for index, part in enumerate(_STYLE.split(text)))


def _as_python(match: re.Match[str]) -> str:
    return repr(match[0])[1:-1]

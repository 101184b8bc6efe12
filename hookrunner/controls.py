"""Characters that a terminal obeys, made visible: what a hook, an object or a file says never moves a cursor, sets a
title or hides a line. The log and all that the command line prints go through here.

Tabs and ends of lines stay. Directions of text (U+202A and others) let a line be read as another one, and count, too.
"""

import re

_OBEYED = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(rf"[{_OBEYED}]")
_CONTROL_IN_FILES = re.compile(rf"(?!\r\n)[{_OBEYED}]")
_COLOR = re.compile(r"(\x1b\[(?:[01]|3[1-6])m)")


def shown(text: str) -> str:
    r"""The text with `\x1b` for an escape character, for one value of a line."""
    return _CONTROL.sub(_as_python, text)


def shown_in_text(text: str) -> str:
    """The same for whole texts, in which lines may end as on Windows."""
    return _CONTROL_IN_FILES.sub(_as_python, text)


def shown_in_json(text: str) -> str:
    r"""The same for a JSON text, which means what it meant before: `\u009b` in a string is the character itself."""
    return _CONTROL_IN_FILES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shown_but_colors(text: str) -> str:
    """The same, but the colours stay that the command line itself has set."""
    return "".join(part if place % 2 else shown_in_text(part) for place, part in enumerate(_COLOR.split(text)))


def _as_python(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]

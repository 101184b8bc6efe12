"""One log record as one line, in the forms that `--log-type` names: `json` (keys and order of shell-operator), `text`
(logfmt), `color` and `plain` (for eyes at a terminal). Any value can be shown, and nothing here raises."""

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Literal

import orjson
from structlog.dev import ConsoleRenderer
from structlog.processors import LogfmtRenderer

from hookrunner.printable import printable, printable_json

LogType = Literal["json", "text", "color"]
Event = dict[str, object]
"""The keys of a record with their values, in their order."""

_WORDS = (PurePath, BaseException)
_NOT_IN_KEYS = re.compile(r'[\s="]+')
_GREY, _GREEN, _YELLOW, _RED = "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[31m"
_COLORS = {"trace": _GREY, "debug": _GREY, "info": _GREEN, "warn": _YELLOW, "error": _RED, "fatal": _RED}


def _record(event: Event) -> str:
    try:
        text = orjson.dumps(event, default=_shown).decode()
    except TypeError:  # some value goes deeper than `default` reaches: a huge number, bad UTF-8, a cycle
        text = "{" + ",".join(f"{_json(_shown(key))}:{_json(value)}" for key, value in event.items()) + "}"
    return text if text.isascii() else printable_json(text)


def _json(value: object) -> str:
    """JSON text of anything: what JSON cannot carry is replaced by text, nothing raises."""
    try:
        return orjson.dumps(value, default=_shown).decode()
    except TypeError:
        return orjson.dumps(_shown(value)).decode()


def _shown(value: object) -> str:
    """Text for a value: words of errors and paths as they are, else its repr, always valid UTF-8."""
    try:
        text = value if isinstance(value, str) else (isinstance(value, _WORDS) and str(value)) or repr(value)
    except Exception as error:
        text = f"<{type(value).__name__} whose repr failed: {type(error).__name__}>"
    return text.encode(errors="backslashreplace").decode()


def _flat(event: Event) -> dict[str, str]:
    """Keys without spaces and values as text, for the forms that people read; their terminals obey nothing in them."""
    texts = {printable(_NOT_IN_KEYS.sub("_", key) or "_"): _json(value) for key, value in event.items()}
    plain = {key: orjson.loads(text) if text.startswith('"') else text for key, text in texts.items()}
    return {key: printable(text) for key, text in plain.items()}


def _text(event: Event) -> str:
    """A tab would end a value."""
    return str(_LOGFMT(None, "", {key: text.replace("\t", r"\t") for key, text in _flat(event).items()}))


def _color(event: Event) -> str:
    """Only a record begins at the left: further lines of its message or stack are indented."""
    stack = event.pop("stacktrace", [])
    lines = [str(_CONSOLE(None, "", _flat(event))).rstrip()]
    return "\n".join([*lines, *(map(printable, stack) if isinstance(stack, list) else [])]).replace("\n", "\n    ")


_LOGFMT = LogfmtRenderer(key_order=["time", "level", "logger", "msg"], drop_missing=True)
_CONSOLE = ConsoleRenderer(event_key="msg", timestamp_key="time", level_styles=_COLORS, pad_event_to=0, colors=True)
RENDERERS: dict[str, Callable[[Event], str]] = {"json": _record, "text": _text, "color": _color}

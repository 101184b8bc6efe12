"""One log record as one line, in the forms that `--log-type` names: `json` (keys and order of shell-operator), `text`
(logfmt), `color` and `plain` (for eyes at a terminal). Any value can be shown, and nothing here raises."""

import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Literal

import orjson

from hookrunner.printable import printable, printable_json

LogType = Literal["json", "text", "color", "plain"]
Event = dict[str, object]
"""The keys of a record with their values, in their order."""

_WORDS = (PurePath, BaseException)
_NOT_IN_KEYS = re.compile(r'[\s="]+')
_DIM, _CYAN, _YELLOW, _RED = "\x1b[2m", "\x1b[36m", "\x1b[33m", "\x1b[31m"
_COLORS = {"trace": _DIM, "debug": _DIM, "info": "", "warn": _YELLOW, "error": _RED, "fatal": _RED}
_NARROWEST, _WIDEST = 20, 32  # columns of what a record is about
_UNITS = ("module", "instance")
_SUBJECTS = ("addon", "node", "service", "loop", "provider", "lease", "release", "webhook")
_EXPLANATIONS = ("reason", "error", "hint")
_USUAL = {"queue": "main", "output": "stdout"}
_UNSEEN = frozenset({"logger", "proxyJsonLog", "task"})
_CONTEXT = frozenset({"binding", "event"})
"""Fields that help to find what went wrong."""
_REMEMBERED = 1000
"""Lines of hooks' output that a terminal has shown last."""
_ABOVE = "(its output is above)"
_SPACE = re.compile(r"\s")
_FIRST = ("time", "level", "logger", "msg")
"""Keys that a line of logfmt begins with."""


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
    """https://brandur.org/logfmt; a tab would end a value."""
    texts = {key: _logfmt(text) for key, text in _flat(event).items()}
    ordered = {key: texts[key] for key in _FIRST if key in texts} | texts
    return " ".join(f"{key}={text}" for key, text in ordered.items())


def _logfmt(text: str) -> str:
    is_quoted = any(character in text for character in ' ="')
    if is_quoted:
        text = text.replace("\\", r"\\").replace('"', r"\"")
    text = text.replace("\n", r"\n").replace("\t", r"\t")
    return f'"{text}"' if is_quoted else text


class _Terminal:
    """The form for eyes: the time of day here, what the record is about in a column, the message, what explains it, and
    the fields that are unusual. A column grows when a longer name comes. A record that has a `source`, as at the level
    debug, is shown with all that it has. An error of several lines that the hook has just printed, such as a traceback,
    is shown as its last line."""

    def __init__(self, colors: bool) -> None:
        self._colors = colors
        self._width = _NARROWEST
        self._printed = deque[tuple[str, str]](maxlen=_REMEMBERED)

    def render(self, event: Event) -> str:
        """Only a record begins at the left: further lines of its message or stack are indented."""
        stack = event.pop("stacktrace", None)
        texts = _flat({key: _joined(value) for key, value in event.items()})
        level, subject = texts["level"], _take_subject(texts)
        self._width = max(self._width, min(len(subject), _WIDEST))
        if "output" in texts:
            self._printed.append((subject, texts["msg"].strip()))
        explanations = [self._shorten(subject, text) for key in _EXPLANATIONS if (text := texts.pop(key, ""))]
        message = ": ".join([*([] if level == "info" else [level]), texts["msg"], *explanations])
        fields = [f"{key}={_quoted(text)}" for key, text in texts.items() if not _is_usual(key, text, texts)]
        lines = stack if isinstance(stack, list) else []
        parts = [self._paint(_DIM, time.strftime("%H:%M:%S")), self._paint(_CYAN, subject.ljust(self._width))]
        parts += [self._paint(_COLORS[level], message), *(self._paint(_DIM, field) for field in fields)]
        return "\n".join(["  ".join(parts), *map(printable, lines)]).replace("\n", "\n    ")

    def _shorten(self, subject: str, text: str) -> str:
        """`a.sh FAILED: ` and the last line, if all lines behind that have been shown as this hook's output."""
        if "\n" not in text:
            return text
        first, *more = text.splitlines()
        printed = {line for about, line in self._printed if about == subject}
        begins = [line for line in printed if line and first.endswith(line)]
        if not begins or any(line.strip() not in printed for line in more):
            return text
        return f"{first.removesuffix(max(begins, key=len))}{more[-1].strip()} {_ABOVE}"

    def _paint(self, color: str, text: str) -> str:
        return f"{color}{text}\x1b[0m" if self._colors and color and text.strip() else text


def _joined(value: object) -> object:
    """A list of words as one text."""
    is_words = isinstance(value, list) and all(isinstance(word, str) for word in value)
    return ", ".join(value) if is_words else value  # type: ignore[arg-type]


def _take_subject(texts: dict[str, str]) -> str:
    """What a record is about: a hook, with its unit if it has one, or else the first of `_SUBJECTS` that it has."""
    texts.pop("unit", "")
    unit = next((texts.pop(key) for key in _UNITS if key in texts), "")
    hook = texts.pop("hook", "")
    if unit or hook:
        return "/".join(filter(None, (unit, hook)))
    return next((texts.pop(key) for key in _SUBJECTS if key in texts), "")


def _is_usual(key: str, text: str, texts: Mapping[str, str]) -> bool:
    """Does this field say nothing to eyes?"""
    if key in ("level", "msg", "time") or text in ("", "null"):
        return True
    if "source" in texts:
        return False
    return key in _UNSEEN or _USUAL.get(key) == text or (key in _CONTEXT and texts["level"] == "info")


def _quoted(text: str) -> str:
    return '"' + text.replace("\n", r"\n") + '"' if _SPACE.search(text) else text


_RENDERERS: dict[str, Callable[[], Callable[[Event], str]]] = {
    "json": lambda: _record,
    "text": lambda: _text,
    "color": lambda: _Terminal(colors=True).render,
    "plain": lambda: _Terminal(colors=False).render,
}


def renderer(kind: str) -> Callable[[Event], str]:
    """What makes a line of a record. Raises ValueError for a type that does not exist."""
    if kind not in _RENDERERS:
        raise ValueError(f"unknown log type '{kind}': use one of {', '.join(_RENDERERS)}")
    return _RENDERERS[kind]()

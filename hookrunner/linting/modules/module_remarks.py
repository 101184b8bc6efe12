"""Remarks on files of a module, and their positions, which are taken from messages of other rooms."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from hookrunner import safe_files
from hookrunner.manifests.yaml_positions import Positions, find_positions, nearest
from hookrunner.values import pointers
from kubetypes.bounds import TooLarge
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import BadDocument, documents

_POINTER = re.compile(r"\((openapi/[\w.-]+)(#/[^)]*)?\)")
_BARE_POINTER = re.compile(r"(?:^|\s)#(/\S*)")
_LINE = re.compile(r"\bline (\d+)\b")
_POSITION = re.compile(r"(?:^|\s)[\w.-]+/((?:templates|charts)/[^:,\s]+)(?::(\d+))?(?::(\d+))?")

_FIRST_DOCUMENT = re.compile(r", document 1:")

Position = tuple[int, int]
"""Line and column, from 1."""

START: Position = (1, 1)


def of_rule(message: str) -> tuple[str, str]:
    """The file and the JSON pointer of the rule that a message ends with; empty if it names none."""
    matches = list(_POINTER.finditer(message))[-1:]
    return next(((match[1], (match[2] or "#").removeprefix("#")) for match in matches), ("", ""))


def of_template(message: str) -> tuple[str, Position]:
    """The template that a message of Helm names, in the module's directory, and where; empty if it names none."""
    match = _POSITION.search(message)
    return (match[1], (int(match[2] or 1), int(match[3] or 0) + 1)) if match else ("", START)


def of_document(message: str, directory: Path) -> tuple[str, Position]:
    """The template that a message about a rendered document names, and where. The line is known in the first document,
    as long as no action of the template stands before it."""
    path, start = of_template(message)
    document = _FIRST_DOCUMENT.search(message)
    if not (path and document and (directory / path).is_file()):
        return path, start
    rows = safe_files.read_text(directory / path, errors="replace").splitlines()
    empty = next((number for number, row in enumerate(rows) if row.strip() not in ("", "---")), 0)
    line = _LINE.search(message, document.end())
    number = empty + (int(line[1]) if line else 1)
    return path, start if any("{{" in row for row in rows[: number - 1]) else (number, 1)


def of_file(message: str, directory: Path) -> tuple[str, Position]:
    """The file in a module's directory that a message begins with, and where; empty if it names none."""
    top = f"{directory.absolute()}/"
    match = re.search(re.escape(top) + r"([^:,\s]+)", message)
    if not match:
        return "", START
    rest, name = message[match.end() :], match[1]
    if pointer := _BARE_POINTER.search(rest):
        return name, in_yaml(directory / name, pointer[1])
    line = _LINE.search(rest)
    return name, (int(line[1]), 1) if line else START


def in_yaml(path: Path, pointer: str) -> Position:
    """The position of the key of the value at a JSON pointer, or of the nearest existing value around it."""
    positions = _positions(path)
    at, (line, column) = "", (0, 0)
    for step in pointers.tokens(pointer):
        at = item if (item := f"{at}[{step}]") in positions else f"{at}.{step}".removeprefix(".")
        if at not in positions:
            break
        line, column = positions[at].first
    return line + 1, column + 1


def _positions(path: Path) -> Positions:
    """The places of values in a file, none if it cannot be read: that is reported where it is loaded."""
    try:
        return find_positions(safe_files.read(path))
    except (OSError, yaml.YAMLError, TooLarge):
        return {}


def read_document(path: Path, dialect: re.Pattern[str]) -> JSON:
    """The first document of a file, None if it cannot be read: that is reported where it is loaded."""
    try:
        return next(documents(safe_files.read(path), dialect), None)
    except (OSError, BadDocument):
        return None


@dataclass(frozen=True, slots=True)
class ModuleRemark:
    """`path` is in the module's directory, "" the directory itself; `text` is what, why, and how to fix it."""

    path: str
    place: Position = START
    code: str = ""
    text: str = ""


def refused(path: Path, problem: str, code: str) -> ModuleRemark:
    """Why a module or an addon is refused, at the file that the problem names, if it is one in its directory."""
    return ModuleRemark(*of_file(problem, path), code, problem)


def unknown_keys(path: Path, unknown: Iterable[str], page: str) -> Iterator[ModuleRemark]:
    """Remarks on `unknown` keys of a file: paths, each with what may have been meant. `page` has all known ones."""
    positions = _positions(path)
    for key, _, hint in (text.partition(";") for text in unknown):
        line, column = nearest(key, positions)
        text = f"`{key}` means nothing here and is ignored;{hint or f' docs/{page} has all keys'}"
        yield ModuleRemark(path.name, (line + 1, column + 1), "key-unknown", text)

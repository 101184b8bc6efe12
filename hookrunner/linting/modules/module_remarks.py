"""Remarks on files of a module, and their positions, which are taken from messages of other rooms."""

import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import yaml

from hookrunner import safe_files
from hookrunner.values import pointers
from kubetypes import yaml_values
from kubetypes.bounds import TooLarge

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
    try:
        text = safe_files.read(path)
        deque(yaml_values.events(text), maxlen=0)  # the composer recurses in C: too deep a text would end the process
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except (OSError, yaml.YAMLError, TooLarge):
        return START
    position = START
    for step in pointers.tokens(pointer):
        entry = _inside(node, step)
        if entry is None:
            break
        mark, node = entry[0].start_mark, entry[1]
        position = (mark.line + 1, mark.column + 1) if mark else position
    return position


def _inside(node: yaml.Node | None, step: str) -> tuple[yaml.Node, yaml.Node] | None:
    """The key and the value, or an item twice."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        return node.value[int(step)], node.value[int(step)]
    return None


@dataclass(frozen=True, slots=True)
class ModuleRemark:
    """`path` is in the module's directory, "" the directory itself; `text` is what, why, and how to mend it."""

    path: str
    place: Position = START
    code: str = ""
    text: str = ""

"""`.helmignore`: which files of a chart's directory Helm does not load.

Patterns are shell patterns, a line each; `/` at the end means directories only, at the front or inside a path from the
chart's top; `!` turns a rule round, `#` begins a comment. `**` is refused. What Helm ignores without being asked, dot
files in `templates/`, is the last rule. Source: https://helm.sh/docs/chart_template_guide/helm_ignore_file/
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

from hookrunner import regular_files
from hookrunner.errors import BadChart


@dataclass(frozen=True, slots=True)
class Rule:
    """One line. `parts` are patterns for each name of a path, one only for the last name if `anywhere`."""

    parts: tuple[str, ...]
    anywhere: bool
    directories: bool
    negated: bool

    def matches(self, path: str) -> bool:
        names = path.split("/")
        if self.anywhere:
            names = names[-1:]
        return len(names) == len(self.parts) and all(
            _pattern(part).fullmatch(name) for part, name in zip(self.parts, names, strict=True)
        )


@cache
def _pattern(part: str) -> re.Pattern[str]:
    return re.compile(translate(part.replace("[^", "[!")))


DEFAULT = Rule(("templates", ".?*"), anywhere=False, directories=False, negated=False)


def rules(directory: Path) -> tuple[Rule, ...]:
    """The rules of a chart. Raises BadChart."""
    file = directory / ".helmignore"
    if not file.is_file():
        return (DEFAULT,)
    lines = regular_files.read_text(file, "utf-8-sig", "replace").splitlines()
    found = [_rule(file, line.strip()) for line in lines if line.strip() and not line.strip().startswith("#")]
    return (*found, DEFAULT)


def _rule(file: Path, line: str) -> Rule:
    if "**" in line:
        raise BadChart(f"{file}: `{line}`: Helm does not know `**`; name the directories, `*` is one name")
    pattern = line.removeprefix("!")
    inside = pattern.removesuffix("/")
    return Rule(
        parts=tuple(inside.removeprefix("/").split("/")),
        anywhere="/" not in inside,
        directories=pattern.endswith("/"),
        negated=line.startswith("!"),
    )


def ignored(rules: Sequence[Rule], path: str, is_directory: bool) -> bool:
    """Does Helm leave the path out? The first rule that applies decides, and a negated one ignores all that it does
    not match, as in Helm."""
    for rule in rules:
        fits = rule.matches(path) and (is_directory or not rule.directories)
        if fits != rule.negated:
            return True
    return False

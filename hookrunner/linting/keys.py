"""Check of keys that a configuration has twice: the last one counts, as in shell-operator, the first is lost without a
word. Looked for in the here-documents of shell scripts, where configurations stand."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeGuard

import yaml

from hookrunner.linting.findings import Remark
from hookrunner.linting.source import Language, Source
from kubetypes import yaml_values
from kubetypes.bounds import TooLarge

_HERE = re.compile(r"<<(-?)[ \t]*(['\"]?)(\w+)\2[^\n]*\n(.*?)^[ \t]*\3$", re.MULTILINE | re.DOTALL)
_TABS = re.compile(r"^\t+", re.MULTILINE)


def check(source: Source) -> Iterator[Remark]:
    """A remark on each key of a configuration that is in its mapping already."""
    if source.language is not Language.SHELL:
        return
    for found in _HERE.finditer(source.text):
        if "configVersion" in found[4]:
            for name, line in _again(_TABS.sub("", found[4]) if found[1] else found[4]):
                text = f"`{name}` is in this mapping already, and what it says there is lost; put both under one"
                start = _start(source.text, found.start(4), line)
                yield Remark("key-twice", max(start, source.text.find(name, start)), text)


def _start(text: str, offset: int, lines: int) -> int:
    """Where a line begins that is so many below an offset."""
    for _ in range(lines):
        offset = text.index("\n", offset) + 1
    return offset


def _again(text: str) -> Iterator[tuple[str, int]]:
    """Keys that their mapping has already, and their lines from 0."""
    around = [_Around(mapping=False)]
    for event in _events(text):
        if isinstance(event, yaml.CollectionEndEvent):
            around.pop()
            continue
        if around[-1].has(event):
            yield event.value, event.start_mark.line if event.start_mark else 0
        if isinstance(event, yaml.CollectionStartEvent):
            around.append(_Around(isinstance(event, yaml.MappingStartEvent)))


def _events(text: str) -> Iterator[yaml.Event]:
    """Where values begin and end; of what is no YAML, as far as it could be."""
    with suppress(yaml.YAMLError, TooLarge):
        for event in yaml_values.events(text):
            if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                yield event


@dataclass(slots=True)
class _Around:
    """A list or mapping around the values that come, with the keys of the mapping so far."""

    mapping: bool
    keys: set[str] = field(default_factory=set)
    key_is_next: bool = True

    def has(self, node: yaml.Event) -> TypeGuard[yaml.ScalarEvent]:
        """Take the next node; whether it is a key that is there already. `<<` may be."""
        is_key = self.mapping and self.key_is_next
        self.key_is_next = not self.key_is_next
        if not is_key or not isinstance(node, yaml.ScalarEvent) or node.value == "<<":
            return False
        before = len(self.keys)
        self.keys.add(node.value)
        return len(self.keys) == before

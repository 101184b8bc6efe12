"""Differences between JSON values as people read them: unified diffs of YAML."""

import difflib
from collections.abc import Iterator

import yaml

from hookrunner.model.resources import JSON
from kubetypes.yaml_values import YAML_1_2


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, lists indented, nothing shared shown as an alias."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


def _text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    """What only our own reader takes for a number is quoted, too: `1e3`, `0o17`."""
    other = "'" if YAML_1_2.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value.rstrip("\n") else other)


_Dumper.add_representer(str, _text)


def as_yaml(value: JSON) -> str:
    """A value as YAML in its own order of keys; nothing for None."""
    if value is None:
        return ""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text.removesuffix("...\n")


def unified(before: JSON, after: JSON, name_before: str, name_after: str) -> Iterator[str]:
    """The lines of a unified diff without newlines; none if the values are equal."""
    first, second = as_yaml(before).splitlines(), as_yaml(after).splitlines()
    yield from difflib.unified_diff(first, second, name_before, name_after, lineterm="")

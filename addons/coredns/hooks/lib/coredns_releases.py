"""What releases of CoreDNS can read: `coredns_releases.json`.

`versions` are the releases with an image. A plugin or an option is there `since` one, is `deprecated`, `ignored` or
`removed` from one on, is `added` to Corefiles by an upgrade to one, because CoreDNS or Kubernetes needs it from then
on: an option with a `value`, a plugin in servers that have one of those in `with`. `instead` names what takes its
place, `keep` the number of arguments that are not ignored. A plugin without `options` is not looked into, one with
`entries` has lines of its own that match that. `defaults` are the Corefiles that Kubernetes' releases come with.

The facts are those of https://github.com/coredns/corefile-migration, and of the setup.go of each plugin at the tag of
each release.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Rule = Mapping[str, Any]
"""The row of a plugin or an option."""

_TABLE = json.loads(Path(__file__).with_suffix(".json").read_text())
VERSIONS: Sequence[str] = _TABLE["versions"]
PLUGINS: Mapping[str, Rule] = _TABLE["plugins"]
DEFAULTS: Sequence[Sequence[str | Sequence[str]]] = _TABLE["defaults"]
NEWEST = VERSIONS[-1]
_ORDER = {version: number for number, version in enumerate(VERSIONS)}
_STATUSES = ("removed", "ignored", "deprecated")


def known_version(text: str) -> str:
    """The release whose Corefiles a version reads: itself, or the one before it. It may begin with `v` and have a
    suffix, and may be newer than the table. Raises ValueError for an older one and for what is no version."""
    numbers = re.match(r"v?(\d+)\.(\d+)\.(\d+)", text)
    if not numbers:
        raise ValueError(f"{text!r} is not a version of CoreDNS, such as {NEWEST}")
    parts = tuple(map(int, numbers.groups()))
    older = [version for version in VERSIONS if tuple(map(int, version.split("."))) <= parts]
    if not older:
        raise ValueError(f"Corefiles of CoreDNS {text} cannot be migrated, the oldest version is {VERSIONS[0]}")
    return older[-1]


def order(version: str) -> int:
    """How many releases of the table are older."""
    return _ORDER[version]


def is_since(version: str, first: str) -> bool:
    """Is a release this one or a later one?"""
    return order(version) >= order(first)


def option_rule(plugin: str, option: str) -> Rule | None:
    """The row of an option; empty in a plugin that is not looked into, None if it is not known."""
    rule = PLUGINS.get(plugin, {})
    if "options" not in rule or re.fullmatch(rule.get("entries", "(?!)"), option):
        return {}
    row: Rule | None = rule["options"].get(option)
    return row


def status_at(rule: Rule, version: str) -> str:
    """removed, ignored or deprecated; empty if it has none of these states in a release."""
    return next((status for status in _STATUSES if status in rule and is_since(version, rule[status])), "")


def objection(rule: Rule, version: str) -> str:
    """Why a release refuses it, empty if it does not."""
    if "since" in rule and not is_since(version, rule["since"]):
        return f"is new in {rule['since']}"
    if status_at(rule, version) == "removed":
        instead = f", use {rule['instead']}" if "instead" in rule else ""
        return f"was removed in {rule['removed']}{instead}"
    return ""

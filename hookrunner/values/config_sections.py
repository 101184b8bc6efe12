"""Parses the data of the ConfigMap (or of a Secret) as config, and writes a section of it back.

A key that cannot be read is reported by its section, so that one bad edit leaves the other sections usable. As in
addon-operator, `global` is YAML 1.1, like `values.yaml` (`off` is false), and sections of modules are YAML 1.2 (`off`
is a text). What is written here reads the same in both. See docs/differences.md, Values.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field

import orjson
import yaml

from hookrunner import redaction
from hookrunner.model.modules import ENABLED, GLOBAL, camel, kebab
from hookrunner.process.pure_calls import SizeBounds, call_by_size
from hookrunner.values import pointers
from kubetypes import yaml_values
from kubetypes.bounds import SECTIONS, Tally
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import BadDocument

_MAINTENANCE = "Maintenance"
_FLAGS = {"true": True, "false": False}
_MAINTENANCES = {"": False, "NoResourceReconciliation": True, "noresourcereconciliation": True}


@dataclass(frozen=True, slots=True)
class Config:
    """What a user has written. `sections` are `global` and module keys; a module with only a flag has an empty one.
    `maintenance` is the state NoResourceReconciliation. `problems` says why a section is not usable; the section may
    then be missing in the others. `bad_flags` are the keys whose `…Enabled` cannot be read."""

    sections: Mapping[str, JSON] = field(default_factory=dict)
    enabled: Mapping[str, bool] = field(default_factory=dict)
    maintenance: Mapping[str, bool] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    bad_flags: frozenset[str] = frozenset()


NO_TEXT = "\0"
"""Stands for bytes that are not text: neither a section nor a flag can have this value."""


class _Unreadable(ValueError):
    """One key's text cannot be used."""


def parse(data: Mapping[str, str], as_addon: bool = False) -> Config:
    """Parse all keys of the data, valid or not. `as_addon`: dates in sections of modules, too, are read as
    addon-operator reads them."""
    sections: dict[str, JSON] = {}
    flags: dict[str, dict[str, bool]] = {ENABLED: {}, _MAINTENANCE: {}}
    problems: dict[str, str] = {}
    bad_flags: set[str] = set()
    tally = Tally(SECTIONS)
    for name, text in sorted(data.items()):
        key, suffix = _taken_apart(name)
        try:
            _check_key(name, key)
            if text == NO_TEXT:
                raise _Unreadable("is not text in UTF-8; save it as UTF-8")
            if suffix:
                flags[suffix][key] = _flag(suffix, text)
                sections.setdefault(key, {})
            else:
                sections[key] = _section(key, text, as_addon, tally)
        except _Unreadable as error:
            bad_flags |= {key} if suffix == ENABLED else set()
            problems[key] = "; ".join(filter(None, (problems.get(key), f"{name}: {error}")))
    return Config(sections, flags[ENABLED], flags[_MAINTENANCE], problems, frozenset(bad_flags))


def old_words(data: Mapping[str, str]) -> Iterator[str]:
    """The JSON pointers of values that are true or false in YAML 1.1 and texts in YAML 1.2, in all sections."""
    for name, text in data.items():
        if not _taken_apart(name)[1]:
            with suppress(BadDocument):
                yield from (pointers.text((name, *pointer)) for pointer in yaml_values.old_words(text))


def dialect(key: str, as_addon: bool) -> re.Pattern[str]:
    """The YAML dialect in which a section is read."""
    if key == GLOBAL:
        return yaml_values.YAML_1_1
    return yaml_values.GO_YAML_3 if as_addon else yaml_values.YAML_1_2


READING, WRITING = SizeBounds(48 << 10), SizeBounds(16 << 10, or_in_place=True)
"""Bytes of texts, and of a section as JSON, that take less than 50 ms to read and to write."""


def size_of(data: Mapping[str, str]) -> int:
    """Characters of all texts."""
    return sum(map(len, data.values()))


async def read_sections(data: Mapping[str, str], as_addon: bool) -> tuple[Config, tuple[str, ...]]:
    """What `parse` and `old_words` find. Raises CallLost."""
    return await call_by_size(size_of(data), READING, parse_with_words, dict(data), as_addon)


def parse_with_words(data: Mapping[str, str], as_addon: bool) -> tuple[Config, tuple[str, ...]]:
    """What `parse` and `old_words` find."""
    return parse(data, as_addon), tuple(old_words(data))


async def write_section(section: JSON) -> str:
    """The YAML text of one section; that of a large one is made in a process of its own, if there can be one."""
    return await call_by_size(len(orjson.dumps(section)), WRITING, written, section)


def written(section: JSON) -> str:
    """The YAML text of one section."""
    return str(yaml.dump(section, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=2**31 - 1))


def without_nulls(section: JSON) -> JSON:
    """The section without the nulls that count as absent: those in maps below its top level. Nulls in lists stay."""
    return {key: _bare(value) for key, value in section.items()}


def _taken_apart(name: str) -> tuple[str, str]:
    """`fooEnabled` → `foo`, `Enabled`."""
    for suffix in (ENABLED, _MAINTENANCE):
        if name.endswith(suffix):
            return name.removesuffix(suffix), suffix
    return name, ""


def _check_key(name: str, key: str) -> None:
    restored = camel(kebab(key))
    if not key or restored != key:
        raise _Unreadable(f"bad module name '{name}': should be camelCased" + (f", as '{restored}'" * bool(restored)))


def _flag(suffix: str, text: str) -> bool:
    known = _FLAGS if suffix == ENABLED else _MAINTENANCES
    if text.strip() not in known:
        raise _Unreadable(
            f"must be {' or '.join(repr(word) for word in known)}, not {redaction.described(text.strip())}"
        )
    return known[text.strip()]


def _section(key: str, text: str, as_addon: bool, tally: Tally) -> JSON:
    """Parse one section. A refused section does not count towards the size limit of the sections after it."""
    size, values = tally.size, tally.values
    try:
        first, *others = [*yaml_values.documents(text.encode(), dialect(key, as_addon), tally)] or [None]
        orjson.dumps([[first]])  # deeper, because others put it into documents
    except (BadDocument, orjson.JSONEncodeError) as error:
        tally.restore(size, values)
        raise _Unreadable(f"cannot be read: {error}") from None
    if any(other is not None for other in others):
        raise _Unreadable("holds more than one document; leave the lines '---' out")
    if first == [] or (key == GLOBAL and first is None):
        return {}
    if not isinstance(first, dict):
        raise _Unreadable("must be a map of values; remove the key if there is nothing to set")
    return without_nulls(first)


def _bare(value: JSON) -> JSON:
    if not isinstance(value, dict):
        return value
    return {key: _bare(inner) for key, inner in value.items() if inner is not None}


class _Dumper(yaml.SafeDumper):
    """Writes no aliases, and quotes every text that some parser takes for something else."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    """Lines as lines; quoted if some parser does not read it as a text, or does not keep one of its line breaks."""
    doubtful = yaml_values.YAML_1_1.fullmatch(text) or not text.replace("\n", "").isprintable()
    date = "'" if yaml_values.GO_YAML_3.fullmatch(text) else None
    style = '"' if doubtful else "|" if "\n" in text else date
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)

"""One setting: its flag and variables, where its text is looked up, and how that becomes a value.

The settings themselves are in `settings/`.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from hookrunner.errors import BadSetting
from kubetypes.light_dataclasses import dataclass

_Number = TypeVar("_Number", int, float)


class Compat(StrEnum):
    """Whose defaults are wanted: a predecessor's, or those of upstream's cloud controller manager."""

    SHELL = "shell-operator"
    ADDON = "addon-operator"
    UPSTREAM = "upstream"


PREDECESSORS = (Compat.SHELL, Compat.ADDON)
"""The program may be started under their names."""


@dataclass(frozen=True, slots=True)
class OptionType:
    """How a text becomes a value. `parse` raises ValueError; `allowed` says what it takes."""

    metavar: str
    allowed: str
    parse: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Option:
    """One setting as users see it. `default` is text, read like any other; `compat` the defaults under
    shell-operator and addon-operator where they differ, `upstream` the one under upstream's cloud controller manager
    if that differs, `sandbox` the one with --sandbox; `env` the predecessors' variables, the strongest first, with {}
    for the flag's name; `also` other names of the flag. `found` computes the default, which `default` then only
    describes.
    """

    flag: str
    kind: OptionType
    default: str
    text: str
    env: tuple[str, ...] = ()
    compat: tuple[str, str] | None = None
    also: tuple[str, ...] = ()
    found: Callable[[Mapping[str, str]], str] | None = None
    upstream: str = ""
    sandbox: str = ""

    @property
    def hidden(self) -> bool:
        """Left out of `start --help`; `debug-options` shows it."""
        return self.flag.startswith("debug-")

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that are looked at, the strongest first."""
        name = self.flag.upper().replace("-", "_")
        return (f"HOOKRUNNER_{name}", *(form.format(name) for form in self.env))

    def default_in(self, compat: Compat | None, environ: Mapping[str, str], in_sandbox: bool = False) -> str:
        """The text that counts if no flag or variable sets one."""
        if compat is Compat.UPSTREAM and self.upstream:
            return self.upstream
        if in_sandbox and self.sandbox:
            return self.sandbox
        if compat in PREDECESSORS and self.compat:
            return self.compat[PREDECESSORS.index(compat)]
        return self.found(environ) if self.found else self.default


def duration(text: str) -> float:
    """Seconds of a Go duration such as `1m30s`, `300ms` or `0`; ValueError for anything else, and for what is too long
    for Go (292 years).

    Source: https://pkg.go.dev/time#ParseDuration
    """
    if not _DURATION.fullmatch(text):
        raise ValueError(text)
    length = sum((Decimal(number) * _UNITS[unit] for number, unit in _TERM.findall(text)), Decimal())
    if length > _LONGEST:
        raise ValueError(text)
    return float(-length if text.startswith("-") else length)


_TERM = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"[-+]?(?:0|(?:{_TERM.pattern})+)")
_LONGEST = Decimal(2**63 - 1).scaleb(-9)
_MICRO = Decimal("1e-6")
_UNITS = {"ns": Decimal("1e-9"), "us": _MICRO, "µs": _MICRO, "μs": _MICRO, "ms": Decimal("1e-3")}
_UNITS |= {"s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}


_SIZES = {None: 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def size(text: str) -> int:
    """Bytes of a number with one of Kubernetes' binary units or none; ValueError for anything else."""
    if not (read := re.fullmatch(r"([0-9]{1,15})(Ki|Mi|Gi)?", text)):
        raise ValueError(text)
    return int(read[1]) * _SIZES[read[2]]


LARGEST = sys.float_info.max
"""Of numbers without a bound, which are finite."""


def within(parse: Callable[[str], _Number], least: float, most: float) -> Callable[[str], _Number]:
    """For numbers within both bounds."""

    def parse_within(text: str) -> _Number:
        if not least <= (value := parse(text)) <= most:
            raise ValueError(text)
        return value

    return parse_within


@dataclass(frozen=True, slots=True)
class Memory:
    """A number of bytes, or else a share of what the process may have."""

    size: int = 0
    share: float = 0.0


def _memory(text: str) -> Memory:
    if percent := re.fullmatch(r"([1-9][0-9]?|100)%", text):
        return Memory(share=int(percent[1]) / 100)
    return Memory(_size_from_1(text))


_size_from_1 = within(size, 1, LARGEST)


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) <= 65535):
        raise ValueError(text)
    return int(text)


def _identifier(text: str) -> str:
    if not text.isidentifier():
        raise ValueError(text)
    return text


def _path(text: str) -> Path:
    if not text:
        raise ValueError(text)
    return Path(text).absolute()


def _endpoint(text: str) -> tuple[str, int] | None:
    host, _, port = text.rpartition(":")
    return (host.strip("[]"), _port(port)) if text else None


def _yes(text: str) -> bool:
    if text in ("1", "t", "T", "true", "True", "TRUE"):
        return True
    if text in ("0", "f", "F", "false", "False", "FALSE"):
        return False
    raise ValueError(text)


def _unless_no(text: str) -> bool:
    return text != "no" and (text == "yes" or _yes(text))


def matching(pattern: re.Pattern[str]) -> Callable[[str], str]:
    """For texts that a pattern matches as a whole."""

    def parse(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(text)
        return text

    return parse


def one_of(*words: str) -> OptionType:
    """One of these words, in any case."""

    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(text)
        return text.lower()

    return OptionType("|".join(words), f"one of {', '.join(words)}", parse)


NO_DIRECTORY = ":"
"""In place of a directory: none, where an empty text means the default."""

_TOKENS = {"random": None, "none": ""}
TEXT = OptionType("TEXT", "any text", str)
TOKEN = OptionType("TOKEN", "any text, `random` or `none`", lambda text: _TOKENS.get(text, text))
PATH = OptionType("PATH", "a path", _path)
PATH_OR_NONE = OptionType(
    "PATH", f"a path, or `{NO_DIRECTORY}` for none", lambda text: None if text == NO_DIRECTORY else _path(text)
)
MAYBE_PATH = OptionType("PATH", "a path", lambda text: _path(text) if text else None)
PATHS = OptionType(
    "PATH,…", "paths with commas between them", lambda text: tuple(_path(part) for part in text.split(",") if part)
)
MODULES = OptionType(
    "NAME,…",
    "names of Python modules with commas between them",
    lambda text: tuple(_identifier(part.strip()) for part in text.split(",") if part.strip()),
)
NUMBER = OptionType("NUMBER", "a number of at least 0", within(float, 0, LARGEST))
COUNT = OptionType("NUMBER", "a whole number of at least 0", within(int, 0, LARGEST))
COUNT_FROM_1 = OptionType("NUMBER", "a whole number of at least 1", within(int, 1, LARGEST))
DURATION = OptionType("DURATION", "a duration of at least 0 such as 30s, 1m30s or 300ms", within(duration, 0, LARGEST))
SIZE = OptionType("SIZE", "a number of bytes such as 512Mi or 1Gi, or 0 for no limit", size)
SIZE_FROM_1 = OptionType("SIZE", "a number of bytes such as 8Mi or 1Gi, at least 1", _size_from_1)
MEMORY = OptionType("SIZE", "a share from 1% to 100%, or a number of bytes such as 256Mi or 1Gi", _memory)
PORT = OptionType("PORT", "a port number from 0 to 65535 (0: any free one)", _port)
MAYBE_PORT = OptionType("PORT", PORT.allowed, lambda text: _port(text) if text else None)
ENDPOINT = OptionType("HOST:PORT", "an address and a port such as 127.0.0.1:9652", _endpoint)
YES_NO = OptionType("BOOL", "true or false", _yes)
UNLESS_NO = OptionType("BOOL", "true or false, yes or no", _unless_no)
"""For the only variable of shell-operator that says `no`."""


def setting(flag: str, kind: OptionType, default: str, text: str, env: tuple[str, ...] = (), **more: Any) -> Any:
    """A data class field whose value comes through the option that is made of these. `Any` lets the field state its own
    type."""
    option = Option(flag, kind, default, text, env, **more)
    return field(default_factory=lambda: option.kind.parse(option.default_in(None, {})), metadata={"option": option})


def options_of(group: type) -> dict[str, Option]:
    """The option of each field of a settings group that has one."""
    return {f.name: f.metadata["option"] for f in fields(group) if "option" in f.metadata}


@dataclass(frozen=True, slots=True)
class SettingTexts:
    """The texts that the user has set: flags by name without dashes, and variables. `in_sandbox` is whether the cluster
    is a sandbox, where some defaults are others."""

    flags: Mapping[str, str]
    environ: Mapping[str, str]
    in_sandbox: bool = False

    def text(self, option: Option) -> list[tuple[str, str]]:
        """The source of the option's value and its text; empty if it is not set."""
        if option.flag in self.flags:
            return [(f"--{option.flag}", self.flags[option.flag])]
        return [(name, self.environ[name]) for name in option.variables if self.environ.get(name)][:1]

    def value(self, option: Option, compat: Compat | None) -> Any:
        """The option's value. Raises BadSetting, which names the place, the text and what is allowed."""
        default = option.default_in(compat, self.environ, self.in_sandbox)
        place, text = next(iter(self.text(option)), ("default", default))
        try:
            return option.kind.parse(text)
        except ValueError:
            raise BadSetting(f"{place}: '{text}' cannot be used, it takes {option.kind.allowed}") from None

    def values(self, group: type, compat: Compat | None) -> dict[str, Any]:
        """The values of a group's fields."""
        return {name: self.value(option, compat) for name, option in options_of(group).items()}

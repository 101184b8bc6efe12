"""The values of `format` that are checked; others only inform people, as in other implementations.

Dashes do not count (`date-time`). Source: the formats of Go's `strfmt`, by which addon-operator checks.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from email.utils import parseaddr
from ipaddress import IPv4Address, IPv6Address, ip_interface
from urllib.parse import urlsplit

Format = Callable[[str], bool]

_GO_DURATION = r"[+-]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)"
_SPOKEN_DURATION = r"\d+ *(ns|us|µs|ms|s|m|h|hr|d|w|wk|nano\w*|micro\w*|milli\w*|sec\w*|min\w*|hours?|days?|weeks?)"
_HEX = "[0-9a-fA-F]"
_UUID = _HEX + "{8}-?" + _HEX + "{4}-?%s" + _HEX + "{3}-?%s" + _HEX + "{3}-?" + _HEX + "{12}"
INTEGERS: Mapping[str, tuple[int, int]] = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
"""Smallest and largest integer of a format, both included."""


def text(name: str) -> Format | None:
    """A check whether a text has the format; None for an unknown format."""
    return _FORMATS.get(name.replace("-", "").lower())


def _like(pattern: str) -> Format:
    whole = re.compile(pattern, re.ASCII | re.IGNORECASE)
    return lambda value: whole.fullmatch(value) is not None


def _by(reader: Callable[[str], object]) -> Format:
    """Whatever the reader takes without a ValueError."""

    def read(value: str) -> bool:
        try:
            reader(value)
        except ValueError:
            return False
        return True

    return read


def _date_time(value: str) -> datetime:
    if not re.match(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d", value, re.ASCII):
        raise ValueError
    moment = datetime.fromisoformat(value.upper())
    if moment.tzinfo is None:
        raise ValueError
    return moment


def _uri(value: str) -> bool:
    """A URL with a scheme, or an absolute path."""
    if not value or re.search(r"[\x00-\x20\x7f]|%(?![0-9A-Fa-f]{2})", value):
        return False
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        return False
    return bool(parts.scheme) or value.startswith("/") or value == "*"


def _email(value: str) -> bool:
    """`a@b`, or `Name <a@b>`."""
    try:
        address = parseaddr(value)[1] if value.endswith(">") else value
    except RecursionError:  # brackets in brackets
        return False
    return re.fullmatch(r"[^\s@<>()\[\],;:\\]+@[^\s@<>()\[\],;:\\]+", address) is not None and ".." not in address


def _cidr(value: str) -> bool:
    return "/" in value and value.rpartition("/")[2].isdecimal() and _by(ip_interface)(value)


def _hostname(value: str) -> bool:
    label = re.compile(r"[^\W_]([\w-]{0,61}[^\W_])?")
    return len(value) <= 255 and all(label.fullmatch(part) and "_" not in part for part in value.split("."))


_FORMATS: Mapping[str, Format] = {
    "byte": _like(r"([A-Z0-9+/]{4})*([A-Z0-9+/]{2}==|[A-Z0-9+/]{3}=)?"),
    "cidr": _cidr,
    "date": lambda value: len(value) == 10 and _by(date.fromisoformat)(value),
    "datetime": _by(_date_time),
    "duration": _like(f"{_GO_DURATION}|{_SPOKEN_DURATION}"),
    "email": _email,
    "hexcolor": _like(f"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "hostname": _hostname,
    "ipv4": _by(IPv4Address),
    "ipv6": _by(IPv6Address),
    "mac": _like(rf"{_HEX}{{2}}([:-]){_HEX}{{2}}(\1{_HEX}{{2}}){{4}}(\1{_HEX}{{2}}\1{_HEX}{{2}})?"),
    "uri": _uri,
    "uuid": _like(_UUID % (_HEX, _HEX)),
    "uuid3": _like(_UUID % ("3", _HEX)),
    "uuid4": _like(_UUID % ("4", "[89ab]")),
    "uuid5": _like(_UUID % ("5", "[89ab]")),
}

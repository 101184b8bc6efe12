"""Values that write themselves to JSON in their own way: times and base64. Each is read, checked, and given back in the
one form that the API answers with.

Errors have Go's words: users search for them.
"""

import base64
import binascii
import re
from datetime import UTC, datetime

from kubesandbox.status import bad_request

SECONDS = "2006-01-02T15:04:05Z07:00"
MICROS = "2006-01-02T15:04:05.000000Z07:00"
ZONE = r"(Z|[+-]\d\d:\d\d)"
PIECES = [("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"), ("T", "T"), ("15", r"\d\d?")]
PIECES += [(":", ":"), ("04", r"\d\d"), (":", ":"), ("05", r"\d\d")]
RANGES = (("month", 5, 1, 12), ("day", 8, 1, 31), ("hour", 11, 0, 23), ("minute", 14, 0, 59), ("second", 17, 0, 59))
PLAIN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def time(text: str) -> str:
    """RFC 3339 in UTC, to the second. Raises `Refused` (400)."""
    moment = _moment(text, SECONDS, r"(?:[.,]\d+)?")
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def micro_time(text: str) -> str:
    """RFC 3339 in UTC, to the microsecond. Raises `Refused` (400)."""
    moment = _moment(text, MICROS, r"\.\d{6}")
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _moment(text: str, layout: str, fraction: str) -> datetime:
    rest, asked = text, [*PIECES, (".000000" if layout == MICROS else "", fraction), ("Z07:00", ZONE)]
    for name, pattern in asked:
        found = re.match(pattern, rest, re.ASCII)
        if not found:
            raise bad_request(f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{name}"')
        rest = rest[found.end() :]
    if rest:
        raise bad_request(f'parsing time "{text}": extra text: "{rest}"')
    for name, at, low, high in RANGES:
        if not low <= int(text[at : at + 2]) <= high:
            raise bad_request(f'parsing time "{text}": {name} out of range')
    try:
        return datetime.fromisoformat(text.replace(",", ".")).astimezone(UTC)
    except (ValueError, OverflowError):
        raise bad_request(f'parsing time "{text}": day out of range') from None


def base64_text(text: str) -> str:
    """The same bytes in standard base64 with padding, without line breaks. Raises `Refused` (400)."""
    clean = text.replace("\n", "").replace("\r", "")
    try:
        return base64.b64encode(base64.b64decode(clean, validate=True)).decode()
    except (binascii.Error, ValueError):
        raise bad_request(f"illegal base64 data at input byte {_bad_byte(text)}") from None


def _bad_byte(text: str) -> int:
    """Where Go's decoder stops: at a byte that has no place, or at the start of the last group if that is too short."""
    good = re.match(r"[A-Za-z0-9+/\r\n]*", text)
    at = good.end() if good else 0
    have = len(re.sub(r"[\r\n]", "", text[:at])) % 4
    if at == len(text):
        return at - have
    if text[at] != "=" or have < 2:
        return at
    rest = re.match(r"=[\r\n]*=" if have == 2 else "=", text[at:])
    if rest:
        return at + rest.end()
    return at + 1

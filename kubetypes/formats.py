"""The formats of texts that the API server checks in custom objects; it ignores all others.

Each is a function that says whether a text has the format. Dashes in names do not count (`date-time`).

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date as calendar_date
from email.utils import parseaddr
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import cycle

Format = Callable[[str], bool]

HEX = "[0-9a-fA-F]"
SHORT_NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
COLOUR_PART = r"[\t\n\f\r ]*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])[\t\n\f\r ]*"
CARD = re.compile(
    r"4\d{12}(\d{3})?|5[1-5]\d{14}|6(011|5\d\d)\d{12}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11}",
    re.ASCII,
)
# Letters stand for all letters here, 0 for digits and for symbols: `hostname` puts them in.
HOSTNAME = re.compile(r"[a0](-?[a0]{0,62})?|([a0]([-a0]{0,61}[a0])?\.)+a{2,63}")
TIME_OF_DAY = re.compile(r"(\d\d):(\d\d):(\d\d)(.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)
GO_DURATION = re.compile(r"[+-]?(0|((\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
SPOKEN_DURATION = re.compile(r"(?<!\d)\d+\s*([A-Za-zµ]+)", re.ASCII)
UNITS = ("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk")
UNIT_WORDS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
ADDRESS = re.compile(
    r"([^\s@<>()\[\],;:\\]+|\"([^\"\\\r\n]|\\.)*\")@([^\s@<>()\[\],;:\\.]+(\.[^\s@<>()\[\],;:\\.]+)*|\[[^\[\]\\]*\])"
)
SCHEME = re.compile(r"[A-Za-z][-+.A-Za-z0-9]*:", re.ASCII)
AUTHORITY = re.compile(
    r"([^@\s/<>\"]*@)?(\[[0-9A-Fa-f:.%a-z]+\]|([^\s\[\]:@/<>\"\\^`{}|%]|%[0-9A-Fa-f]{2})*)(:\d*)?", re.ASCII
)


def _like(pattern: str) -> Format:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def date(text: str) -> bool:
    """`2006-01-02`."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        return False
    year, month, day = (int(part) for part in text.split("-"))
    try:
        # Go has a year 0, Python has none; like 4, it is a leap year.
        calendar_date(year or 4, month, day)
    except ValueError:
        return False
    return True


def date_time(text: str) -> bool:
    """`2014-12-15T19:30:20.000Z`."""
    parts = text.lower().split("t")
    found = TIME_OF_DAY.fullmatch(parts[1]) if len(parts) > 1 and date(parts[0]) else None
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def duration(text: str) -> bool:
    """`1h30m` as Go reads it, or words such as `22 seconds` and `3 days`."""
    if GO_DURATION.fullmatch(text):
        return True
    units = [found[1].lower() for found in SPOKEN_DURATION.finditer(text)]
    return any(unit in UNITS or unit.startswith(UNIT_WORDS) for unit in units)


def hostname(text: str) -> bool:
    """A name of RFC 1123, letters and symbols of all scripts included."""
    simple = "".join(map(_letter_or_symbol, text))
    short = all(len(part.encode()) <= 63 for part in text.split("."))
    return short and len(text.encode()) <= 255 and HOSTNAME.fullmatch(simple) is not None


def _letter_or_symbol(char: str) -> str:
    if char in "-.":
        return char
    if char.isdigit() and char.isascii():
        return "0"
    return {"L": "a", "S": "0"}.get(unicodedata.category(char)[0], "!")


def email(text: str) -> bool:
    """`a@b`, or `Name <a@b>`."""
    try:
        address = parseaddr(text)[1] if text.endswith(">") else text.strip()
    except RecursionError:  # brackets in brackets
        return False
    local = address.rpartition("@")[0]
    dots = not local.startswith('"') and (local.startswith(".") or local.endswith(".") or ".." in local)
    return ADDRESS.fullmatch(address) is not None and not dots


def uri(text: str) -> bool:
    """An absolute URI, or an absolute path, as Go's `url.ParseRequestURI` takes it."""
    if text == "*":
        return True
    if not text or any(char < " " or char == "\x7f" for char in text):
        return False
    scheme = SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if not rest.startswith("/"):
        return scheme is not None
    path = rest.partition("?")[0]
    if rest.startswith("//") and not rest.startswith("///") and scheme:
        authority, slash, path = path[2:].partition("/")
        if not AUTHORITY.fullmatch(authority):
            return False
        path = slash + path
    return re.search(r"%(?![0-9A-Fa-f]{2})", path) is None


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    """An address, with leading zeros allowed in IPv4 parts as Kubernetes does."""
    plain = re.sub(r"(?<![0-9A-Fa-f:])0+(?=\d)", "", text) if "." in text and ":" not in text else text
    try:
        return None if "%" in text else ip_address(plain)
    except ValueError:
        return None


def ipv4(text: str) -> bool:
    """`10.0.0.1`; also an IPv6 address with such an end."""
    return "." in text and _ip(text) is not None


def ipv6(text: str) -> bool:
    """`fe80::1`."""
    return ":" in text and _ip(text) is not None


def cidr(text: str) -> bool:
    """`10.0.0.0/8`."""
    host, slash, length = text.partition("/")
    address = _ip(host)
    return bool(
        slash and address and re.fullmatch(r"\d{1,3}", length, re.ASCII) and int(length) <= address.max_prefixlen
    )


def mac(text: str) -> bool:
    """`00:1b:63:84:45:e6`, with dashes, or in groups of four with dots; 6, 8 or 20 bytes."""
    for pattern, sizes in (
        (rf"{HEX}{{2}}([:-]){HEX}{{2}}(\1{HEX}{{2}})*", (17, 23, 59)),
        (rf"{HEX}{{4}}(\.{HEX}{{4}})+", (14, 19, 49)),
    ):
        if len(text) in sizes and re.fullmatch(pattern, text):
            return True
    return False


def isbn10(text: str) -> bool:
    """`0321751043`, with its check digit."""
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII):
        return False
    return sum(place * (10 if char == "X" else int(char)) for place, char in enumerate(digits, 1)) % 11 == 0


def isbn13(text: str) -> bool:
    """`978-0321751041`, with its check digit."""
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"\d{13}", digits, re.ASCII):
        return False
    return sum(int(char) * weight for char, weight in zip(digits, cycle((1, 3)), strict=False)) % 10 == 0


def credit_card(text: str) -> bool:
    """A number of a known issuer, with its check digit."""
    digits = re.sub(r"\D+", "", text, flags=re.ASCII)
    doubled = (divmod(int(char) * weight, 10) for char, weight in zip(reversed(digits), cycle((1, 2)), strict=False))
    return CARD.fullmatch(digits) is not None and sum(map(sum, doubled)) % 10 == 0


FORMATS: Mapping[str, Format] = {
    "bsonobjectid": _like(f"{HEX}{{24}}"),
    "uri": uri,
    "email": email,
    "hostname": hostname,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "cidr": cidr,
    "mac": mac,
    "uuid": _like(f"{HEX}{{8}}-?{HEX}{{4}}-?{HEX}{{4}}-?{HEX}{{4}}-?{HEX}{{12}}"),
    "uuid3": _like(f"{HEX}{{8}}-?{HEX}{{4}}-?3{HEX}{{3}}-?{HEX}{{4}}-?{HEX}{{12}}"),
    "uuid4": _like(f"{HEX}{{8}}-?{HEX}{{4}}-?4{HEX}{{3}}-?[89abAB]{HEX}{{3}}-?{HEX}{{12}}"),
    "uuid5": _like(f"{HEX}{{8}}-?{HEX}{{4}}-?5{HEX}{{3}}-?[89abAB]{HEX}{{3}}-?{HEX}{{12}}"),
    "isbn": lambda text: isbn10(text) or isbn13(text),
    "isbn10": isbn10,
    "isbn13": isbn13,
    "creditcard": credit_card,
    "ssn": _like(r"\d{3}[- ]\d{2}[- ]\d{4}"),
    "hexcolor": _like(f"#?({HEX}{{3}}|{HEX}{{6}})"),
    "rgbcolor": _like(rf"rgb\({COLOUR_PART},{COLOUR_PART},{COLOUR_PART}\)"),
    "byte": _like(r"([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda text: True,
    "date": date,
    "duration": duration,
    "datetime": date_time,
    "k8sshortname": lambda text: len(text) <= 63 and _like(SHORT_NAME)(text),
    "k8slongname": lambda text: len(text) <= 253 and _like(rf"{SHORT_NAME}(\.{SHORT_NAME})*")(text),
}

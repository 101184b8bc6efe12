"""How a registry asks for a login, and the tokens that it takes instead: pure, but for the clock that callers read.

    challenge = parse_challenge('Bearer realm="https://auth.example.com/token",service="registry",scope="…"')
    url = token_url(challenge, "repository:addons/coredns:pull")
    token = parse_token(answer, now)                # token.header, token.ends

A registry answers 401 and names in WWW-Authenticate who gives tokens (the realm), or that it takes user and password
(Basic). A token is for pulling one repository, and lives for a minute unless it says otherwise.
Source: https://distribution.github.io/distribution/spec/auth/token/, RFC 9110 (11.6.1)
"""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from yarl import URL

from hookrunner.errors import PackageError
from kubetypes.bounds import PACKAGE_TEXT
from kubetypes.json_values import loads
from kubetypes.light_dataclasses import dataclass

LARGEST_TOKEN = 64 << 10
_LIFE = 60.0
"""Seconds of a token that names no end, and of one that ends earlier: it is renewed when it is refused, and one that
counted as ended at once would never be sent. Docker's client does the same."""
_EARLY = 10.0
"""Seconds before its end in which a token is not used any more."""
_SCHEME = re.compile(r"(?:^|,)\s*(bearer|basic)(?=\s|,|$)", re.IGNORECASE)
_PARAMETER = re.compile(r'(?<![a-zA-Z_])([a-zA-Z_]++)\s*+=\s*+("(?:[^"\\]|\\.){0,4096}"|[^\s",]{1,4096})')
"""Linear in its text: an answer may have a megabyte of headers, of one letter each."""
_TOKEN = re.compile(r"[\x21-\x7e]{1,32768}")


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a registry asks for: a token from `realm`, or without a realm user and password."""

    realm: str = ""
    service: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """The value of the header Authorization, and until when it can be used, by the loop's clock."""

    header: str
    ends: float = float("inf")

    def __repr__(self) -> str:
        return f"Token(ends={self.ends:g})"


def parse_challenge(header: str) -> Challenge | None:
    """What WWW-Authenticate asks for: tokens if it names both ways; None for other ways."""
    starts = list(_SCHEME.finditer(header))
    ends = [*(match.start() for match in starts[1:]), len(header)]
    spans = zip(starts, ends, strict=False)
    challenges = {match[1].lower(): _parameters(header[match.end() : end]) for match, end in spans}
    if bearer := challenges.get("bearer", {}).get("realm"):
        found = challenges["bearer"]
        return Challenge(bearer, found.get("service", ""), found.get("scope", ""))
    return Challenge() if "basic" in challenges else None


def token_url(realm: URL, challenge: Challenge, scope: str) -> URL:
    """Where to ask for a token; `scope` is used if the challenge has none."""
    wanted = {"service": challenge.service, "scope": challenge.scope or scope}
    return realm.update_query({name: value for name, value in wanted.items() if value})


def parse_token(realm: str, body: bytes, now: float) -> Token:
    """The token in an answer; `realm` names who gave it. Raises PackageError with the reason Unreachable."""
    try:
        document = loads(body, PACKAGE_TEXT) if len(body) <= LARGEST_TOKEN else None
    except ValueError:
        document = None
    values = document if isinstance(document, dict) else {}
    token, life = values.get("token") or values.get("access_token"), values.get("expires_in") or _LIFE
    if not isinstance(token, str) or not _TOKEN.fullmatch(token) or not isinstance(life, int | float):
        raise PackageError("Unreachable", f"{realm}: the answer has no token that can be used")
    return Token(f"Bearer {token}", now + max(float(life), _LIFE) - _EARLY)


def requested_pause(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that Retry-After asks for; None without it. `now` is the time of the day."""
    text = headers.get("retry-after", "").strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - now, 0.0) if text else None
    except (ValueError, OverflowError):
        return None


def _parameters(text: str) -> dict[str, str]:
    return {name.lower(): re.sub(r"\\(.)", r"\1", value.strip('"')) for name, value in _PARAMETER.findall(text)}

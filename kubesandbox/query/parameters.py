"""Query parameters as Go reads them: texts, yes and no, numbers, revisions."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from re import Pattern
from urllib.parse import parse_qsl

from kubesandbox.status import Refused, bad_request

YES = frozenset({"1", "t", "T", "true", "TRUE", "True"})
NO = frozenset({"", "0", "f", "F", "false", "FALSE", "False"})
SIGNED, UNSIGNED = re.compile("[+-]?[0-9]+", re.ASCII), re.compile("[0-9]+", re.ASCII)
MOST_DIGITS = 1000
BROKEN = re.compile("%(?![0-9A-Fa-f]{2})")


def parsed(text: str) -> dict[str, str]:
    """The parameters of a query as it was sent. As in Go, the first of several with one name counts, and parameters
    that cannot be decoded are left out."""
    query: dict[str, str] = {}
    readable = "&".join(part for part in text.split("&") if ";" not in part and not BROKEN.search(part))
    for key, value in parse_qsl(readable, keep_blank_values=True, errors="replace"):
        query.setdefault(key, value)
    return query


def flag(query: Mapping[str, str], key: str) -> bool:
    """A parameter that is yes or no. Raises Refused 400."""
    value = query.get(key, "")
    if value in YES:
        return True
    if value in NO:
        # A parameter without a value, `?watch`, means yes.
        return key in query and value == ""
    raise bad_request(f'strconv.ParseBool: parsing "{value}": invalid syntax')


def number(query: Mapping[str, str], key: str) -> int:
    """A parameter that is a number, 0 where it is missing. Raises Refused 400."""
    value = query.get(key) or "0"
    if why := _no_number(value, SIGNED, -(2**63), 2**63):
        raise bad_request(f'strconv.ParseInt: parsing "{value}": {why}')
    return int(value)


def version(text: str) -> int:
    """The resourceVersion of a list. Raises Refused 400."""
    if why := _no_version(text):
        raise bad_request(f"invalid resource version: {why}")
    return int(text)


def version_to_wait_for(text: str) -> int:
    """The resourceVersion of a get or a watch. Raises Refused 500, as the API does here."""
    if why := _no_version(text):
        raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "", why)
    return int(text)


def _no_version(text: str) -> str:
    why = _no_number(text, UNSIGNED, 0, 2**64)
    parsing = f'strconv.ParseUint: parsing "{text}": {why}'
    return f'resourceVersion: Invalid value: "{text}": {parsing}' if why else ""


def _no_number(text: str, pattern: Pattern[str], low: int, beyond: int) -> str:
    """Why it is no number for Go; "" if it is one."""
    if not pattern.fullmatch(text):
        return "invalid syntax"
    return "" if len(text) < MOST_DIGITS and low <= int(text) < beyond else "value out of range"

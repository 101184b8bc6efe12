"""Quantities such as `500m` and `1Gi`: parsing, comparing, and the one form in which the API writes each.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

import re
from fractions import Fraction
from functools import lru_cache

from hookrunner.sandbox.status import Refused, bad_request

SYNTAX = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+|)")
BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
DECIMAL_SUFFIX = {power: suffix for suffix, power in DECIMAL.items()}
SMALLEST = Fraction(1, 10**9)
WRONG = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def quantity(text: str) -> Fraction:
    """The number; rounded up to nanos as the API does. Raises `Refused` (400) with Go's words for anything else."""
    return _parsed(text)[0]


@lru_cache(4096)
def canonical(text: str) -> str:
    """The form in which the API writes it: no fraction, the largest suffix that fits, the family of suffix kept."""
    value, family = _parsed(text)
    if family == "binary" and (abs(value) < 1024 or value.denominator != 1):
        family = "decimal"
    if family == "binary":
        return _binary(value)
    number, power = _scaled(value)
    return f"{number}{(f'e{power}' if power else '') if family == 'exponent' else DECIMAL_SUFFIX[power]}"


@lru_cache(4096)
def _parsed(text: str) -> tuple[Fraction, str]:
    found = SYNTAX.fullmatch(text)
    if not found:
        raise _wrong()
    sign, digits, suffix = found.groups()
    if suffix in BINARY[1:]:
        family, factor = "binary", Fraction(1024 ** BINARY.index(suffix))
    elif suffix in DECIMAL:
        family, factor = "decimal", Fraction(10) ** DECIMAL[suffix]
    else:
        family, factor = "exponent", Fraction(10) ** max(-30, min(30, int(suffix[1:])))
    value = Fraction(digits if digits[-1] != "." else digits[:-1]) * factor
    value = -(-value // SMALLEST) * SMALLEST
    return (-value if sign == "-" else value), family


def _wrong() -> Refused:
    return bad_request(WRONG)


def _binary(value: Fraction) -> str:
    number, at = int(value), 0
    while number and number % 1024 == 0 and at < len(BINARY) - 1:
        number, at = number // 1024, at + 1
    return f"{number}{BINARY[at]}"


def _scaled(value: Fraction) -> tuple[int, int]:
    """The number without fraction and the power of ten, a multiple of three, that goes with it."""
    number, power = int(value / SMALLEST), -9
    if not number:
        return 0, 0
    while number % 1000 == 0 and power < 18:
        number, power = number // 1000, power + 3
    return number, power

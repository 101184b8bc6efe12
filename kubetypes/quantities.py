"""Quantities such as `500m` and `1Gi`: parsing, comparing, and the one form in which the API writes each.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

import re
from fractions import Fraction
from functools import lru_cache

SYNTAX = re.compile(r"([+-]?)(\d*(?:\.\d*)?)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+|)", re.ASCII)
ROUGHLY = re.compile(r"[+-]?[0-9.]*(?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?")
"""Both read a text once: with two ways to read the same digits a megabyte of them would take hours."""
BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
DECIMAL_SUFFIX = {power: suffix for suffix, power in DECIMAL.items()}
SMALLEST, THOUSANDTH = Fraction(1, 10**9), Fraction(1, 1000)
LONGEST, LONGEST_BINARY = 18, 14
READABLE, EXPONENT = 4000, 18
"""So many characters of digits and exponents are read. Python reads no longer numbers; a real API server does."""

SUFFIX = "unable to parse quantity's suffix"
WRONG = r"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


class BadQuantity(ValueError):
    """A text is no quantity; says why, in Go's words."""


def quantity(text: str) -> Fraction:
    """The number; rounded up to nanos as the API does. Raises `BadQuantity`."""
    return _parsed(text)[0]


@lru_cache(4096)
def canonical(text: str) -> str:
    """The form in which the API writes it: no fraction, the largest suffix that fits, the family of suffix kept.

    As in Go, a text that looks canonical is not touched, even if it has zeros in front.
    """
    value, family = _parsed(text)
    return text if _looks_canonical(text) else _written(value, family)


@lru_cache(4096)
def of_resource(text: str) -> str:
    """The same for amounts of resources, which have no less than a thousandth."""
    value, family = _parsed(text)
    whole = -(-value // THOUSANDTH) * THOUSANDTH
    return canonical(text) if whole == value else _written(whole, family)


def _written(value: Fraction, family: str) -> str:
    if family == "binary" and (abs(value) < 1024 or value.denominator != 1):
        family = "decimal"
    if family == "binary":
        return _binary(value)
    number, power = _scaled(value)
    return f"{number}{(f'e{power}' if power else '') if family == 'exponent' else DECIMAL_SUFFIX[power]}"


def _looks_canonical(text: str) -> bool:
    found = SYNTAX.fullmatch(text)
    if not found or not found[2].strip(".") or len(found[3]) > EXPONENT:
        return False
    whole, _, fraction = found[2].partition(".")
    digits = (whole.lstrip("0") or "0") + fraction
    if found[3] in BINARY[1:]:
        return not fraction and len(digits) < LONGEST_BINARY and int(digits) % 8 != 0
    power = DECIMAL.get(found[3], 0) if found[3] in DECIMAL else int(found[3][1:])
    right_scale = (power - len(fraction)) % 3 == 0 and power - len(fraction) >= -9
    return right_scale and len(digits) <= LONGEST and not digits.endswith("000") and digits[0] != "0"


@lru_cache(4096)
def _parsed(text: str) -> tuple[Fraction, str]:
    found = SYNTAX.fullmatch(text)
    if not found or not text or len(found[2]) > READABLE:
        raise _wrong(text)
    sign, digits, suffix = found.groups()
    if len(suffix) > EXPONENT:
        raise BadQuantity(SUFFIX)
    if suffix in BINARY[1:]:
        family, factor = "binary", Fraction(1024 ** BINARY.index(suffix))
    elif suffix in DECIMAL:
        family, factor = "decimal", Fraction(10) ** DECIMAL[suffix]
    else:
        family, factor = "exponent", Fraction(10) ** max(-30, min(30, int(suffix[1:])))
    value = Fraction(f"0{digits}0" if "." in digits else f"0{digits}") * factor
    value = -(-value // SMALLEST) * SMALLEST
    return (-value if sign == "-" else value), family


def _wrong(text: str) -> BadQuantity:
    rough = text and ROUGHLY.fullmatch(text)
    return BadQuantity(SUFFIX if rough and text.count(".") < 2 else WRONG)


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

"""Patterns in Go's dialect, as Python's."""

import pytest

from hookrunner.patterns import BadPattern, compiled


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        ("^a$", ["a"], ["a\n", "b"]),
        (r"^a\z", ["a"], ["a\n"]),
        ("(?m)^a$", ["a\nb"], ["ab"]),
        ("(?i)^ab$", ["AB"], ["ac"]),
        (r"^\d+$", ["12"], ["١"]),
        (r"^\w$", ["a"], ["ä"]),
        ("^[[:alpha:]_]+$", ["ab_"], ["a1", "[", ":"]),
        ("^[^[:digit:]]$", ["a"], ["1"]),
        ("^[]a]$", ["]", "a"], ["b"]),
        ("^[[a]$", ["[", "a"], ["b"]),
        ("^[a&&b]$", ["&"], ["c"]),
        (r"^[\]$]$", ["]", "$"], ["\\"]),
        (r"^\Qa.b\E$", ["a.b"], ["acb"]),
        (r"^\x{e4}\x41$", ["äA"], ["A"]),
        ("^(?P<x>a)(?<y>b)(?:c)$", ["abc"], ["ab"]),
        ("^a{,2}$", ["a{,2}"], ["aa"]),
        ("^a{1,2}?$", ["aa"], ["aaa"]),
        (r"^a\$$", ["a$"], ["a"]),
        (r"^\+?\++$", ["++"], [""]),
        (r"^\12[\0]\018\400$", ["\n\0\x018\u0100"], ["\n0\x018\u0100"]),
        (r"^" + "(a)" * 10 + r"\10$", ["a" * 10 + "\x08"], ["a" * 11]),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, found: list[str], not_found: list[str]) -> None:
    search = compiled(pattern).search
    assert [text for text in found if not search(text)] == []
    assert [text for text in not_found if search(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        *("(", "a)", "[", "*", "a**", "a++", "a{2}+", "(?=a)", "(?!a)", "(?<=a)", "(?>a)", r"(a)\1", r"\pL", r"\Z"),
        *("[[:none:]]", "[[:^alpha:]]", "(?P=x)", "a(?i)b", "\\", "(?U)a", r"\x{110000}", r"\18"),
    ],
)
def test_what_go_does_not_take_or_python_cannot_do_is_told(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compiled(pattern)

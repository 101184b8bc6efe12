"""Patterns in Go's dialect. What is expected was asked of Go 1.26. Level: pure."""

import pytest

from kubetypes.patterns import InvalidInGo, NotDoneHere, compiled
from tests.tables import each


@each(
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
        (r"^\pL\p{Greek}\P{L}$", ["aα1"], ["aaa"]),
        ("^[[:^alpha:]]$", ["1"], ["a"]),
        ("a(?i)b(?-i)c", ["abc", "aBc"], ["Abc", "abC"]),
        ("(?U)^a+$", ["aa"], ["b"]),
        (".", ["\ud800", "ä"], ["", "\n"]),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, found: list[str], not_found: list[str]) -> None:
    matches = compiled(pattern).matches
    assert [text for text in found if not matches(text)] == []
    assert [text for text in not_found if matches(text)] == []


@each(
    ("pattern", "what", "part"),
    [
        ("(", "missing closing )", "("),
        ("a)", "unexpected )", "a)"),
        ("[", "missing closing ]", "["),
        *((text, "missing argument to repetition operator", "*") for text in ("*", "a|*", "(*)")),
        ("a**", "invalid nested repetition operator", "**"),
        ("a{2}+", "invalid nested repetition operator", "{2}+"),
        *((f"{text}a)", "invalid or unsupported Perl syntax", text) for text in ("(?=", "(?!", "(?>")),
        *((text, "invalid escape sequence", text) for text in (r"\1", r"\Z", r"\C", r"\x{", r"\x{110000", r"\y")),
        (r"[\C]", "invalid escape sequence", r"\C"),
        (r"\18", "invalid escape sequence", r"\1"),
        ("[[:none:]]", "invalid character class range", "[:none:]"),
        ("[z-a]", "invalid character class range", "z-a"),
        ("a{1001}", "invalid repeat count", "{1001}"),
        ("(?P<ä>a)", "invalid named capture", "(?P<ä>"),
        ("(?P<n", "invalid named capture", "(?P<n"),
        ("a\\", "trailing backslash at end of expression", ""),
    ],
)
def test_patterns_that_go_refuses_are_reported_in_its_words(pattern: str, what: str, part: str) -> None:
    with pytest.raises(InvalidInGo) as error:
        compiled(pattern)
    assert str(error.value) == f"error parsing regexp: {what}: `{part}`"


@each("pattern", [r"\pL{1000}", r"(\pL{0,500}){2}"])
def test_a_pattern_that_takes_much_memory_is_distinguished_from_a_wrong_one(pattern: str) -> None:
    with pytest.raises(NotDoneHere, match="use smaller repetitions"):
        compiled(pattern)


def test_a_quoted_text_may_have_any_letters() -> None:
    assert compiled(r"^\QA\C\E$").matches(r"A\C")


def test_matches_are_found_as_go_finds_them() -> None:
    """An empty match right behind another does not count; characters stay whole; half of a surrogate pair is U+FFFD."""
    assert compiled("ä*").find_all("äbß") == ["ä", "", ""]
    assert compiled("b+").find_all("abbcb") == ["bb", "b"]
    assert compiled("[ß-ü]+").find("aäöb") == "äö"
    assert compiled("x").find("a") is None
    assert compiled(".").find_all("\ud800") == ["\ufffd"]


@each("pattern", ["^([a-z0-9]+-?)+$", "(a+)+$", "^(a|aa)+$", "(.*a){20}", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_text_of_a_megabyte_is_matched_whatever_the_pattern(pattern: str) -> None:
    assert not compiled(pattern).matches("a" * 2**20 + "!") or pattern == "(.*a){20}"

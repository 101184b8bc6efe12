"""Patterns and formats: which texts match, as a real API server decides it. Level: control plane."""

from collections.abc import Iterator

import pytest

from tests.kubesandbox.oracle import Oracle
from tests.kubesandbox.structural.widgets import Widgets, widgets, with_fields
from tests.tables import each

PATTERNS = {
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": ["a", "a-b", "-a", "a\n", "A", ""],
    r"^\d+\s\w+$": ["1 a", "1\va", "١ a", "1 ä", "1\ta"],
    r"a\z": ["a", "a\n", "ab"],
    r"(?m)^a$": ["a", "b\na", "a\nb", "ab"],
    r"(?i)^abc$": ["ABC", "abd"],
    r"(?i:a)b": ["Ab", "AB"],
    r"(?s)a.b": ["a\nb"],
    r"a.b": ["a\nb", "aüb"],
    r"^[[:alpha:]_][[:alnum:]_]*$": ["a1", "1a", "_", "é"],
    r"^[^\s]+$": ["ab", "a b", "a\vb"],
    r"^[\S]+$": ["ab", "a b", "a\vb"],
    r"^[\w.-]+$": ["a.b-c", "a b"],
    r"^\Qa.b\E$": ["a.b", "axb"],
    r"^a{,2}$": ["a{,2}", "aa"],
    r"^a{2}$": ["aa", "a{2}"],
    r"^[[a]+$": ["[a", "b"],
    r"^[a&&b]+$": ["&", "a"],
    r"^\x{41}\x42$": ["AB"],
    r"^(?P<n>a)(?P<m>b)?$": ["ab", "a", "b"],
    r"^(?<n>a)$": ["a", "b"],
    r"^[]a]$": ["]", "a", "b"],
    r"^[^]a]$": ["]", "b"],
    r"^a+?b??$": ["aab", "b"],
    r"\bfoo\b": ["a foo", "afoo", "foö", "äfoo"],
    r"^(a|b(c|$))$": ["a", "b", "bc", "bd"],
    r"^\/path\-x\_y$": ["/path-x_y"],
    r"^$|^x$": ["", "x", "y"],
    r"^\pL+$": ["aä", "a1"],
    r"^[[:^alpha:]]$": ["1", "a"],
    "^a(?i)b$": ["aB", "AB"],
    "(?U)^a+b": ["aab", "b"],
    "^([a-z0-9]+-?)+$": ["a" * 40 + "!", "a-b"],
}
FORMATS = {
    "date-time": [
        "2024-02-29T12:00:00Z",
        "2023-02-29T12:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T12:00:00.5+01:00",
        "2024-01-01 12:00:00Z",
        "2024-01-01t12:00:00z",
        "2024-01-01T12:00:60Z",
        "2024-01-01T12:00:00",
    ],
    "date": ["2024-02-29", "2023-02-29", "2024-1-1", "0000-01-01", "24-01-01"],
    "duration": [
        "1h",
        "1h30m",
        "22 ns",
        "3 days",
        "1.5h",
        "-1s",
        "1",
        "0",
        "",
        "abc",
        "2 weeks",
        "1 fortnight",
        "µs",
        "5µs",
        ".5s",
    ],
    "byte": ["", "YQ==", "YWI=", "YWJj", "YQ", "YQ=", "Y Q==", "YW-_"],
    "email": [
        "a@b",
        "a@b.c",
        "a",
        "@b",
        "A B <a@b.c>",
        "a@b@c",
        "a b@c.d",
        '"a b"@c.d',
        "a.@b.c",
        "a..b@c",
        "a@[1.2.3.4]",
        "<a@b.c>",
    ],
    "uri": [
        "http://a",
        "http://a.b:80/x?y#z",
        "/a/b",
        "a/b",
        "mailto:x",
        "http://a b",
        "http://[::1]:80",
        "http://a:b",
        "",
        "://x",
        "http://",
        "http://a/%zz",
        "http://a/%41",
        "1a:x",
        "//host/path",
        "http://a/x y",
        "http:///x",
        "*",
    ],
    "hostname": [
        "a",
        "a.b",
        "a.b.com",
        "-a",
        "a-",
        "a_b",
        "1.com",
        "a.1",
        "ä.com",
        "x" * 64,
        "a..b",
        "",
        "a.b.",
        "$",
        "a-b.c-d.de",
    ],
    "ipv4": ["1.2.3.4", "1.2.3", "01.2.3.4", "1.2.3.256", "::ffff:1.2.3.4", "::1"],
    "ipv6": ["::1", "fe80::1%eth0", "1.2.3.4", "::ffff:1.2.3.4", "1::2::3", "12345::"],
    "cidr": ["10.0.0.0/8", "10.0.0.1/33", "::/0", "::/129", "10.0.0.0", "010.0.0.0/8", "10.0.0.0/08", "10.0.0.0/"],
    "mac": [
        "00:1b:63:84:45:e6",
        "00-1b-63-84-45-e6",
        "001b.6384.45e6",
        "00:1b:63:84:45",
        "00:1b-63:84:45:e6",
        "00:1b:63:84:45:e6:aa:bb",
    ],
    "uuid": [
        "123e4567-e89b-12d3-a456-426614174000",
        "123E4567E89B12D3A456426614174000",
        "x",
        "123e4567-e89b-12d3-a456-42661417400",
    ],
    "uuid3": ["123e4567-e89b-32d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174000"],
    "uuid4": ["123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-c456-426614174000"],
    "uuid5": ["123e4567-e89b-52d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174000"],
    "isbn": ["0321751043", "978-0321751041", "0321751044", "123"],
    "isbn10": ["0321751043", "080442957X", "978-0321751041"],
    "isbn13": ["978-0321751041", "978-0321751042", "0321751043"],
    "creditcard": ["4111 1111 1111 1111", "4111111111111112", "1234", ""],
    "ssn": ["123-45-6789", "123456789", "123 45 6789", "12-345-6789"],
    "hexcolor": ["#FFFFFF", "fff", "#ffff", "red"],
    "rgbcolor": ["rgb(255,255,255)", "rgb(256,0,0)", "rgb( 1 , 2 , 3 )", "rgb(1,2)"],
    "bsonobjectid": ["507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901", "x"],
    "password": ["x", ""],
    "k8s-short-name": ["a-b", "-a", "A", "x" * 64, "a.b"],
    "k8s-long-name": ["a.b-c", "a..b", ".a", "A.b"],
    "unheard-of": ["x"],
}
SHAPES = {pattern: {"type": "string", "pattern": pattern} for pattern in PATTERNS}
SHAPES |= {name: {"type": "string", "format": name} for name in FORMATS}
TABLE = list((PATTERNS | FORMATS).items())
CASES = [(f"f{index}", text) for index, (_, texts) in enumerate(TABLE) for text in texts]


@pytest.fixture(scope="module")
def served(oracle: Oracle) -> Iterator[Widgets]:
    """All patterns and formats, each a field."""
    with widgets(oracle, with_fields(**{f"f{index}": SHAPES[said] for index, (said, _) in enumerate(TABLE)})) as served:
        yield served


@each(("key", "text"), CASES, ids=[f"{TABLE[int(key[1:])][0]}-{text[:30]!r}" for key, text in CASES])
def test_a_text_matches_as_the_api_server_says(served: Widgets, key: str, text: str) -> None:
    assert served.ours({"spec": {key: text}}) == served.theirs({"spec": {key: text}})

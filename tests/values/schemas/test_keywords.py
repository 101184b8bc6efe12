"""Formats of texts and numbers, by tables. Level: pure."""

from hookrunner.values.schemas.keywords import text_format
from tests.tables import each


@each(
    ("name", "right", "wrong"),
    [
        ("date", ["2024-02-29"], ["2023-02-29", "20240229", "2024-2-1"]),
        (
            "date-time",
            ["2024-01-01T10:00:00Z", "2024-01-01t10:00:00.5+01:00"],
            ["2024-01-01", "2024-01-01T10:00:00", ""],
        ),
        ("duration", ["1h30m", "0", "-1.5s", "22 seconds", "3 days"], ["1", "h", "", "1y"]),
        ("email", ["a@b", "a.b@c.org", "A B <a@b.org>"], ["a", "@b", "a b@c", "a..b@c"]),
        ("hostname", ["a", "a-b.example.com", "1.org", "ä.org"], ["", "-a", "a_b", "a..b", "a" * 64, "a.b."]),
        ("ipv4", ["10.0.0.1"], ["10.0.0", "256.0.0.1", "10.0.0.01", "::1", ""]),
        ("ipv6", ["::1", "fe80::1"], ["10.0.0.1", "g::"]),
        (
            "cidr",
            ["10.0.0.0/8", "10.0.0.1/8", "fe80::/64"],
            ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/255.0.0.0", "010.0.0.0/8", "/8"],
        ),
        ("mac", ["00:1b:63:84:45:e6", "00-1B-63-84-45-E6"], ["00:1b:63:84:45", "00:1b-63:84:45:e6"]),
        (
            "uri",
            ["https://a.b/c?d=e#f", "oci://x:80/y", "/path", "/a b", "mailto:a"],
            ["", "a.b", "http://[::1", "/%zz"],
        ),
        ("uuid", ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567", ""]),
        ("uuid4", ["123e4567-e89b-42d3-a456-426614174000"], ["123e4567-e89b-12d3-a456-426614174000"]),
        ("byte", ["", "YQ==", "YWI=", "YWJj"], ["YQ", "Y", "YQ==="]),
        ("hexcolor", ["#fff", "00ff00"], ["#ffff", "red"]),
    ],
)
def test_a_text_has_a_format_or_not(name: str, right: list[str], wrong: list[str]) -> None:
    has = text_format(name)
    assert has is not None
    assert [one for one in right if not has(one)] == []
    assert [one for one in wrong if has(one)] == []


@each("name", ["", "password", "int-or-string", "made up"])
def test_other_formats_are_for_people(name: str) -> None:
    assert text_format(name) is None

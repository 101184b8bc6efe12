"""How registries ask for logins, and the tokens that they give. Level: pure."""

from email.utils import formatdate
from time import process_time

import pytest
from yarl import URL

from hookrunner.errors import PackageError
from hookrunner.packages.oci.registry_login import (
    Challenge,
    Token,
    parse_challenge,
    parse_token,
    requested_pause,
    token_url,
)
from tests.tables import each

REALM = "https://auth.example.com/token"


@each(
    "header, challenge",
    [
        (f'Bearer realm="{REALM}",service="here",scope="a,b"', Challenge(REALM, "here", "a,b")),
        (f'bearer  realm = "{REALM}" , error="invalid_token"', Challenge(REALM)),
        (f"Bearer realm={REALM}", Challenge(REALM)),
        (f'Basic realm="x", Bearer realm="{REALM}"', Challenge(REALM)),
        (f'Bearer realm="{REALM}", Basic realm="x"', Challenge(REALM)),
        (r'Bearer realm="a\"b"', Challenge('a"b')),
        ('Basic realm="here"', Challenge()),
        ("BASIC", Challenge()),
        ("Bearer", None),
        ("Negotiate", None),
        ("", None),
    ],
)
def test_a_registry_says_how_to_log_in(header: str, challenge: Challenge | None) -> None:
    assert parse_challenge(header) == challenge


def test_a_megabyte_of_headers_does_not_hold_the_event_loop_up() -> None:
    header, began = ", ".join([f'Bearer realm="{REALM}"', *["a" * 8000] * 120]), process_time()
    assert parse_challenge(header) == Challenge(REALM)
    assert process_time() - began < 2.0  # 20 ms; 40 s when each letter began a name


def test_a_token_is_asked_for_with_the_registrys_own_words() -> None:
    urls = [token_url(URL(f"{REALM}?x=1"), challenge, "mine") for challenge in (Challenge("", "s", "a:b"), Challenge())]
    assert urls == [URL(f"{REALM}?x=1&service=s&scope=a:b"), URL(f"{REALM}?x=1&scope=mine")]


@each(
    "body, token",
    [
        (b'{"token": "t", "expires_in": 300}', Token("Bearer t", 1290.0)),
        (b'{"access_token": "t"}', Token("Bearer t", 1050.0)),
        (b'{"token": "t", "expires_in": 1}', Token("Bearer t", 1050.0)),
        (b'{"token": "t\\r\\nX: y"}', None),
        (b'{"token": ["t"]}', None),
        (b'{"token": "t", "expires_in": "long"}', None),
        (b"[]", None),
        (b"{", None),
        (b'{"token": "' + b"t" * (64 << 10) + b'"}', None),
    ],
)
def test_a_token_ends_before_the_registry_says(body: bytes, token: Token | None) -> None:
    if token:
        assert parse_token(REALM, body, 1000.0) == token
        assert "Bearer" not in repr(token)
    else:
        with pytest.raises(PackageError, match=r"^https://auth\.example\.com/token: the answer has no token"):
            parse_token(REALM, body, 1000.0)


@each(
    "text, seconds",
    [
        ("3", 3.0),
        ("", None),
        ("-1", None),
        ("9" * 40, None),
        ("soon", None),
        (formatdate(1010, usegmt=True), 10.0),
        (formatdate(10, usegmt=True), 0.0),
    ],
)
def test_a_pause_is_a_number_or_a_date(text: str, seconds: float | None) -> None:
    assert requested_pause({"retry-after": text}, 1000.0) == seconds

"""Who has sent a request, by its headers. Level: pure."""

from kubetypes.foreign_pages import objection
from tests.tables import each

OURS = ("10.1.2.3", "debug.example.com")


@each("host", ["localhost", "LOCALHOST:1", "127.0.0.1:80", "127.9.9.9", "[::1]:80", "[::1]", "10.1.2.3:9652"])
def test_this_machine_and_our_own_addresses_are_ours(host: str) -> None:
    assert objection({}, host, OURS) == ""


@each("host", ["", ":80", "evil.example", "localhost.evil.example", "10.1.2.4", "0.0.0.0", "[", "]:"])
def test_every_other_host_is_a_foreign_page(host: str) -> None:
    assert objection({}, host, OURS) == f"as host {host!r}"


def test_without_names_of_our_own_only_loopback_is_ours() -> None:
    assert objection({}, "10.1.2.3:9652") == "as host '10.1.2.3:9652'"


@each(
    ("origin", "host", "refused"),
    [
        ("http://localhost:3000", "localhost:9652", False),
        ("http://10.1.2.3:9652", "10.1.2.3:9652", False),  # the page is of this very server
        ("http://10.1.2.3:8080", "10.1.2.3:9652", True),
        ("https://evil.example", "localhost:9652", True),
        ("null", "localhost:9652", True),
        ("", "localhost:9652", True),
    ],
)
def test_an_origin_is_this_machine_or_the_host_itself(origin: str, host: str, refused: bool) -> None:
    assert objection({"Origin": origin}, host, OURS) == (f"to pages of {origin!r}" if refused else "")


@each(("site", "refused"), [("cross-site", True), ("same-origin", False), ("none", False)])
def test_a_browser_says_that_another_site_asks(site: str, refused: bool) -> None:
    assert bool(objection({"Sec-Fetch-Site": site}, "localhost")) is refused

"""The digest of a release."""

from hookrunner.charts.digests import digest
from hookrunner.model.releases import Capabilities

SEEN = Capabilities("v1.31.0", ("v1",))


def test_it_changes_with_everything_that_a_release_is_made_from() -> None:
    digests = [
        digest("f", {"a": 1}, None, {}),
        digest("g", {"a": 1}, None, {}),
        digest("f", {"a": 2}, None, {}),
        digest("f", {"a": 1}, SEEN, {}),
        digest("f", {"a": 1}, Capabilities("v1.31.0", ("v1", "apps/v1")), {}),
        digest("f", {"a": 1}, None, {"heritage": "h"}),
    ]
    assert len(set(digests)) == len(digests)
    assert all(len(text) == 40 for text in digests)


def test_it_does_not_change_with_the_order_of_keys() -> None:
    assert digest("f", {"a": 1, "b": {"c": 2, "d": 3}}, SEEN, {}) == digest(
        "f", {"b": {"d": 3, "c": 2}, "a": 1}, SEEN, {}
    )

"""Quantities without a cluster, a few of each family. `tests/kubesandbox/builtin` asks a real API server.

Level: pure."""

from fractions import Fraction

import pytest

from kubetypes.quantities import BadQuantity, canonical, of_resource, quantity
from tests.tables import each


@each(
    ("text", "written", "number"),
    [
        ("1000m", "1", 1),
        ("-1500m", "-1500m", Fraction(-3, 2)),
        ("0.5", "500m", Fraction(1, 2)),
        ("1000000", "1M", 10**6),
        ("100e3", "100e3", 10**5),
        ("1024Ki", "1Mi", 2**20),
        ("1.5Gi", "1536Mi", 3 * 2**29),
        ("-0.5Gi", "-512Mi", -(2**29)),
        ("0.5Ki", "512", 512),
        ("1Ei", "1Ei", 2**60),
    ],
)
def test_a_quantity_is_read_and_written_canonically(text: str, written: str, number: Fraction) -> None:
    assert (canonical(text), quantity(text)) == (written, number)


def test_an_amount_of_a_resource_has_whole_thousandths() -> None:
    assert of_resource("1u") == "1m"


@each(
    ("text", "reason"),
    [
        ("", "must match"),
        ("1x", "must match"),
        ("1.2.3", "must match"),
        ("--1", "unable to parse quantity's suffix"),
        ("1 Gi", "must match"),
    ],
)
def test_a_text_that_is_not_a_quantity_is_refused_in_gos_words(text: str, reason: str) -> None:
    with pytest.raises(BadQuantity, match=reason):
        quantity(text)

"""Which versions are in which range. Level: pure."""

import pytest

from hookrunner.ranges import meets, parse
from tests.tables import each


@each(
    ("wanted", "inside", "outside"),
    [
        ("", "0.0.1 1.2.3 99", ""),
        ("*", "0.0.1 99", ""),
        (">=1.2", "1.2.0 v1.2 1.3.0 2 1.10.0", "1.1.9 0.9"),
        (">1.2", "1.3.0 2.0.0", "1.2.0 1.2.9"),
        (">1.2.3", "1.2.4", "1.2.3"),
        ("<1.2", "1.1.9", "1.2.0"),
        ("<=1.2", "1.2.9 1.1", "1.3.0"),
        ("1.2", "1.2.0 1.2.9", "1.3.0 1.1.9"),
        ("=1.2.3", "1.2.3 v1.2.3+k3s1", "1.2.4"),
        ("1.x", "1.0.0 1.9", "2.0.0"),
        ("!=1.2", "1.1.0 1.3.0", "1.2.0 1.2.7"),
        ("~1.2", "1.2.0 1.2.9", "1.3.0"),
        ("~1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0"),
        ("~1", "1.0.0 1.9.9", "2.0.0"),
        ("~> 1.2", "1.2.5", "1.3.0"),
        ("^1", "1.0.0 1.9.9", "2.0.0 0.9.0"),
        ("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0"),
        ("^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2"),
        ("^0.0.3", "0.0.3", "0.0.4"),
        ("^0", "0.0.1 0.9.9", "1.0.0"),
        ("1.2 - 2", "1.2.0 2.0.0 2.9.9", "1.1.9 3.0.0"),
        (">=1.2,<2", "1.2.0 1.9.9", "2.0.0 1.1.0"),
        (">=1.2 <2", "1.2.0 1.9.9", "2.0.0 1.1.0"),
        (">= 1.2, < 2, != 1.5.1", "1.5.0", "1.5.1 2.0.0"),
        ("<1 || >=2", "0.9.0 2.0.0", "1.0.0"),
        (">*", "", "1.0.0"),
    ],
)
def test_a_range_contains_these_versions_and_not_those(wanted: str, inside: str, outside: str) -> None:
    assert misplaced(wanted, inside, outside) == []


def misplaced(wanted: str, inside: str, outside: str) -> list[str]:
    """The versions of these that are on the other side of the range."""
    span = parse(wanted)
    return [version for version in f"{inside} {outside}".split() if meets(version, span) != (version in inside.split())]


@each("version", ["v1.30.1-gke.1329000", "v1.30.0-eks-036c24b", "v1.30.2+k3s1", "1.30.0-rc.1"])
def test_a_vendors_suffix_does_not_matter_to_a_range_without_one(version: str) -> None:
    assert meets(version, parse(">=1.30"))
    assert meets(version, parse("~1.30.0 || ~1.30"))
    assert not meets(version, parse("<1.30"))


@each(
    ("wanted", "inside", "outside"),
    [
        (">=1.2.3-rc.2", "1.2.3-rc.2 1.2.3-rc.10 1.2.3-rc.2.1 1.2.3 1.3.0-a", "1.2.3-rc.1 1.2.3-beta 1.2.2"),
        (">1.2.3-rc.2", "1.2.3-rc.2.1 1.2.3-rc.3", "1.2.3-rc.2"),
        ("=1.2.3-rc.2", "1.2.3-rc.2", "1.2.3 1.2.3-rc.1 1.2.3-rc.2.1"),
        ("<1.2.3-2", "1.2.3-1", "1.2.3-2 1.2.3-a 1.2.3"),
        ("~1.2.3-0", "1.2.3-0 1.2.3-a 1.2.9", "1.3.0-a"),
    ],
)
def test_a_range_that_names_a_suffix_orders_them(wanted: str, inside: str, outside: str) -> None:
    assert misplaced(wanted, inside, outside) == []


@each("wanted", ["one", ">=", ">=1.2 and <2", "1.2foo", "1..2", ">=1.2 ||", "=>=1", "1.2.3.4"])
def test_a_bad_range_is_refused_with_how_to_write_one(wanted: str) -> None:
    with pytest.raises(ValueError, match=r"is no range of versions; write it like >=1\.2"):
        parse(wanted)


@each("version", ["", "latest", "x", "1.2.3.4"])
def test_a_bad_version_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match=r"is no version; write it like 1\.2\.3"):
        meets(version, parse(">=1"))

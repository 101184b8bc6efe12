"""Locations in mirrors: the longest beginning counts, and only whole steps of a path. Level: pure."""

from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.errors import BadSetting
from hookrunner.model.addons import Addon, AddonObject
from hookrunner.packages.mirrors import parse_mirrors
from hookrunner.packages.source_locations import DirectoryLocation, WebLocation, locations_of
from hookrunner.settings import AddonsSettings
from tests.tables import each

MIRRORS = parse_mirrors(
    "https://example.com=https://mirror,https://example.com/b/=file:/srv/b,git::https://g/r?ref=main=m,"
    "oci://r=git::https://g/s?ref=v1",
    Path("/work"),
)


@each(
    "location, there",
    [
        ("https://example.com", "https://mirror"),
        ("https://example.com/a/{kubernetes}", "https://mirror/a/{kubernetes}"),
        ("https://example.com/b", "file:/srv/b"),
        ("https://example.com/b/c/", "file:/srv/b/c/"),
        ("https://example.com/bc", "https://mirror/bc"),
        ("https://example.community", "https://example.community"),
        ("git::https://g/r?ref=main", "/work/m"),
        ("git::https://g/r?ref=other", "git::https://g/r?ref=other"),
        ("oci://r", "git::https://g/s?ref=v1"),
        ("channels", "channels"),
    ],
)
def test_location_in_a_mirror(location: str, there: str) -> None:
    assert MIRRORS.moved(location) == there


def test_sources_of_addons_and_of_the_flag_are_looked_for_in_mirrors(tmp_path: Path) -> None:
    own = Addon("own", "own", tmp_path / "own", tmp_path, AddonObject("Own", "owns"), source="https://a.com/own")
    addons = [own, replace(own, name="given"), replace(own, name="here", source="channels")]
    settings = AddonsSettings(
        source="given=https://b.com/x", mirrors=f"https://a.com={tmp_path / 'm'},https://b.com=https://c.com"
    )
    assert locations_of(addons, settings) == {
        "own": DirectoryLocation(tmp_path / "m/own"),
        "given": WebLocation("https://c.com/x"),
        "here": DirectoryLocation(tmp_path / "own/channels", is_of_addon=True),
    }


@each(
    "text, problem",
    [
        ("https://a.com", "'https://a.com' is no FROM=TO"),
        ("https://me:secret@a.com", "'https://a.com' is no FROM=TO"),
        ("https://u:p@a.com=/x,https://u:p@a.com=/y", "(?<!@)https://a.com has two mirrors"),
        ("=file:/x", "'=file:/x' is no FROM=TO"),
        ("https://a.com=", "is no FROM=TO"),
        ("https://a.com=/x,https://a.com/=/y", "https://a.com has two mirrors"),
        ("https://a.com=http://b.com", "http://b.com is not protected"),
        ("https://a.com=ftp://b.com", "'ftp:' is no kind of source"),
    ],
)
def test_mirror_that_cannot_be_used_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadSetting, match=f"--addon-mirror: .*{problem}"):
        locations_of([], AddonsSettings(mirrors=text))

"""What a text means as the location of a source. Level: pure."""

from pathlib import Path

import pytest

from hookrunner.errors import BadSetting
from hookrunner.packages.git_locations import GitLocation
from hookrunner.packages.oci_locations import LayoutLocation, RegistryLocation
from hookrunner.packages.source_locations import (
    ClusterLocation,
    DirectoryLocation,
    SourceLocation,
    SourceOverrides,
    WebLocation,
    overrides_of,
    parse_location,
    parse_overrides,
)
from hookrunner.settings import AddonsSettings
from tests.tables import each

BASE = Path("/addons/coredns")


@each(
    "text, location",
    [
        ("channels", DirectoryLocation(BASE / "channels")),
        ("/srv/addons", DirectoryLocation(Path("/srv/addons"))),
        ("file:channels", DirectoryLocation(BASE / "channels")),
        ("file:/srv/a=b,c", DirectoryLocation(Path("/srv/a=b,c"))),
        ("file:///srv", DirectoryLocation(Path("/srv"))),
        ("https://example.com/addons/", WebLocation("https://example.com/addons")),
        ("https://example.com/{kubernetes}", WebLocation("https://example.com/{kubernetes}")),
        ("https://example.com/repo.git//x", WebLocation("https://example.com/repo.git//x")),
        ("http://127.0.0.1:8080", WebLocation("http://127.0.0.1:8080")),
        ("http://[::1]:8080/x", WebLocation("http://[::1]:8080/x")),
        ("http://localhost", WebLocation("http://localhost")),
        ("git::https://example.com/a.git", GitLocation("https://example.com/a.git")),
        ("git::https://example.com:8443/a//b/c/?ref=v1", GitLocation("https://example.com:8443/a", "b/c", "v1")),
        ("git::https://example.com//b", GitLocation("https://example.com", "b")),
        (
            "git::http://127.0.0.1:80/a.git?ref=x{kubernetes}",
            GitLocation("http://127.0.0.1:80/a.git", "", "x{kubernetes}"),
        ),
        ("git::file:///srv/a.git//b?ref=a/b", GitLocation("/srv/a.git", "b", "a/b")),
        ("git::file:../a.git", GitLocation("/addons/coredns/../a.git")),
        ("git::/srv/a b//c d", GitLocation("/srv/a b", "c d")),
        ("oci://example.com:5000/team/addons/", RegistryLocation("https://example.com:5000", "team/addons")),
        ("oci+http://127.0.0.1:5000/a", RegistryLocation("http://127.0.0.1:5000", "a")),
        ("oci-layout:addons.tar", LayoutLocation(BASE / "addons.tar")),
        ("configmap:addons", ClusterLocation("ConfigMap", "addons", "addon-channels")),
        ("secret:addons/my.channels", ClusterLocation("Secret", "addons", "my.channels")),
    ],
)
def test_a_text_is_a_location(text: str, location: SourceLocation) -> None:
    assert parse_location(text, BASE) == location


@each(
    "text, problem",
    [
        ("", "cannot be empty; write a path, file:PATH, https://"),
        ("a\0b", "cannot be empty"),
        ("git@example.com:a.git", "is written git::https://HOST/PATH or git::file:PATH; ssh is not supported"),
        ("ssh://example.com/a", "ssh is not supported"),
        ("git://example.com/a", "is written git::https://HOST/PATH"),
        ("repo.git//sub", "is written git::https://HOST/PATH"),
        ("git::ssh://git@example.com/a.git", "ssh and git:// are not supported, https is; write git::https://"),
        ("git::git@example.com:a.git", "ssh and git:// are not supported"),
        ("git::git://example.com/a.git", "ssh and git:// are not supported"),
        ("git::", "it names no repository"),
        ("git::https://", "has no host"),
        ("git::http://example.com/a.git", "http://example.com is not protected"),
        ("git::https://example.com/a#main", "has a query or a fragment"),
        ("git::https://example.com/a?branch=x", "names no branch, tag or commit"),
        ("git::https://example.com/a?ref=", "names no branch, tag or commit"),
        ("git::https://example.com/a?ref=a..b", "names no branch, tag or commit"),
        ("git::https://example.com/a?ref=--upload-pack", "names no branch, tag or commit"),
        ("git::https://example.com/a?ref=a&depth=1 ", "names no branch, tag or commit"),
        ("git::https://example.com/a//../b", "is no plain path in the repository"),
        ("git::https://example.com/a//b//c", "is no plain path in the repository"),
        ("oci://example.com", "is no path of a repository; write oci://HOST"),
        ("oci://example.com/a:1", "is no path of a repository"),
        ("oci://example.com/Team/a", "is no path of a repository"),
        ("oci://example.com/a/../b", "is no path of a repository"),
        ("oci:///a", "has no host"),
        ("oci://me:pw@example.com/a", "has no user and password; --addon-credentials"),
        ("oci+http://example.com/a", "is not protected"),
        ("bundle:x", "cluster bundles (bundle.gke.io) are not read: put their objects into ConfigMaps"),
        ("ftp://example.com", "'ftp:' is no kind of source"),
        ("https://", "has no host"),
        ("https://[::1/x", "has no host"),
        ("https://a:99999/x", "has no host"),
        ("https://example.com/x?token=1", "has a query"),
        ("https://example.com/x#part", "a fragment"),
        ("http://example.com/x", "is not protected; use https, or set --addon-verify off"),
        ("http://localhost.example.com/x", "is not protected"),
        ("configmap:", "takes the names of a namespace"),
        ("configmap:Addons", "takes the names of a namespace"),
        ("configmap:addons/", "takes the names of a namespace"),
        ("secret:a/b/c", "takes the names of a namespace"),
        ("secret:../x", "takes the names of a namespace"),
    ],
)
def test_a_text_that_is_none_says_why(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_location(text, BASE)
    assert problem in str(raised.value)


def test_plain_http_is_allowed_where_nothing_is_verified() -> None:
    assert parse_location("http://example.com/x", BASE, plain_http=True) == WebLocation("http://example.com/x")


def test_a_location_is_shown_without_its_password() -> None:
    assert str(parse_location("https://me:secret@example.com:8443/a", BASE)) == "https://example.com:8443/a"
    location = parse_location("git::https://me:secret@example.com/a//b?ref=c", BASE)
    assert str(location) == "git::https://example.com/a//b?ref=c"
    assert str(parse_location("configmap:addons", BASE)) == "configmap:addons/addon-channels"


@each(
    "text, expected",
    [
        ("", SourceOverrides()),
        ("/srv", SourceOverrides(DirectoryLocation(Path("/srv")))),
        ("/srv/a=b", SourceOverrides(DirectoryLocation(Path("/srv/a=b")))),
        ("https://example.com/a", SourceOverrides(WebLocation("https://example.com/a"))),
        ("coredns=/srv", SourceOverrides(by_addon={"coredns": DirectoryLocation(Path("/srv"))})),
        (
            "coredns=/srv,dashboard=secret:x,",
            SourceOverrides(
                by_addon={"coredns": DirectoryLocation(Path("/srv")), "dashboard": ClusterLocation("Secret", "x")}
            ),
        ),
    ],
)
def test_the_flag_names_one_location_or_one_for_each(text: str, expected: SourceOverrides) -> None:
    assert parse_overrides(text, BASE) == expected


@each(
    "text, problem",
    [
        ("coredns=/srv,/other", "'/other' is no NAME=LOCATION"),
        ("coredns=/srv,https://me:secret@x/y", "'https://x/y' is no NAME=LOCATION"),
        ("coredns=/srv,coredns=/other", "has two locations"),
        ("coredns=", "cannot be empty"),
        ("coredns=ftp://x", "is no kind of source"),
    ],
)
def test_a_flag_that_cannot_be_read_says_why(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_overrides(text, BASE)
    assert problem in str(raised.value)


def test_an_override_beats_the_addons_own_source() -> None:
    own, other = DirectoryLocation(Path("/own")), DirectoryLocation(Path("/other"))
    assert SourceOverrides().location_of("coredns", own) == own
    assert SourceOverrides(other).location_of("coredns", own) == other
    assert SourceOverrides(by_addon={"dashboard": other}).location_of("coredns", own) == own


def test_a_setting_that_names_no_source_is_refused_by_its_flag() -> None:
    with pytest.raises(BadSetting, match=r"^--addon-source: 'ftp:' is no kind of source"):
        overrides_of(AddonsSettings(source="ftp://example.com"))


def test_a_registry_is_shown_as_it_is_written_and_follows_the_clusters_version() -> None:
    texts = ["oci://example.com/k-{kubernetes}/a", "oci+http://localhost:5000/a", "oci-layout:/srv/a"]
    assert [str(parse_location(text, BASE)) for text in texts] == texts
    location = parse_location(texts[0], BASE)
    assert isinstance(location, RegistryLocation)
    assert location.at("v1.34.2-gke.100").path == "k-1.34.2/a"

"""Fetching: what is known is not fetched, and a source that is down does not affect what runs. Level: pure."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.errors import PackageError
from hookrunner.metrics.names import Metrics
from hookrunner.model.addons import Addon, AddonObject
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.git.git_checkouts import GitCheckouts
from hookrunner.packages.host_credentials import CredentialsFile
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.oci.registry_client import RegistryClient
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher, PackageRequest, SourceOpener
from hookrunner.packages.signatures.signing_keys import KeyFiles
from hookrunner.packages.source_locations import ClusterLocation, SourceLocation, locations_of, parse_location
from hookrunner.settings import AddonsSettings
from tests.packages.places import CHART, FILES, DirectoryPlace, refusal_of, with_checksums
from tests.packages.signatures.openssl import make_key
from tests.packages.web_place import Answer, WebPlace, web_place

PACKAGE = parse_package("coredns", "1.0", with_checksums(FILES))
REQUEST = PackageRequest("coredns", "1.0")
LIST = "/packages/coredns/1.0/SHA256SUMS"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[WebPlace]:
    async with web_place(tmp_path) as place:
        place.put_package("coredns", "1.0", with_checksums(FILES))
        yield place


@pytest.fixture
def metrics() -> Metrics:
    return Metrics("")


@pytest.fixture
def fetcher(tmp_path: Path, metrics: Metrics) -> PackageFetcher:
    return PackageFetcher(PackageCache(tmp_path / "cache", 1 << 30), "digest", metrics)


async def test_a_package_is_fetched_once(fetcher: PackageFetcher, place: WebPlace, metrics: Metrics) -> None:
    first = await fetcher.fetch(place.source, REQUEST)
    count = len(place.requests)
    second = await fetcher.fetch(place.source, REQUEST)
    assert first.digest == second.digest == PACKAGE.digest
    assert place.requests[count:] == [(LIST, 304)]
    text = metrics.exposition().decode()
    for result in ("fetched", "cached"):
        assert f'addon_package_fetches_total{{result="{result}",source="{place.base}"}} 1' in text
    assert "addon_package_cache_bytes 12288" in text


async def test_channels_are_counted_by_what_came_of_them(
    fetcher: PackageFetcher, place: WebPlace, metrics: Metrics, capfd: pytest.CaptureFixture[str]
) -> None:
    place.put_channel("stable", b"manifests: [{version: 1.0.0}]\n")
    place.put_channel("odd", b"manifests: 3\n")
    for name in ("stable", "odd", "gone"):
        with suppress(PackageError):
            await fetcher.read_channel(place.source, name)
    lines = [
        line for line in metrics.exposition().decode().splitlines() if line.startswith("addon_channel_reads_total")
    ]
    expected = ("Malformed", "NoChannel", "read")
    assert lines == [f'addon_channel_reads_total{{result="{result}",source="{place.base}"}} 1' for result in expected]
    logged = [line for line in capfd.readouterr().err.splitlines() if "channel not usable" in line]
    assert [reason in line and place.base in line for reason, line in zip(expected, logged, strict=False)] == [True] * 2


async def test_a_pinned_package_that_is_cached_costs_no_request(fetcher: PackageFetcher, place: WebPlace) -> None:
    await fetcher.fetch(place.source, REQUEST)
    place.requests.clear()
    package = await fetcher.fetch(place.source, PackageRequest("coredns", "1.0", pin=PACKAGE.digest))
    assert (package.files, place.requests) == (PACKAGE.files, [])


async def test_fifty_at_once_fetch_once(fetcher: PackageFetcher, place: WebPlace) -> None:
    pinned = PackageRequest("coredns", "1.0", pin=PACKAGE.digest)
    packages = await asyncio.gather(*(fetcher.fetch(place.source, pinned) for _ in range(50)))
    assert {package.digest for package in packages} == {PACKAGE.digest}
    assert len(place.requests) == len(with_checksums(FILES))


@pytest.mark.parametrize("answer", [Answer(status=500), Answer(status=404), Answer(body=None)])
async def test_a_source_that_is_down_does_not_affect_what_is_installed(
    fetcher: PackageFetcher, place: WebPlace, answer: Answer, capfd: pytest.CaptureFixture[str]
) -> None:
    await fetcher.fetch(place.source, REQUEST)
    for path in place.files:
        place.answers[path] = answer
    source = place.source_at(place.base, timeout=0.2)
    installed = PackageRequest("coredns", "1.0", installed=PACKAGE.digest)
    assert (await fetcher.fetch(source, installed)).digest == PACKAGE.digest
    error = await refusal_of(fetcher.fetch(source, REQUEST))
    assert error.reason in ("Unreachable", "NotFound")
    *_, logged = capfd.readouterr().err.splitlines()
    assert "package not usable" in logged
    assert f"reason={error.reason}" in logged
    assert place.base in logged


async def test_a_package_that_changed_under_its_version_is_refused_until_accepted(
    fetcher: PackageFetcher, place: WebPlace
) -> None:
    changed = parse_package("coredns", "1.0", CHART)
    place.put_package("coredns", "1.0", with_checksums(CHART))
    error = await refusal_of(fetcher.fetch(place.source, PackageRequest("coredns", "1.0", installed=PACKAGE.digest)))
    assert error.reason == "DigestChanged"
    accepted = PackageRequest("coredns", "1.0", installed=PACKAGE.digest, accepted=changed.digest)
    assert (await fetcher.fetch(place.source, accepted)).digest == changed.digest


async def test_a_package_without_a_pin_is_refused(fetcher: PackageFetcher, place: WebPlace, metrics: Metrics) -> None:
    place.put_package("coredns", "2.0", {"manifest.yaml": b"kind: A\n"})
    assert (await refusal_of(fetcher.fetch(place.source, PackageRequest("coredns", "2.0")))).reason == "Unverified"
    assert f'{{result="Unverified",source="{place.base}"}} 1' in metrics.exposition().decode()
    digest = parse_package("coredns", "2.0", {"manifest.yaml": b"kind: A\n"}).digest
    pinned = PackageRequest("coredns", "2.0", pin=digest)
    assert (await fetcher.fetch(place.source, pinned)).digest == digest


async def test_a_package_that_is_not_the_pinned_one_is_refused(fetcher: PackageFetcher, place: WebPlace) -> None:
    error = await refusal_of(fetcher.fetch(place.source, PackageRequest("coredns", "1.0", pin="sha256:" + "0" * 64)))
    assert error.reason == "DigestMismatch"


async def test_a_directory_is_read_each_time_and_not_cached(fetcher: PackageFetcher, tmp_path: Path) -> None:
    place = DirectoryPlace(tmp_path / "source")
    for text in (b"kind: A\n", b"kind: B\n"):
        place.put_package("coredns", "1.0", {"manifest.yaml": text})
        installed = PackageRequest("coredns", "1.0", installed=PACKAGE.digest)
        assert (await fetcher.fetch(place.source, installed)).files == {"manifest.yaml": text}
    assert not (tmp_path / "cache").exists()


class CountedSource(DirectorySource):
    """A directory that counts how often it is looked at."""

    looks = 0

    async def read_package(self, component: str, version: str) -> Package:
        self.looks += 1
        return await super().read_package(component, version)

    async def read_channel(self, name: str) -> str:
        self.looks += 1
        return await super().read_channel(name)


async def test_fifty_at_once_look_once_at_a_directory(
    fetcher: PackageFetcher, metrics: Metrics, tmp_path: Path
) -> None:
    place = DirectoryPlace(tmp_path / "local")
    place.put_package("coredns", "1.0", FILES)
    place.put_channel("stable", b"manifests: [{version: '1.0'}]")
    source = CountedSource(tmp_path / "local")
    packages = await asyncio.gather(*(fetcher.fetch(source, REQUEST) for _ in range(50)))
    assert (len({*map(id, packages)}), source.looks) == (1, 1)
    channels = await asyncio.gather(*(fetcher.read_channel(source, "stable") for _ in range(50)))
    assert (len(channels), source.looks) == (50, 2)
    counted = f'addon_package_fetches_total{{result="read",source="{source.location}"}} 50'
    assert counted in metrics.exposition().decode()


async def test_locations_become_sources(tmp_path: Path, place: WebPlace) -> None:
    async with HttpsReader() as reader:
        locations: dict[str, SourceLocation | str] = {
            "files": parse_location("channels", tmp_path),
            "web": parse_location("https://me:pw@example.com/{kubernetes}", tmp_path),
            "git": parse_location("git::https://me:pw@example.com/a.git//x?ref=v{kubernetes}", tmp_path),
            "objects": ClusterLocation("ConfigMap", "addons"),
            "wrong": "source of the addon 'wrong': a source cannot be empty",
        }
        logins = CredentialsFile()
        checkouts = GitCheckouts(tmp_path, reader, logins, 1.0)
        opener = SourceOpener(reader, None, 1.0, locations, RegistryClient(reader, logins), checkouts)
        directory, web = opener.open("files", "v1.34.0"), opener.open("web", "v1.34.0")
        assert (directory.location, directory.is_remote) == (str(tmp_path / "channels"), False)
        assert (web.location, web.is_remote) == ("https://example.com/{kubernetes}", True)
        git = opener.open("git", "v1.34.0")
        assert (git.location, git.is_remote) == ("git::https://example.com/a.git//x?ref=v1.34.0", True)
        with pytest.raises(PackageError, match="configmap:addons/addon-channels needs a cluster"):
            opener.open("objects", "v1.34.0")
        with pytest.raises(PackageError, match="'wrong': a source cannot be empty"):
            opener.open("wrong", "v1.34.0")


async def test_signature_is_required_of_what_is_in_no_directory_of_an_addon(tmp_path: Path) -> None:
    public = make_key(tmp_path / "release.key")
    addon = Addon("dns", "dns", tmp_path / "dns", tmp_path, AddonObject("DNS", "dnses"))
    sources = {"beside": "../other/channels", "away": "../mirror", "linked": "link"}
    addons = [addon, *(replace(addon, name=name, source=source) for name, source in sources.items())]
    for directory in ("dns/channels", "other/channels", "mirror"):
        (tmp_path / directory).mkdir(parents=True)
    (tmp_path / "other/addon.yaml").touch()
    (tmp_path / "dns/link").symlink_to(tmp_path / "mirror")
    locations = locations_of(addons, AddonsSettings())
    async with HttpsReader() as reader:
        logins = CredentialsFile()
        checkouts = GitCheckouts(tmp_path, reader, logins, 1.0)
        registries = RegistryClient(reader, logins)
        opener = SourceOpener(reader, None, 1.0, locations, registries, checkouts, KeyFiles((public,)))
        opened = [type(opener.open(name, "v1.34.0")).__name__ for name in ("dns", *sources)]
    assert opened == ["DirectorySource", "DirectorySource", "SignedSource", "SignedSource"]

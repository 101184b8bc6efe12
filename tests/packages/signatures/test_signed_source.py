"""What is not signed is not read, from any source; registries: `tests/packages/oci`. Level: sandbox."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.metrics.names import Metrics
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher, PackageRequest
from hookrunner.packages.signatures.signed_source import SignedSource
from hookrunner.packages.signatures.signing_keys import SigningKey, read_keys, read_signing_key
from hookrunner.packages.source_locations import ClusterLocation
from tests.packages.git_place import git_place
from tests.packages.places import FILES, DirectoryPlace, Place, cluster_place, refusal_of, with_checksums
from tests.packages.signatures.openssl import make_key
from tests.packages.web_place import Answer, WebPlace, web_place

CHANNEL = b"manifests: [{version: 1.0.0}]\n"
LISTED = with_checksums(FILES)
LIST = "SHA256SUMS"


@pytest.fixture(params=["directory", "https", "git", "ConfigMap", "Secret"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        match request.param:
            case "https":
                yield await stack.enter_async_context(web_place(tmp_path))
            case "git":
                yield await stack.enter_async_context(git_place(tmp_path, is_web=False))
            case "ConfigMap" | "Secret" as kind:
                yield await stack.enter_async_context(cluster_place(ClusterLocation(kind, "default")))
            case _:
                yield DirectoryPlace(tmp_path / "source")


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    make_key(tmp_path / "release.key")
    (tmp_path / "source").mkdir()
    return read_signing_key(tmp_path / "release.key")


def signed(place: Place, tmp_path: Path) -> SignedSource:
    return SignedSource(place.source, read_keys((tmp_path / "release.pub",)))


async def test_channel_is_read_if_it_is_signed(place: Place, key: SigningKey, tmp_path: Path) -> None:
    source = signed(place, tmp_path)
    place.put_channel("stable", CHANNEL)
    error = await refusal_of(source.read_channel("stable"))
    assert (error.reason, f"channel 'stable' in {place.source.location} has no signature" in str(error)) == (
        "Unverified",
        True,
    )
    place.put_channel("stable.sig", key.sign(CHANNEL + b"# other\n"))
    assert (await refusal_of(source.read_channel("stable"))).reason == "Unverified"
    place.put_channel("stable.sig", key.sign(CHANNEL))
    assert await source.read_channel("stable") == CHANNEL.decode()
    assert (await refusal_of(source.read_channel("edge"))).reason == "NoChannel"


async def test_package_is_read_if_its_list_is_signed(place: Place, key: SigningKey, tmp_path: Path) -> None:
    source = signed(place, tmp_path)
    place.put_channel("stable", CHANNEL)
    place.put_package("coredns", "1.0", LISTED)
    error = await refusal_of(source.read_package("coredns", "1.0"))
    assert (error.reason, str(error).startswith("package coredns 1.0 has no signature")) == ("Unverified", True)
    place.put_package("coredns", "1.0", LISTED | {"SHA256SUMS.sig": key.sign(LISTED[LIST] + b"\n")})
    await place.source.read_channel("stable")  # packages of a git repository are those of the channel's commit
    assert "fits none of the keys" in str(await refusal_of(source.read_package("coredns", "1.0")))
    place.put_package("coredns", "1.0", LISTED | {"SHA256SUMS.sig": key.sign(LISTED[LIST])})
    await place.source.read_channel("stable")
    package = parse_package("coredns", "1.0", LISTED)
    assert await source.read_package("coredns", "1.0") == replace(package, is_signed=True)
    assert await source.read_digest("coredns", "1.0") == package.digest


async def test_files_without_a_list_cannot_be_signed(place: Place, key: SigningKey, tmp_path: Path) -> None:
    place.put_package("coredns", "1.0", {"manifest.yaml": FILES["manifest.yaml"]})
    error = await refusal_of(signed(place, tmp_path).read_package("coredns", "1.0"))
    assert (error.reason, "has no SHA256SUMS that could be signed: seal it" in str(error)) == ("Unverified", True)
    assert (await refusal_of(signed(place, tmp_path).read_package("coredns", "2.0"))).reason == "NotFound"


async def test_files_other_than_those_of_the_signed_list_are_refused(
    place: Place, key: SigningKey, tmp_path: Path
) -> None:
    files = LISTED | {"SHA256SUMS.sig": key.sign(LISTED[LIST]), "manifest.yaml": b"kind: Secret\n"}
    place.put_package("coredns", "1.0", files)
    assert (await refusal_of(signed(place, tmp_path).read_package("coredns", "1.0"))).reason == "DigestMismatch"


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[WebPlace]:
    async with web_place(tmp_path) as place:
        yield place


async def test_signature_is_checked_before_any_file_is_fetched(web: WebPlace, key: SigningKey, tmp_path: Path) -> None:
    web.put_package("coredns", "1.0", LISTED)
    await refusal_of(signed(web, tmp_path).read_package("coredns", "1.0"))
    directory = "/packages/coredns/1.0"
    assert web.requests == [(f"{directory}/SHA256SUMS", 200), (f"{directory}/SHA256SUMS.sig", 404)]


async def test_cached_package_costs_two_small_answers_and_is_used_only_if_it_is_signed_now(
    web: WebPlace, key: SigningKey, tmp_path: Path
) -> None:
    fetcher = PackageFetcher(PackageCache(tmp_path / "cache", 1 << 30), "signature", Metrics(""))
    source, request = signed(web, tmp_path), PackageRequest("coredns", "1.0")
    web.put_package("coredns", "1.0", LISTED | {"SHA256SUMS.sig": key.sign(LISTED[LIST])})
    digest = (await fetcher.fetch(source, request)).digest
    web.requests.clear()
    pinned = replace(request, pin=digest)
    assert [(await fetcher.fetch(source, asked)).digest for asked in (request, pinned)] == [digest, digest]
    assert {status for _, status in web.requests} == {304}
    web.files["/packages/coredns/1.0/SHA256SUMS.sig"] = key.sign(b"other")
    assert (await refusal_of(fetcher.fetch(source, pinned))).reason == "Unverified"


async def test_what_is_installed_stays_while_the_source_is_down(web: WebPlace, key: SigningKey, tmp_path: Path) -> None:
    fetcher = PackageFetcher(PackageCache(tmp_path / "cache", 1 << 30), "signature", Metrics(""))
    source = signed(web, tmp_path)
    web.put_package("coredns", "1.0", LISTED | {"SHA256SUMS.sig": key.sign(LISTED[LIST])})
    digest = (await fetcher.fetch(source, PackageRequest("coredns", "1.0"))).digest
    web.answers["/packages/coredns/1.0/SHA256SUMS"] = Answer(status=503)
    assert (await fetcher.fetch(source, PackageRequest("coredns", "1.0", installed=digest))).digest == digest


class ExchangingSource(DirectorySource):
    """One that has another package as soon as its seal was read."""

    async def read_package(self, component: str, version: str) -> Package:
        return parse_package(component, version, with_checksums(FILES | {"manifest.yaml": b"kind: Secret\n"}))


async def test_package_that_is_exchanged_after_its_signature_was_read_is_refused(
    key: SigningKey, tmp_path: Path
) -> None:
    sealed = LISTED | {"SHA256SUMS.sig": key.sign(LISTED[LIST])}
    DirectoryPlace(tmp_path / "source").put_package("coredns", "1.0", sealed)
    source = SignedSource(ExchangingSource(tmp_path / "source"), read_keys((tmp_path / "release.pub",)))
    error = await refusal_of(source.read_package("coredns", "1.0"))
    assert (error.reason, "which is signed" in str(error)) == ("DigestMismatch", True)

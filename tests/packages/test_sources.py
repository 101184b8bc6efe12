"""The contract of all sources: one package gives one digest and the same errors, wherever it lies. Level: sandbox."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from secrets import token_hex

import pytest

from hookrunner.packages.channels import choose_entry, parse_channel
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.package import parse_package
from hookrunner.packages.source_locations import ClusterLocation
from tests.oracles.distribution import Distribution, running_registry
from tests.packages.git_place import git_place
from tests.packages.oci.oci_places import DistributionPlace, LayoutPlace, RegistryPlace
from tests.packages.oci.registry_server import registry_server
from tests.packages.places import CHART, FILES, DirectoryPlace, Place, cluster_place, refusal_of, with_checksums
from tests.packages.web_place import web_place
from tests.tables import each

OCI = ["oci files", "oci archive", "oci image", "oci-layout", "oci-layout tar"]


@pytest.fixture(scope="module")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Distribution]:
    """The distribution project's registry, which all tests share: each has a path of its own."""
    with running_registry(tmp_path_factory.mktemp("registry")) as registry:
        yield registry


REAL = pytest.param("distribution", marks=pytest.mark.slow)
GIT = [pytest.param(name, marks=pytest.mark.slow) for name in ("git", "git-files")]


@pytest.fixture(params=["directory", "https", *GIT, "ConfigMap", "Secret", *OCI, REAL])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        match request.param:
            case "https":
                yield await stack.enter_async_context(web_place(tmp_path))
            case "git" | "git-files" as name:
                yield await stack.enter_async_context(git_place(tmp_path, is_web=name == "git"))
            case "ConfigMap" | "Secret" as kind:
                yield await stack.enter_async_context(cluster_place(ClusterLocation(kind, "default")))
            case "oci-layout" | "oci-layout tar" as form:
                yield LayoutPlace(tmp_path, is_archive=form != "oci-layout")
            case "distribution":
                reader = await stack.enter_async_context(HttpsReader())
                yield DistributionPlace(request.getfixturevalue("distribution"), reader, token_hex(8))
            case str(form) if form in OCI:
                registry = await stack.enter_async_context(registry_server())
                yield RegistryPlace(registry, form.partition(" ")[2])
            case _:
                yield DirectoryPlace(tmp_path)


async def test_a_channel_is_read_as_it_is_now(place: Place) -> None:
    place.put_channel("stable", b"manifests: [{version: 1.0.0}]\n")
    first = parse_channel("stable", await place.source.read_channel("stable"))
    place.put_channel("stable", b"manifests: [{version: 1.1.0}]\n")
    second = parse_channel("stable", await place.source.read_channel("stable"))
    chosen = [choose_entry(channel, "coredns", "v1.33.0").version for channel in (first, second)]
    assert chosen == ["1.0.0", "1.1.0"]


@pytest.mark.parametrize("files", [FILES, CHART], ids=["plain", "chart"])
async def test_a_package_is_the_same_wherever_it_lies(place: Place, files: dict[str, bytes]) -> None:
    place.put_package("coredns", "1.14.6", with_checksums(files))
    assert await place.source.read_package("coredns", "1.14.6") == parse_package(
        "coredns", "1.14.6", with_checksums(files)
    )


async def test_a_package_of_one_manifest_needs_no_checksums(place: Place) -> None:
    files = {"manifest.yaml": FILES["manifest.yaml"]}
    place.put_package("coredns", "1.14.6", files)
    package = await place.source.read_package("coredns", "1.14.6")
    assert package == parse_package("coredns", "1.14.6", files)
    assert not package.has_checksums
    assert await place.source.read_digest("coredns", "1.14.6") in ("", package.digest)


@each(
    "component, version, reason",
    [
        ("coredns", "2.0.0", "NotFound"),
        ("dashboard", "1.14.6", "NotFound"),
        ("coredns", "../1.14.6", "NoVersion"),
        ("coredns", "1" * 300, "NoVersion"),
        ("..", "1.14.6", "Malformed"),
        ("Core/DNS", "1.14.6", "Malformed"),
    ],
)
async def test_what_is_not_there_is_refused(place: Place, component: str, version: str, reason: str) -> None:
    place.put_package("coredns", "1.14.6", with_checksums(FILES))
    assert (await refusal_of(place.source.read_package(component, version))).reason == reason
    if reason != "NotFound":
        assert (await refusal_of(place.source.read_digest(component, version))).reason == reason


@each("name", ["edge", "Stable", "../stable", "a" * 300, "", "packages/coredns"])
async def test_a_channel_that_is_not_there_is_refused(place: Place, name: str) -> None:
    place.put_channel("stable", b"manifests: [{version: 1.0.0}]\n")
    assert (await refusal_of(place.source.read_channel(name))).reason == "NoChannel"


async def test_the_closest_version_and_channel_are_named_where_they_can_be_listed(place: Place) -> None:
    place.put_channel("stable", b"manifests: [{version: 1.0.0}]\n")
    for version in ("1.14.6", "2.0.0"):
        place.put_package("coredns", version, with_checksums(FILES))
    said = [str(await refusal_of(place.source.read_package("coredns", "1.14")))]
    said.append(str(await refusal_of(place.source.read_channel("stabel"))))
    if await place.source.list_versions("coredns"):
        assert ["did you mean '1.14.6'?" in said[0], "did you mean 'stable'?" in said[1]] == [True, True]
    else:
        assert "use another version (`hookrunner addon versions`)" in said[0]


async def test_a_channel_is_a_text(place: Place) -> None:
    place.put_channel("stable", b"\xff\xfe\xff")
    assert (await refusal_of(place.source.read_channel("stable"))).reason == "Malformed"


async def test_a_package_that_is_not_what_it_says_is_refused(place: Place) -> None:
    changes = {
        "1.0.0": ({"manifest.yaml": b"kind: Secret\n"}, "DigestMismatch"),
        "2.0.0": ({"SHA256SUMS": b"garbage\n"}, "Malformed"),
        "3.0.0": ({"SHA256SUMS": b""}, "Malformed"),
        "4.0.0": ({"package.yaml": b"kubernetes: [\n"}, "DigestMismatch"),
    }
    for version, (change, _) in changes.items():
        place.put_package("coredns", version, with_checksums(FILES) | change)
    errors = {version: await refusal_of(place.source.read_package("coredns", version)) for version in changes}
    assert {version: error.reason for version, error in errors.items()} == {key: row[1] for key, row in changes.items()}
    assert all(str(error).startswith(f"package coredns {version}: ") for version, error in errors.items())


async def test_a_listed_file_that_is_missing_is_refused(place: Place) -> None:
    files = with_checksums({**CHART, "templates/gone.yaml": b""})
    del files["templates/gone.yaml"]
    place.put_package("coredns", "1.14.6", files)
    error = await refusal_of(place.source.read_package("coredns", "1.14.6"))
    assert "SHA256SUMS: lists the file 'templates/gone.yaml', which does not exist" in str(error)


async def test_versions_with_a_package_are_listed_newest_first(place: Place) -> None:
    for version in ("1.9.0", "1.10.0", "1.10.0-rc.1", "edge"):
        place.put_package("coredns", version, FILES)
    place.put_package("dashboard", "7.0.0", FILES)
    expected = ["1.10.0", "1.10.0-rc.1", "1.9.0", "edge"]
    assert await place.source.list_versions("coredns") in ([], expected)
    assert await place.source.list_versions("flannel") == []

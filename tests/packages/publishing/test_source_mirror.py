"""A mirror has the same bytes, and never half of a package. Level: pure."""

import asyncio
import os
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from hookrunner.errors import BadInput, PackageError
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.oci_locations import RegistryLocation
from hookrunner.packages.package import parse_package
from hookrunner.packages.publishing.directory_target import DirectoryTarget
from hookrunner.packages.publishing.registry_target import RegistryTarget
from hookrunner.packages.publishing.source_mirror import Mirrored, MirrorRequest, mirror
from hookrunner.packages.signatures.signed_source import SignedSource
from hookrunner.packages.signatures.signing_keys import read_keys, read_signing_key
from hookrunner.packages.source_locations import PackageSource
from tests.flows.waiting import until
from tests.packages.oci.registry_server import REPOSITORY, registry_server
from tests.packages.places import CHART, FILES, with_checksums
from tests.packages.signatures.openssl import make_key
from tests.packages.web_place import Answer, WebPlace, web_place

CHANNEL = b"manifests:\n- version: '1.0'\n- version: '2.0'   # newest\n"
ALL = MirrorRequest("web", (), ("stable",))
OLD = MirrorRequest("web", ("1.0",), ("stable",))
DIGESTS = [parse_package("web", "1.0", files).digest for files in (FILES, CHART)]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[WebPlace]:
    async with web_place(tmp_path) as place:
        make_key(tmp_path / "release.key")
        key = read_signing_key(tmp_path / "release.key")
        for version, files in (("1.0", FILES), ("2.0", CHART)):
            listed = with_checksums(files)
            place.put_package("web", version, listed | {"SHA256SUMS.sig": key.sign(listed["SHA256SUMS"])})
        place.put_channel("stable", CHANNEL)
        place.put_channel("stable.sig", key.sign(CHANNEL))
        yield place


async def mirrored(source: PackageSource, target: Path, request: MirrorRequest = ALL) -> list[Mirrored]:
    return [one async for one in mirror(source, [request], DirectoryTarget.opened(target))]


def contents(target: Path) -> dict[str, bytes]:
    return {f"/{path.relative_to(target)}": path.read_bytes() for path in target.rglob("*") if path.is_file()}


async def test_mirror_has_the_same_bytes_and_verifies_as_the_source_does(place: WebPlace, tmp_path: Path) -> None:
    keys, target = read_keys((tmp_path / "release.pub",)), tmp_path / "mirror"
    done = await mirrored(SignedSource(place.source, keys), target)
    assert done == [
        Mirrored("web 1.0", 1, 3, True, DIGESTS[0]),
        Mirrored("web 2.0", 2, 3, True, DIGESTS[1]),
        Mirrored("channel stable", 3, 3, True),
    ]
    assert contents(target) == place.files
    source = SignedSource(DirectorySource(target), keys)
    assert [(await source.read_package("web", version)).digest for version in ("1.0", "2.0")] == DIGESTS
    assert await source.read_channel("stable") == CHANNEL.decode()


async def test_channel_that_changes_during_the_copy_keeps_its_signature(place: WebPlace, tmp_path: Path) -> None:
    keys = read_keys((tmp_path / "release.pub",))
    work = mirror(SignedSource(place.source, keys), [ALL], DirectoryTarget.opened(tmp_path / "mirror"))
    await anext(work)
    place.put_channel("stable", b"manifests: []\n")
    place.put_channel("stable.sig", read_signing_key(tmp_path / "release.key").sign(b"manifests: []\n"))
    assert len([one async for one in work]) == 2
    copy = SignedSource(DirectorySource(tmp_path / "mirror"), keys)
    assert await copy.read_channel("stable") == CHANNEL.decode()


async def test_registry_gets_packages_before_channels_and_verifies_as_the_source_does(
    place: WebPlace, tmp_path: Path
) -> None:
    keys, done = read_keys((tmp_path / "release.pub",)), list[list[Mirrored]]()
    async with registry_server() as registry:
        location = RegistryLocation(registry.url, REPOSITORY)
        for _ in range(2):
            target = nullcontext(RegistryTarget(registry.client.open(location), 30.0))
            done.append([one async for one in mirror(SignedSource(place.source, keys), [ALL], target)])
        source = SignedSource(registry.source(), keys)
        assert [(await source.read_package("web", version)).digest for version in ("1.0", "2.0")] == DIGESTS
        assert await source.read_channel("stable") == CHANNEL.decode()
    assert [[one.was_written for one in run] for run in done] == [[True, True, True], [False, False, False]]
    tags = [path.rpartition(f"{REPOSITORY}/")[2] for path in registry.pushed if "/manifests/" in path]
    assert tags == ["web/manifests/1.0", "web/manifests/2.0", "channels/manifests/stable"]


async def test_mirror_is_readable_for_a_web_server_of_another_user(place: WebPlace, tmp_path: Path) -> None:
    await mirrored(place.source, tmp_path / "mirror")
    modes = {oct(path.stat().st_mode & 0o777) for path in (tmp_path / "mirror").rglob("*")}
    assert modes == {"0o644", "0o755"}


async def test_second_run_writes_what_is_new_alone(place: WebPlace, tmp_path: Path) -> None:
    target = tmp_path / "mirror"
    assert (await mirrored(place.source, target, OLD))[1].missing == ("web 2.0",)
    assert [one.was_written for one in await mirrored(place.source, target)] == [False, True, False]
    place.put_package("web", "1.0", {"SHA256SUMS.sig": b"renewed"})
    place.put_channel("stable", CHANNEL + b"serial: 2\n")
    assert [one.was_written for one in await mirrored(place.source, target)] == [True, False, True]
    assert contents(target) == place.files


async def test_package_without_a_list_gets_one(place: WebPlace, tmp_path: Path) -> None:
    place.put_package("web", "3.0", {"manifest.yaml": b"kind: A\n"})
    await mirrored(place.source, tmp_path / "mirror", MirrorRequest("web", ("3.0",), ()))
    assert (await DirectorySource(tmp_path / "mirror").read_package("web", "3.0")).has_checksums


async def test_source_that_lacks_a_package_gets_no_channel(place: WebPlace, tmp_path: Path) -> None:
    for path in [path for path in place.files if "/2.0/" in path]:
        del place.files[path]
    with pytest.raises(PackageError, match=r"web 2.0: neither SHA256SUMS nor manifest.yaml exists"):
        await mirrored(place.source, tmp_path / "mirror")
    assert sorted(os.listdir(tmp_path / "mirror")) == ["packages"]
    assert os.listdir(tmp_path / "mirror/packages/web") == ["1.0"]


async def test_what_is_not_signed_is_not_copied(place: WebPlace, tmp_path: Path) -> None:
    source = SignedSource(place.source, read_keys((make_key(tmp_path / "other.key"),)))
    with pytest.raises(PackageError, match="fits none of the keys"):
        await mirrored(source, tmp_path / "mirror")
    assert not (tmp_path / "mirror").exists()


async def test_another_package_under_the_same_version_is_refused(place: WebPlace, tmp_path: Path) -> None:
    await mirrored(place.source, tmp_path / "mirror")
    before = contents(tmp_path / "mirror")
    place.put_package("web", "1.0", with_checksums(FILES | {"manifest.yaml": b"kind: B\n"}))
    with pytest.raises(BadInput, match=r"is another package than web 1.0 of the source"):
        await mirrored(place.source, tmp_path / "mirror")
    assert contents(tmp_path / "mirror") == before


async def test_interrupted_copy_leaves_no_half_of_a_package_and_is_continued(place: WebPlace, tmp_path: Path) -> None:
    target, path = tmp_path / "mirror", "/packages/web/2.0/Chart.yaml"
    place.answers[path] = Answer(body=None)
    copying = asyncio.create_task(mirrored(place.source, target))
    await until(lambda: (path, 200) in place.requests, "the request that is not answered")
    copying.cancel()
    await asyncio.wait({copying})
    assert os.listdir(target / "packages/web") == ["1.0"]
    del place.answers[path]
    assert [one.was_written for one in await mirrored(place.source, target)] == [False, True, True]
    assert contents(target) == place.files


@contextmanager
def full_disk() -> Iterator[None]:
    """Files cannot grow beyond a few bytes; the error has another number than that of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_full_disk_leaves_what_was_there(place: WebPlace, tmp_path: Path) -> None:
    await mirrored(place.source, tmp_path / "mirror", OLD)
    before = contents(tmp_path / "mirror")
    with (
        full_disk(),
        pytest.raises(BadInput, match=r"mirror cannot be written: File too large; .* run the same command"),
    ):
        await mirrored(place.source, tmp_path / "mirror")
    assert contents(tmp_path / "mirror") == before

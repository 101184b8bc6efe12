"""Sums and signatures are those of what was read, and what is right stays. Level: pure."""

import os
from pathlib import Path

import pytest

from hookrunner.errors import BadInput, PackageError
from hookrunner.packages.directory_source import DirectorySource
from hookrunner.packages.package import parse_package
from hookrunner.packages.publishing.published_directory import PublishedDirectory
from hookrunner.packages.publishing.sealer import Sealed, seal
from hookrunner.packages.signatures.signed_source import SignedSource
from hookrunner.packages.signatures.signing_keys import SigningKey, read_keys, read_signing_key
from tests.packages.places import CHART, FILES, DirectoryPlace, with_checksums
from tests.packages.signatures.openssl import P_256, make_key, sign, verifies

LIST, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
DIGEST = parse_package("web", "1.0", FILES).digest


@pytest.fixture
def place(tmp_path: Path) -> DirectoryPlace:
    place = DirectoryPlace(tmp_path / "channels")
    place.put_package("web", "1.0", FILES)
    place.put_package("web", "2.0", CHART)
    place.put_channel("stable", b"manifests: [{version: '1.0'}]\n")
    return place


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    make_key(tmp_path / "release.key", P_256)
    return read_signing_key(tmp_path / "release.key")


async def sealed(directory: Path, key: SigningKey | None = None) -> list[Sealed]:
    return [one async for one in seal(directory, key)]


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    """Each file with its content and when it was written."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


async def test_list_is_what_sha256sum_writes(place: DirectoryPlace) -> None:
    done = await sealed(place.root)
    assert done[0] == Sealed("web 1.0", (LIST,), DIGEST)
    assert [one.name for one in done] == ["web 1.0", "web 2.0", "channel stable"]
    package = place.root / "packages/web/1.0"
    assert (package / LIST).read_bytes() == with_checksums(FILES)[LIST]
    assert (await place.source.read_package("web", "2.0")).has_checksums
    assert not list(place.root.rglob("*.sig"))


async def test_files_beside_packages_are_no_packages(place: DirectoryPlace) -> None:
    for name in ("README.md", "web/.DS_Store", "web/notes.txt"):
        (place.root / "packages" / name).write_bytes(b"")
    assert [one.name for one in await sealed(place.root)] == ["web 1.0", "web 2.0", "channel stable"]


async def test_what_is_sealed_is_accepted_by_openssl_and_by_us(
    place: DirectoryPlace, key: SigningKey, tmp_path: Path
) -> None:
    done = await sealed(place.root, key)
    assert (done[0].written, done[2]) == ((LIST, SIGNATURE), Sealed("channel stable", ("stable.sig",), "", ("1.0",)))
    package, public = place.root / "packages/web/1.0", tmp_path / "release.pub"
    assert verifies(public, package / LIST, (package / SIGNATURE).read_bytes())
    assert verifies(public, place.root / "stable", (place.root / "stable.sig").read_bytes())
    source = SignedSource(DirectorySource(place.root), read_keys((public,)))
    (package / "signature.bin").unlink()
    assert (await source.read_package("web", "1.0")).is_signed
    assert await source.read_channel("stable")


async def test_second_run_writes_nothing_and_keeps_what_other_programs_wrote(
    place: DirectoryPlace, key: SigningKey, tmp_path: Path
) -> None:
    package = place.root / "packages/web/1.0"
    lines = with_checksums(FILES)[LIST].splitlines(keepends=True)
    (package / LIST).write_bytes(b"".join(reversed(lines)))
    (package / SIGNATURE).write_bytes(sign(tmp_path / "release.key", package / LIST))
    await sealed(place.root, key)
    before = tree(place.root)
    assert (package / LIST).read_bytes() == b"".join(reversed(lines))
    assert [one.written for one in await sealed(place.root, key)] == [(), (), ()]
    assert tree(place.root) == before


async def test_changed_files_get_other_sums_and_a_signature_only_with_the_key(
    place: DirectoryPlace, key: SigningKey
) -> None:
    await sealed(place.root, key)
    package = place.root / "packages/web/1.0"
    (package / "more.yaml").write_bytes(b"kind: Secret\n")
    before = tree(place.root)
    with pytest.raises(BadInput, match=r"package web 1.0 is signed, and its files are others now; give --key"):
        await sealed(package)
    assert tree(place.root) == before
    (done,) = await sealed(package, key)
    assert done.written == (LIST, SIGNATURE)


async def test_another_key_signs_again(place: DirectoryPlace, key: SigningKey, tmp_path: Path) -> None:
    await sealed(place.root, key)
    make_key(tmp_path / "next.key")
    done = await sealed(place.root, read_signing_key(tmp_path / "next.key"))
    assert [one.written for one in done] == [(SIGNATURE,), (SIGNATURE,), ("stable.sig",)]


async def test_what_cannot_be_installed_is_not_signed(place: DirectoryPlace, key: SigningKey, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    (place.root / "packages/web/1.0/link.yaml").symlink_to(secret)
    with pytest.raises(PackageError, match=r"link.yaml leads out of"):
        await sealed(place.root, key)
    (place.root / "packages/web/1.0/link.yaml").unlink()
    place.put_channel("stable", b"manifests: [{version: ..}]\n")
    with pytest.raises(PackageError, match="channel 'stable'"):
        await sealed(place.root, key)
    assert not (place.root / "stable.sig").exists()


async def test_channel_with_another_digest_than_its_package_has_is_not_signed(
    place: DirectoryPlace, key: SigningKey
) -> None:
    for name, digest in (("stable", DIGEST), ("wrong", "sha256:" + "0" * 64)):
        place.put_channel(name, f"manifests: [{{version: '1.0', digest: '{digest}'}}]\n".encode())
    with pytest.raises(PackageError, match=rf"^channel 'wrong': manifests\[0\].digest: web 1.0 has .* {DIGEST}; corr"):
        await sealed(place.root, key)
    assert [path.name for path in place.root.glob("*.sig")] == ["stable.sig"]


async def test_directory_without_packages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is no source of packages"):
        await sealed(tmp_path)


async def test_two_at_once_are_refused_and_what_a_killed_one_left_is_deleted(place: DirectoryPlace) -> None:
    drafts = place.root / ".hookrunner-drafts"
    drafts.mkdir()
    (drafts / "file").write_text("half")
    with PublishedDirectory.opened(place.root):
        assert not drafts.exists()
        with pytest.raises(BadInput, match="another process writes to"):
            await sealed(place.root)


async def test_directory_that_cannot_be_written_stays_as_it_is(place: DirectoryPlace, key: SigningKey) -> None:
    await sealed(place.root / "packages/web/1.0")
    (place.root / "stable.sig").mkdir()
    with pytest.raises((BadInput, PackageError), match=r"stable\.sig"):
        await sealed(place.root, key)
    assert os.listdir(place.root / "stable.sig") == []

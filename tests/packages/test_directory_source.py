"""Directories as sources: links, odd files, what cannot be read. Level: pure."""

import os
from pathlib import Path

import pytest

from hookrunner.errors import PackageError
from hookrunner.packages.directory_source import DirectorySource
from tests.packages.places import FILES, DirectoryPlace, refusal_of


@pytest.fixture
def place(tmp_path: Path) -> DirectoryPlace:
    root = tmp_path / "source"
    root.mkdir()
    (tmp_path / "secret.yaml").write_text("password: x\n")
    place = DirectoryPlace(root)
    place.put_channel("stable", b"manifests: []\n")
    place.put_package("coredns", "1.0", FILES)
    return place


async def refusal(place: DirectoryPlace) -> PackageError:
    return await refusal_of(place.source.read_package("coredns", "1.0"))


async def test_a_mounted_config_map_is_a_source(tmp_path: Path) -> None:
    """Its files are links to `..data/`, which is a link to the directory that was written last."""
    (tmp_path / "..2026_11_22").mkdir()
    (tmp_path / "..2026_11_22" / "stable").write_text("manifests: []\n")
    (tmp_path / "..data").symlink_to("..2026_11_22")
    (tmp_path / "stable").symlink_to("..data/stable")
    package = tmp_path / "packages" / "coredns" / "1.0"
    (package / "..2026").mkdir(parents=True)
    (package / "..2026" / "manifest.yaml").write_text("kind: A\n")
    (package / "..data").symlink_to("..2026")
    (package / "manifest.yaml").symlink_to("..data/manifest.yaml")
    source = DirectorySource(tmp_path)
    assert await source.read_channel("stable") == "manifests: []\n"
    assert (await source.read_package("coredns", "1.0")).files == {"manifest.yaml": b"kind: A\n"}


async def test_untouched_package_is_shared_while_it_is_in_use(place: DirectoryPlace) -> None:
    first = await place.source.read_package("coredns", "1.0")
    assert await place.source.read_package("coredns", "1.0") is first
    place.put_package("coredns", "1.0", {"manifest.yaml": b"kind: Other\n"})
    changed = await place.source.read_package("coredns", "1.0")
    assert (changed.files["manifest.yaml"], changed.digest == first.digest) == (b"kind: Other\n", False)


async def test_package_behind_an_exchanged_link_is_read_again(tmp_path: Path) -> None:
    for name, text in (("..1", b"kind: A\n"), ("..2", b"kind: B\n")):
        (tmp_path / "packages/coredns" / name).mkdir(parents=True)
        (tmp_path / "packages/coredns" / name / "manifest.yaml").write_bytes(text)
    link, source = tmp_path / "packages/coredns/1.0", DirectorySource(tmp_path)
    link.symlink_to("..1")
    first = await source.read_package("coredns", "1.0")
    link.unlink()
    link.symlink_to("..2")
    assert (await source.read_package("coredns", "1.0")).files != first.files


async def test_a_link_inside_the_source_is_followed(place: DirectoryPlace) -> None:
    place.put_package("coredns", "0.9", {"shared/a.yaml": b"kind: A\n"})
    (place.root / "packages/coredns/1.0/shared").symlink_to("../0.9/shared")
    assert (await place.source.read_package("coredns", "1.0")).files["shared/a.yaml"] == b"kind: A\n"


@pytest.mark.parametrize("target", ["../../../../secret.yaml", "/etc/passwd", "/etc", "/proc/self/environ"])
async def test_a_link_that_leads_outside_is_refused(place: DirectoryPlace, target: str) -> None:
    (place.root / "packages/coredns/1.0/link.yaml").symlink_to(target)
    error = await refusal(place)
    assert error.reason == "Malformed"
    assert f"coredns 1.0: link.yaml leads out of {place.root} by a symbolic link" in str(error)


async def test_a_component_or_a_channel_that_leads_outside_is_refused(place: DirectoryPlace, tmp_path: Path) -> None:
    (place.root / "packages" / "flannel").symlink_to(tmp_path)
    (place.root / "edge").symlink_to("../secret.yaml")
    for answer in (place.source.list_versions("flannel"), place.source.read_channel("edge")):
        with pytest.raises(PackageError, match="leads out of") as raised:
            await answer
        assert raised.value.reason == "Malformed"


async def test_a_source_that_is_a_link_is_a_source(place: DirectoryPlace, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("source")
    assert await DirectorySource(tmp_path / "link").list_versions("coredns") == ["1.0"]


async def test_a_file_in_the_place_of_a_component_is_named(place: DirectoryPlace) -> None:
    (place.root / "packages/flannel").write_text("")
    with pytest.raises(PackageError, match=f"directory {place.root}/packages/flannel.*[Nn]ot a directory"):
        await place.source.list_versions("flannel")


async def test_a_link_to_a_directory_above_says_what_to_remove(place: DirectoryPlace) -> None:
    (place.root / "packages/coredns/1.0/again").symlink_to(".")
    assert "again/ is a link to a directory that contains it; remove it" in str(await refusal(place))


@pytest.mark.parametrize("target", [".", "..", "loop.yaml", "gone.yaml"])
async def test_a_link_in_a_circle_or_to_nothing_is_refused(place: DirectoryPlace, target: str) -> None:
    (place.root / "packages/coredns/1.0/loop.yaml").symlink_to(target)
    assert (await refusal(place)).reason == "Malformed"


async def test_a_pipe_is_refused_without_waiting_for_its_writer(place: DirectoryPlace) -> None:
    os.mkfifo(place.root / "packages/coredns/1.0/pipe")
    os.mkfifo(place.root / "edge")
    assert (await refusal(place)).reason == "Malformed"
    with pytest.raises(PackageError, match="write a regular file there"):
        await place.source.read_channel("edge")


async def test_names_that_are_no_text_are_refused(place: DirectoryPlace) -> None:
    Path(os.fsdecode(os.fsencode(place.root) + b"/packages/coredns/1.0/\xff")).write_bytes(b"")
    assert "is not UTF-8" in str(await refusal(place))


async def test_a_source_without_its_directory_is_down(tmp_path: Path) -> None:
    source = DirectorySource(tmp_path / "gone")
    for answer in (source.read_channel("stable"), source.list_versions("a"), source.read_package("a", "1")):
        with pytest.raises(PackageError, match=r"gone does not exist; make it, or name another one") as raised:
            await answer
        assert (raised.value.reason, raised.value.brief) == ("Unreachable", True)


@pytest.mark.slow
async def test_a_directory_of_directories_ends(place: DirectoryPlace) -> None:
    for number in range(1001):
        (place.root / "packages/coredns/1.0" / f"d{number}").mkdir()
    assert "has more than 1,000 directories" in str(await refusal(place))


async def test_a_directory_of_files_is_counted_before_one_is_read(place: DirectoryPlace) -> None:
    place.put_package("coredns", "1.0", {"0.yaml": b""})
    first = place.root / "packages/coredns/1.0/0.yaml"
    os.truncate(first, 100 << 20)
    for number in range(1, 1001):
        os.link(first, first.with_name(f"{number}.yaml"))
    assert "has more than 1,000 files" in str(await refusal(place))


async def test_a_file_of_100_megabytes_is_not_read_whole(place: DirectoryPlace) -> None:
    place.put_package("coredns", "1.0", {"large.yaml": b""})
    os.truncate(place.root / "packages/coredns/1.0/large.yaml", 100 << 20)
    assert "the file 'large.yaml' has more than 5 MiB" in str(await refusal(place))


async def test_a_channel_of_more_than_a_megabyte_is_refused(place: DirectoryPlace) -> None:
    os.truncate(place.root / "stable", 100 << 20)
    with pytest.raises(PackageError, match="channel 'stable' has more than 1 MiB") as raised:
        await place.source.read_channel("stable")
    assert raised.value.reason == "TooLarge"


async def test_what_is_a_file_where_a_directory_belongs_is_refused(place: DirectoryPlace) -> None:
    (place.root / "packages/coredns/2.0").write_text("x")
    (place.root / "edge").mkdir()
    assert await place.source.list_versions("coredns") == ["1.0"]
    for answer in (place.source.read_package("coredns", "2.0"), place.source.read_channel("edge")):
        assert (await refusal_of(answer)).reason == "Malformed"

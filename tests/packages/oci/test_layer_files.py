"""Layers: what later ones change, and archives that are damaged, hostile or endless. Level: pure."""

import gzip
import tarfile
from pathlib import Path

import pytest

from hookrunner.errors import PackageError
from hookrunner.packages.oci.layer_files import unpack_layers
from tests.packages.oci.artifacts import Entry, archived, entry, packed
from tests.tables import each


def unpacked(directory: Path, *layers: bytes, below: str = "") -> dict[str, bytes]:
    paths = [directory / f"layer{number}" for number in range(len(layers))]
    for path, data in zip(paths, layers, strict=True):
        path.write_bytes(data)
    return unpack_layers("a 1", paths, below)


def refusal(directory: Path, *layers: bytes, below: str = "") -> tuple[str, str]:
    with pytest.raises(PackageError) as raised:
        unpacked(directory, *layers, below=below)
    assert str(raised.value).startswith("package a 1: ")
    return raised.value.reason, str(raised.value)


FIRST = packed({"m/a": b"1", "m/b/c": b"2", "m/b/d": b"3", "m/e": b"4", "x/y": b"5"})


@each(
    "second, paths",
    [
        ([entry("m/new", b"n")], "a b/c b/d e new"),
        ([entry("./m/a", b"n")], "a b/c b/d e"),
        ([entry("m/.wh.a")], "b/c b/d e"),
        ([entry("m/.wh.b")], "a e"),
        ([entry("m/b/.wh..wh..opq"), entry("m/b/new")], "a b/new e"),
        ([entry("m/.wh.b"), entry("m/b/c", b"again")], "a b/c e"),
        ([entry(".wh.m")], ""),
        ([entry(".wh..wh..opq"), entry("m/z")], "z"),
        ([entry("m/b", b"now a file")], "a b e"),
        ([entry("m/a/f", b"now a directory")], "a/f b/c b/d e"),
        ([entry("m/a", kind=tarfile.DIRTYPE)], "b/c b/d e"),
        ([entry("x/.wh.y"), entry("mm/.wh.a"), entry("x/link", kind=tarfile.SYMTYPE, target="/")], "a b/c b/d e"),
    ],
)
def test_a_layer_changes_the_ones_before(tmp_path: Path, second: list[Entry], paths: str) -> None:
    assert sorted(unpacked(tmp_path, FIRST, archived(*second), below="m")) == paths.split()


@each(
    "bad",
    [
        entry("m/link", kind=tarfile.SYMTYPE, target="a"),
        entry("m/link", kind=tarfile.LNKTYPE, target="m/a"),
        entry("m/device", kind=tarfile.CHRTYPE),
        entry("m/device", kind=tarfile.BLKTYPE),
        entry("m/pipe", kind=tarfile.FIFOTYPE),
        entry("m", kind=tarfile.SYMTYPE, target="x"),
        entry("m", b"a file"),
        entry("/m/absolute"),
        entry("m/../../out"),
        entry("../out"),
        entry("x/../m/a"),
        entry("m/line\nbreak"),
        entry("m/bell\x07"),
        entry("m/back\\slash"),
        entry("m/..data"),
        entry("m/" + "x" * 300),
        entry("m//double"),
    ],
)
def test_what_no_package_may_have_is_refused(tmp_path: Path, bad: Entry) -> None:
    assert refusal(tmp_path, archived(entry("m/a"), bad), below="m")[0] == "Malformed"


def test_a_file_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    assert "has the file 'a' twice" in refusal(tmp_path, archived(entry("a"), entry("a")))[1]


@pytest.mark.slow
@each(
    "layer, problem",
    lambda: [
        (gzip.compress(b"\0" * (129 << 20), 1), "has more than 128 MiB when it is unpacked"),
        (archived(*(entry(f"x/{number}") for number in range(20_001))), "has more than 20,000 files"),
        (archived(*(entry(f"m/{number}") for number in range(1001))), "has more than 1,000 files"),
        (archived(entry("m/a", b"x" * ((5 << 20) + 1))), "has more than 5 MiB"),
        (packed({f"m/{number}": b"x" * (5 << 20) for number in range(7)}), "has more than 32 MiB"),
    ],
)
def test_what_is_too_large_is_refused(tmp_path: Path, layer: bytes, problem: str) -> None:
    reason, text = refusal(tmp_path, layer, below="m")
    assert (reason, problem in text) == ("TooLarge", True), text


@pytest.mark.slow
def test_bounds_hold_for_all_layers_together(tmp_path: Path) -> None:
    half = gzip.compress(archived(*(entry(f"x/{number}") for number in range(10_001))), 1)
    assert "has more than 20,000 files" in refusal(tmp_path, half, half, below="m")[1]


HEADER = tarfile.TarInfo("a").tobuf()


def with_size(size: bytes) -> bytes:
    """A header whose size is written as these bytes, with the right checksum."""
    header = bytearray(HEADER[:512])
    header[124:136] = size.ljust(12, b"\0")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


@each(
    "layer",
    [
        b"",
        b"no archive",
        gzip.compress(b"no archive"),
        packed({"a": b"x" * 5000})[:-20],
        archived(entry("a", b"x" * 5000))[:2000],
        with_size(b"7777777777\0"),
        with_size(b"\xff" * 11 + b"\x00"),
        b"\x28\xb5\x2f\xfd" + b"\0" * 600,
        tarfile.TarInfo("a").tobuf()[:100],
        bytes(range(256)) * 40,
    ],
)
def test_an_archive_that_is_none_is_refused(tmp_path: Path, layer: bytes) -> None:
    reason, text = refusal(tmp_path, layer)
    assert reason in ("Malformed", "TooLarge"), text


def test_zstd_is_named(tmp_path: Path) -> None:
    assert "packed with zstd, which is not supported; pack it with gzip" in refusal(tmp_path, b"\x28\xb5\x2f\xfdx")[1]


@each("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_is_to_be_read_at_once_is_refused(tmp_path: Path, kind: bytes) -> None:
    large = archived(entry("a", b"11 path=aa\n" * 700_000, kind), entry("b"))
    assert refusal(tmp_path, large)[0] == "TooLarge"


@each("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_without_end_are_refused(tmp_path: Path, kind: bytes) -> None:
    """Each leads to the next one, thousands of times."""
    many = archived(*(entry("a", b"11 path=aa\n", kind) for _ in range(3000)), entry("b"))
    assert refusal(tmp_path, many)[0] in ("Malformed", "TooLarge")

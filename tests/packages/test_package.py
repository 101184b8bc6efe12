"""Packages: form, digest, checksums and what `package.yaml` says. Level: pure."""

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from hookrunner.errors import PackageError
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.package_files import (
    PackageFiles,
    compute_checksums,
    digest_of,
    parse_checksums,
    render_checksums,
)
from tests.tables import each

FILES = {"b.yaml": b"kind: B\n", "a.yaml": b"kind: A\n", "sub/c.yaml": b"kind: C\n"}


def package(files: Mapping[str, bytes]) -> Package:
    return parse_package("coredns", "1.14.6", files)


def refusal(files: Mapping[str, bytes]) -> PackageError:
    with pytest.raises(PackageError) as raised:
        package(files)
    return raised.value


def sums(files: Mapping[str, bytes]) -> bytes:
    return render_checksums(compute_checksums(files))


@each(
    "files, form",
    [
        (["Chart.yaml", "templates/a.yaml"], "chart"),
        (["Chart.yaml", "kustomization.yaml"], "chart"),
        (["kustomization.yaml", "base/a.yaml"], "kustomize"),
        (["Kustomization", "a.yaml"], "kustomize"),
        (["manifest.yaml", "deep/Chart.yaml"], "plain"),
    ],
)
def test_the_files_tell_the_form(files: list[str], form: str) -> None:
    assert package(dict.fromkeys(files, b"")).form == form


def test_the_digest_is_the_checksum_of_what_sha256sum_writes(tmp_path: Path) -> None:
    for path, data in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    command = ["sha256sum", "a.yaml", "b.yaml", "sub/c.yaml"]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
    assert sums(FILES) == listed
    assert package(FILES).digest == f"sha256:{hashlib.sha256(listed).hexdigest()}"


def test_neither_order_nor_a_list_of_checksums_changes_the_digest() -> None:
    lines = sums(FILES).splitlines(keepends=True)
    shuffled = b"".join(reversed(lines)).replace(b"  ", b" *./").upper().replace(b"A.YAML", b"a.yaml")
    shuffled = shuffled.replace(b"B.YAML", b"b.yaml").replace(b"SUB/C.YAML", b"sub/c.yaml")
    listed = package({"SHA256SUMS": shuffled, **FILES})
    assert listed.digest == package(FILES).digest
    assert (listed.has_checksums, package(FILES).has_checksums) == (True, False)
    assert list(listed.files) == ["a.yaml", "b.yaml", "sub/c.yaml"]


def test_each_byte_and_each_path_changes_the_digest() -> None:
    others = [{**FILES, "a.yaml": b"kind: A"}, {"a": b"x"}, {"b": b"x"}, {"a": b"", "b": b""}]
    assert len({package(files).digest for files in [FILES, *others]}) == len(others) + 1


@each(
    "change, reason, problem",
    [
        ({"a.yaml": b"kind: X\n"}, "DigestMismatch", "the file 'a.yaml' has the checksum"),
        ({"more.yaml": b""}, "Malformed", "SHA256SUMS: does not list the file 'more.yaml'; remove the file"),
        ({"SHA256SUMS": sums({**FILES, "z": b""})}, "Malformed", "lists the file 'z', which does not exist"),
        ({"SHA256SUMS": b""}, "Malformed", "lists no files"),
        ({"SHA256SUMS": b"\xff\n"}, "Malformed", "is not UTF-8"),
        ({"SHA256SUMS": b"0" * 64 + b"a.yaml\n"}, "Malformed", "line 1 is no checksum with a path"),
        ({"SHA256SUMS": b"0" * 64 + b"  a.yaml\r\n"}, "Malformed", "control character"),
        ({"SHA256SUMS": b"0" * 64 + b"  ../a.yaml\n"}, "Malformed", "leads upwards"),
        ({"SHA256SUMS": b"0" * 64 + b"  /etc/passwd\n"}, "Malformed", "no plain relative path"),
        ({"SHA256SUMS": sums(FILES) + sums({"a.yaml": b""})}, "Malformed", "'a.yaml' is listed twice"),
        ({"SHA256SUMS": b"0" * 64 + b"  SHA256SUMS\n"}, "Malformed", "it lists itself"),
        ({"SHA256SUMS": b"\n" * ((1 << 20) + 1)}, "TooLarge", "more than 1 MiB"),
        ({"SHA256SUMS": sums({f"f{n}": b"" for n in range(1001)})}, "TooLarge", "more than 1,000 files"),
    ],
)
def test_files_must_be_those_of_the_list(change: dict[str, bytes], reason: str, problem: str) -> None:
    error = refusal({"SHA256SUMS": sums(FILES), **FILES} | change)
    assert (error.reason, problem in str(error)) == (reason, True), error
    assert str(error).startswith("package coredns 1.14.6: SHA256SUMS: ")


TRAITS = b"""
kubernetes: ">=1.28"
testedKubernetes: 1.28 - 1.34
hookrunner: ">=0.3"
upgradesFrom: ">=1.11"
data: [notes.txt]
description: Names of Services and Pods
upgradeFrom: "1"
"""


def test_what_the_package_says_of_itself() -> None:
    traits = package({"package.yaml": TRAITS, "notes.txt": b"", "a.yaml": b""}).traits
    assert (traits.kubernetes, traits.tested_kubernetes) == (">=1.28", "1.28 - 1.34")
    assert (traits.hookrunner, traits.upgrades_from, traits.data) == (">=0.3", ">=1.11", ("notes.txt",))
    assert traits.unknown == ("upgradeFrom; did you mean 'upgradesFrom'?",)


def test_manifests_are_the_files_at_the_top_that_are_not_data() -> None:
    files = dict.fromkeys(("b.yaml", "a", "Corefile", "notes.txt", "sub/c.yaml"), b"")
    assert list(package({"package.yaml": b"data: [notes.txt]", **files}).manifests) == ["a", "b.yaml"]


@each(
    "text, problem",
    [
        (b"[]", "must be of type object"),
        (b"kubernetes: 1.28", 'kubernetes must be of type string: "number"'),
        (b"hookrunner: soon", "hookrunner 'soon' is no range of versions"),
        (b"data: notes.txt", "data must be of type array"),
        (b"data: [aa.yaml]", "data[0] names no file of the package; did you mean 'a.yaml'?"),
        (b"{", "not YAML"),
        (b"a: 1\n---\nb: 1\n", "it has 2 documents; write one"),
        (b"\xff", "not YAML"),
    ],
)
def test_a_package_file_that_cannot_be_used_says_why(text: bytes, problem: str) -> None:
    error = refusal({"package.yaml": text, "a.yaml": b""})
    assert (error.reason, problem in str(error)) == ("Malformed", True), error
    assert str(error).startswith("package coredns 1.14.6: package.yaml: ")


@each("files", [{}, {"package.yaml": b""}, {"SHA256SUMS": b""}])
def test_a_package_without_files_is_refused(files: dict[str, bytes]) -> None:
    assert "has no files" in str(refusal(files))


def test_a_path_cannot_be_a_file_and_a_directory() -> None:
    assert "'a/b' is a file and a directory" in str(refusal({"a/b": b"", "a/b/c": b""}))


@each(
    "component, version, reason",
    [
        ("CoreDNS", "1", "Malformed"),
        ("../x", "1", "Malformed"),
        ("a" * 300, "1", "Malformed"),
        ("coredns", "1/2", "NoVersion"),
        ("coredns", "..", "NoVersion"),
        ("coredns", "", "NoVersion"),
        ("coredns", "1" * 300, "NoVersion"),
        ("coredns", "1\n", "NoVersion"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(component: str, version: str, reason: str) -> None:
    with pytest.raises(PackageError) as raised:
        parse_package(component, version, {"a": b""})
    assert raised.value.reason == reason
    assert len(str(raised.value)) < 300


@each(
    "path", ["", "/a", "../a", "a/../b", "a//b", "./a", "a/", "a\\b", "a\nb", "..data/a", "a/..b", "x" * 256, "\udcff"]
)
def test_a_path_stays_in_any_directory(path: str) -> None:
    with pytest.raises(PackageError) as raised:
        PackageFiles("coredns 1").add(path, b"")
    assert raised.value.reason == "Malformed"


def test_files_are_bounded_in_number_and_size() -> None:
    files = PackageFiles("coredns 1")
    for number in range(1000):
        files.add(f"f{number}", b"")
    with pytest.raises(PackageError, match="package coredns 1: has more than 1,000 files"):
        files.add("g", b"")
    files, megabytes = PackageFiles("coredns 1"), bytes(5 << 20)
    with pytest.raises(PackageError, match="the file 'g' has more than 5 MiB"):
        files.add("g", megabytes + b"x")
    for number in range(6):
        files.add(f"f{number}", megabytes)
    with pytest.raises(PackageError, match="has more than 32 MiB"):
        files.add("g", megabytes)


def test_a_file_comes_once() -> None:
    files = PackageFiles("coredns 1")
    files.add("a", b"")
    with pytest.raises(PackageError, match="has the file 'a' twice"):
        files.add("a", b"")


def test_checksums_survive_being_written_and_read() -> None:
    checksums = compute_checksums(FILES)
    assert parse_checksums("x 1", render_checksums(checksums)) == checksums
    assert digest_of(checksums) == package(FILES).digest

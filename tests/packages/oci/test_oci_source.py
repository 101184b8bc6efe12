"""Artifacts, charts, images and indexes as packages, and those that are none. Level: pure."""

import gzip
import json
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

from hookrunner.metrics.names import Metrics
from hookrunner.packages.oci import oci_memory
from hookrunner.packages.oci.manifests import Index, architecture
from hookrunner.packages.oci.package_artifacts import CHANNEL_TYPE, PACKAGE_TYPE
from hookrunner.packages.package import parse_package
from hookrunner.packages.package_cache import PackageCache
from hookrunner.packages.package_fetcher import PackageFetcher, PackageRequest
from hookrunner.packages.package_files import Seal
from tests.packages.oci.artifacts import (
    IMAGE_LAYER,
    OLM,
    Artifact,
    archive_artifact,
    artifact,
    bundle_artifact,
    chart_artifact,
    descriptor,
    directory_artifact,
    files_artifact,
    image_artifact,
    index_artifact,
    packed,
)
from tests.packages.oci.registry_server import REPOSITORY, RegistryServer, registry_server
from tests.packages.places import CHART, FILES, refusal_of, with_checksums
from tests.tables import each

BUNDLE = {"manifests/a.yaml": b"kind: A\n", "other/b.yaml": b"kind: B\n"}


async def files_of(registry: RegistryServer, pushed: Artifact) -> dict[str, bytes]:
    registry.push_package("1.0", pushed)
    return dict((await registry.source().read_package("coredns", "1.0")).files)


async def refusal(registry: RegistryServer, pushed: Artifact) -> tuple[str, str]:
    registry.push_package("1.0", pushed)
    error = await refusal_of(registry.source().read_package("coredns", "1.0"))
    assert str(error).startswith("package coredns 1.0: ")
    return error.reason, str(error)


async def test_a_package_has_one_digest_in_each_form(registry: RegistryServer) -> None:
    forms = [files_artifact(CHART), archive_artifact(packed(CHART)), chart_artifact(CHART), bundle_artifact(CHART)]
    forms.append(index_artifact({architecture(): files_artifact(CHART)}))
    for number, form in enumerate(forms):
        registry.push_package(f"1.{number}", form)
    packages = [await registry.source().read_package("coredns", f"1.{number}") for number in range(len(forms))]
    assert {package.digest for package in packages} == {parse_package("a", "1", CHART).digest}


async def test_a_directory_keeps_its_name(registry: RegistryServer) -> None:
    pushed = directory_artifact("templates", {"a.yaml": b"kind: A\n"})
    assert await files_of(registry, pushed) == {"templates/a.yaml": b"kind: A\n"}


async def test_a_plus_in_a_version_is_written_as_in_charts(registry: RegistryServer) -> None:
    registry.push_package("1.0_build", files_artifact(FILES))
    assert (await registry.source().read_package("coredns", "1.0+build")).version == "1.0+build"


# ── images ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@each(
    "labels, annotations, files",
    [
        ({f"{OLM}.manifests.v1": "manifests/"}, "", ["a.yaml"]),
        ({f"{OLM}.manifests.v1": "./other"}, "", ["b.yaml"]),
        ({"k8s.io.bundle.mediatype.v1": "manifests"}, "", ["a.yaml"]),
        ({"my.bundle.manifests.v1": "other", "my.mediatype.v1": "plain"}, "", ["b.yaml"]),
        ({f"{OLM}.manifests.v1": "manifests/"}, f"annotations: {{{OLM}.manifests.v1: other/}}", ["b.yaml"]),
        ({}, f"annotations: {{{OLM}.manifests.v1: other/}}", ["b.yaml"]),
        ({f"{OLM}.manifests.v1": "manifests/", "org.example.metadata": "//any text"}, "annotations: {}", ["a.yaml"]),
    ],
)
async def test_labels_name_the_directory_and_the_file_wins(
    labels: dict[str, str], annotations: str, files: list[str]
) -> None:
    extra = {"metadata/annotations.yaml": annotations.encode()} if annotations else {}
    async with registry_server() as registry:
        assert list(await files_of(registry, image_artifact(packed(BUNDLE | extra), labels=labels))) == files


async def test_a_later_layer_of_an_image_wins(registry: RegistryServer) -> None:
    later = packed({"manifests/a.yaml": b"kind: New\n", "other/.wh.b.yaml": b""})
    labels = {f"{OLM}.manifests.v1": "manifests/"}
    assert await files_of(registry, image_artifact(packed(BUNDLE), later, labels=labels)) == {"a.yaml": b"kind: New\n"}


@each(
    "labels, annotations, problem",
    [
        ({}, "", "an image without labels of a bundle"),
        ({f"{OLM}.manifests.v1": "../out"}, "", "its label for the directory of manifests leads upwards"),
        ({f"{OLM}.manifests.v1": "nowhere"}, "", "has no files"),
        ({f"{OLM}.manifests.v1": "manifests", f"{OLM}.mediatype.v1": "wasm"}, "", "has the media type 'wasm'; known"),
        ({f"{OLM}.manifests.v1": "manifests"}, "annotations: [", "metadata/annotations.yaml: "),
        ({f"{OLM}.manifests.v1": "manifests"}, "annotations: {a: [b]}", "metadata/annotations.yaml: annotations"),
    ],
)
async def test_an_image_that_is_no_bundle_is_refused(labels: dict[str, str], annotations: str, problem: str) -> None:
    extra = {"metadata/annotations.yaml": annotations.encode()} if annotations else {}
    async with registry_server() as registry:
        reason, text = await refusal(registry, image_artifact(packed(BUNDLE | extra), labels=labels))
        assert (reason, problem in text) == ("Malformed", True), text


# ── architectures ─────────────────────────────────────────────────────────────────────────────────────────────────────


@each(
    "platforms, chosen",
    [
        ([architecture(), "linux/other"], architecture()),
        (["linux/other", architecture()], architecture()),
        (["linux/other"], "linux/other"),
        (["linux/other", "unknown/unknown"], "linux/other"),
        ([""], ""),
    ],
)
async def test_this_machines_architecture_counts_or_the_only_one(platforms: list[str], chosen: str) -> None:
    index = index_artifact({name: files_artifact({"name": name.encode() + b"."}) for name in platforms})
    async with registry_server() as registry:
        assert await files_of(registry, index) == {"name": chosen.encode() + b"."}


@each("platforms, names", [(["linux/one", "linux/two"], "linux/one, linux/two"), ([], "none")])
async def test_architectures_that_do_not_fit_are_named(platforms: list[str], names: str) -> None:
    index = index_artifact({name: files_artifact({"a": name.encode()}) for name in platforms})
    async with registry_server() as registry:
        reason, text = await refusal(registry, index)
    assert (reason, f"it has manifests for {names}, not for {architecture()}" in text) == ("NotFound", True), text


async def test_an_index_that_leads_nowhere_or_to_an_index_is_refused(registry: RegistryServer) -> None:
    inner = index_artifact({"": files_artifact(FILES)})
    assert "leads to another index" in (await refusal(registry, index_artifact({"": inner})))[1]
    broken = index_artifact({"": files_artifact({"gone": b""})})
    broken.manifests.clear()
    assert "which does not exist; push it again" in (await refusal(registry, broken))[1]


# ── what is none ──────────────────────────────────────────────────────────────────────────────────────────────────────


def changed(**fields: Any) -> Artifact:
    """A package whose manifest has other fields."""
    pushed = files_artifact(FILES)
    pushed.document.update(fields)
    return pushed


LAYER = packed(FILES)
SOME = descriptor(IMAGE_LAYER, LAYER)


@each(
    "pushed, reason, problem",
    [
        (
            files_artifact(FILES, "application/vnd.example.song"),
            "Malformed",
            "has the type 'application/vnd.example.song",
        ),
        (files_artifact(FILES, CHANNEL_TYPE), "Malformed", f"push files with --artifact-type {PACKAGE_TYPE}"),
        (changed(mediaType="text/html"), "Malformed", "the media type 'text/html', which is not known"),
        (changed(schemaVersion=1), "Malformed", "of another version than 2"),
        (changed(layers=[SOME | {"digest": "sha512:ab"}]), "Malformed", "'sha512:ab'; only sha256 is supported"),
        (changed(layers=[SOME | {"digest": "sha256:../../x"}]), "Malformed", "only sha256 is supported"),
        (changed(layers=[SOME | {"size": -1}]), "Malformed", "layers[0].size"),
        (changed(layers=[SOME | {"size": 1 << 40}]), "TooLarge", "its layers have more than 32 MiB"),
        (changed(layers=[SOME] * 1011), "Malformed", "layers"),
        (artifact(PACKAGE_TYPE, [(SOME | {"size": 5}, LAYER)]), "DigestMismatch", "damaged or exchanged"),
        (artifact(PACKAGE_TYPE, [(SOME | {"size": 5000}, LAYER)]), "DigestMismatch", "bytes, not 5,000"),
        (
            artifact(PACKAGE_TYPE, [(descriptor("text/html", LAYER), LAYER)]),
            "Malformed",
            "'text/html', which is no archive",
        ),
        (files_artifact({"../x": b""}), "Malformed", "leads upwards"),
        (files_artifact({"/x": b""}), "Malformed", "is no plain relative path"),
        (files_artifact({"a\nb": b""}), "Malformed", "has a control character"),
        (files_artifact({}), "Malformed", "has no files"),
        (archive_artifact(b"no archive"), "Malformed", "cannot be read"),
        (chart_artifact({}), "Malformed", "has no files"),
    ],
)
async def test_what_is_no_package_is_refused(pushed: Artifact, reason: str, problem: str) -> None:
    async with registry_server() as registry:
        found, text = await refusal(registry, pushed)
        assert (found, problem in text) == (reason, True), text


@each(
    "pushed, problem",
    [
        (files_artifact({"stable": b""}), f"push it with --artifact-type {CHANNEL_TYPE}"),
        (files_artifact({"a": b"", "b": b""}, CHANNEL_TYPE), "it has 2 files; push the channel and"),
        (files_artifact({"stable": b"x" * ((1 << 20) + 1)}, CHANNEL_TYPE), "more than 1 MiB"),
        (artifact(CHANNEL_TYPE, [(SOME, LAYER[::-1])]), "damaged or exchanged"),
    ],
)
async def test_what_is_no_channel_is_refused(pushed: Artifact, problem: str) -> None:
    async with registry_server() as registry:
        registry.push(f"{REPOSITORY}/channels", "stable", pushed)
        assert problem in str(await refusal_of(registry.source().read_channel("stable")))


@each("name", ["a..b", "a-", "a.-b"])
async def test_a_component_that_can_be_no_repository_is_not_asked_for(name: str) -> None:
    async with registry_server() as registry:
        assert (await refusal_of(registry.source().read_package(name, "1.0"))).reason in ("NotFound", "Malformed")
        assert registry.requests == []


async def test_a_package_that_cannot_be_unpacked_is_reported(
    registry: RegistryServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    registry.push_package("1.0", files_artifact(FILES))
    error = await refusal_of(registry.source().read_package("coredns", "1.0"))
    text = "package coredns 1.0: cannot be unpacked: No such file or directory; see TMPDIR, by default /tmp"
    assert (error.reason, str(error)) == ("Unreachable", text)


@pytest.mark.slow
async def test_an_archive_of_which_pythons_reader_keeps_gigabytes_is_refused(registry: RegistryServer) -> None:
    """It keeps a copy of all records of a global header with each entry."""
    header, records = tarfile.TarInfo(), b"".join(b"11 %06d=\n" % number for number in range(100_000))
    header.type, header.size = tarfile.XGLTYPE, len(records)
    directory = tarfile.TarInfo("a")
    directory.type = tarfile.DIRTYPE
    layer = header.tobuf() + records.ljust(-(-len(records) // 512) * 512, b"\0") + directory.tobuf() * 1000
    registry.push_package("1.0", archive_artifact(gzip.compress(layer, 1)))
    error = await refusal_of(registry.source().read_package("coredns", "1.0"))
    assert (error.reason, "1.0: cannot be unpacked: no result within 512 MiB of" in str(error)) == ("TooLarge", True)


# ── trust ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_the_digests_of_a_registry_pin_a_package(registry: RegistryServer, tmp_path: Any) -> None:
    registry.push_package("1.0", files_artifact({"manifest.yaml": b"kind: A\n"}))
    fetcher = PackageFetcher(PackageCache(tmp_path / "cache", 1 << 30), "digest", Metrics(""))
    package = await fetcher.fetch(registry.source(), PackageRequest("coredns", "1.0"))
    assert not package.has_checksums


async def test_a_pinned_package_in_the_cache_asks_for_nothing(registry: RegistryServer, tmp_path: Any) -> None:
    registry.push_package("1.0", files_artifact(with_checksums(FILES)))
    fetcher = PackageFetcher(PackageCache(tmp_path / "cache", 1 << 30), "digest", Metrics(""))
    package = await fetcher.fetch(registry.source(), PackageRequest("coredns", "1.0"))
    registry.requests.clear()
    request = PackageRequest("coredns", "1.0", pin=package.digest)
    assert (await fetcher.fetch(registry.source(), request)).files == package.files
    assert registry.requests == []


async def test_a_memory_is_bounded(registry: RegistryServer) -> None:
    for number in range(oci_memory._MOST_KEPT + 5):
        registry.memory.keep_blob(str(number), b"")
        registry.memory.keep_manifest(str(number), b"", Index(()))
    large = b"x" * (oci_memory._LARGEST_KEPT + 1)
    registry.memory.keep_blob("large", large)
    registry.memory.keep_manifest("large", large, Index(()))
    blobs, manifests = registry.memory.blobs, registry.memory.manifests
    assert (len(blobs), len(manifests)) == (oci_memory._MOST_KEPT, oci_memory._MOST_MANIFESTS)
    assert "large" not in {*blobs, *manifests}


def test_an_artifact_is_what_tools_write() -> None:
    assert json.loads(files_artifact(FILES).manifest)["artifactType"] == PACKAGE_TYPE


# ── signatures ────────────────────────────────────────────────────────────────────────────────────────────────────────

SIGNED = with_checksums(FILES) | {"SHA256SUMS.sig": b"MEQ="}


@each(
    "pushed, signature",
    [
        (files_artifact(SIGNED), b"MEQ="),
        (archive_artifact(packed(SIGNED)), b"MEQ="),
        (bundle_artifact(SIGNED), b"MEQ="),
        (files_artifact(with_checksums(FILES)), b""),
    ],
)
async def test_a_seal_is_a_file_of_the_package(pushed: Artifact, signature: bytes) -> None:
    async with registry_server() as registry:
        registry.push_package("1.0", pushed)
        seal = await registry.source().read_seal("coredns", "1.0")
        package = await registry.source().read_package("coredns", "1.0")
        assert (seal.text, seal.signature, seal.digest) == (SIGNED["SHA256SUMS"], signature, package.digest)


async def test_what_has_no_seal_has_an_empty_one(registry: RegistryServer) -> None:
    registry.push_package("1.0", files_artifact(FILES))
    assert [await registry.source().read_seal("coredns", version) for version in ("1.0", "2.0")] == [Seal(), Seal()]


async def test_a_channels_signature_is_pushed_with_it(registry: RegistryServer) -> None:
    registry.push(
        f"{REPOSITORY}/channels", "stable", files_artifact({"stable": b"a", "stable.sig": b"s"}, CHANNEL_TYPE)
    )
    registry.push(f"{REPOSITORY}/channels", "edge", files_artifact({"edge": b"a"}, CHANNEL_TYPE))
    source = registry.source()
    assert [await source.read_channel_signature(name) for name in ("stable", "edge", "none")] == [b"s", b"", b""]
    assert await source.read_channel("stable") == "a"

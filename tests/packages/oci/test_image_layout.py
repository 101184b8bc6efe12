"""Image layouts: one with many repositories, one for each, archives, and what is damaged or missing. Level: pure."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookrunner.errors import BadInput
from hookrunner.model.addons import Addon, AddonObject
from hookrunner.packages.oci.image_layout import LayoutStore
from hookrunner.packages.oci.manifests import REF_NAME
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.oci_source import OciSource
from hookrunner.packages.oci_locations import LayoutLocation
from hookrunner.settings import AddonsSettings
from hookrunner.testing.addons.addon_bench import offline_source
from tests.packages.oci.artifacts import Layout, descriptor, files_artifact, sha256
from tests.packages.places import FILES, refusal_of
from tests.tables import each

PUSHED = files_artifact(FILES)


def source_at(path: Path) -> OciSource:
    return OciSource(LayoutStore(LayoutLocation(path)), OciMemory(), 0.0)


async def refusal(path: Path) -> str:
    error = await refusal_of(source_at(path).read_package("coredns", "1.0"))
    return f"{error.reason}: {error}"


@each(
    "annotations, versions",
    [
        ({REF_NAME: "coredns:1.0"}, ["1.0"]),
        ({REF_NAME: "team/coredns:1.0"}, ["1.0"]),
        ({"io.containerd.image.name": "example.com:5000/team/coredns:1.0", REF_NAME: "1.0"}, ["1.0"]),
        ({REF_NAME: "mycoredns:1.0"}, []),
        ({REF_NAME: "coredns/other:1.0"}, []),
        ({REF_NAME: "1.0"}, []),
        ({}, []),
    ],
)
async def test_a_name_ends_with_component_and_version(
    tmp_path: Path, annotations: dict[str, Any], versions: list[str]
) -> None:
    Layout(tmp_path).put("x", "y", PUSHED)
    index = {"schemaVersion": 2, "manifests": [descriptor(PUSHED.media_type, PUSHED.manifest, **annotations)]}
    (tmp_path / "index.json").write_text(json.dumps(index))
    assert await source_at(tmp_path).list_versions("coredns") == versions


async def test_a_directory_may_have_a_layout_for_each_repository(tmp_path: Path) -> None:
    (tmp_path / "coredns").mkdir()
    Layout(tmp_path / "coredns").put("x", "y", PUSHED)
    index = {"schemaVersion": 2, "manifests": [descriptor(PUSHED.media_type, PUSHED.manifest, **{REF_NAME: "1.0"})]}
    (tmp_path / "coredns" / "index.json").write_text(json.dumps(index))
    assert (await source_at(tmp_path).read_package("coredns", "1.0")).files == FILES
    assert await source_at(tmp_path).list_versions("dashboard") == []


async def test_a_package_that_did_not_change_is_the_same_object(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.put("coredns", "1.0", PUSHED)
    source = source_at(tmp_path)
    package = await source.read_package("coredns", "1.0")
    assert await source.read_package("coredns", "1.0") is package
    layout.put("coredns", "1.0", files_artifact({"manifest.yaml": b"kind: New\n"}))
    assert await source.read_package("coredns", "1.0") != package


async def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    assert "Unreachable: oci-layout:" in await refusal(tmp_path / "nothing")
    assert "Unreachable: oci-layout:" in await refusal(tmp_path / "nothing.tar")
    assert "NotFound: package coredns 1.0: oci-layout:" in await refusal(tmp_path)
    Layout(tmp_path / "layout").put("coredns", "1.0", PUSHED)
    (tmp_path / "layout" / "blobs" / sha256(FILES["manifest.yaml"]).replace(":", "/")).unlink()
    assert "Malformed: oci-layout:" in await refusal(tmp_path / "layout")


@each("index", ["", "[]", "{", '{"config": {}, "layers": []}', '{"manifests": [{}]}', '{"manifests": 5}'])
async def test_an_index_that_is_none_is_refused(tmp_path: Path, index: str) -> None:
    (tmp_path / "index.json").write_text(index)
    assert (await refusal(tmp_path)).startswith("Malformed: ")


async def test_a_blob_that_was_changed_is_refused(tmp_path: Path) -> None:
    Layout(tmp_path).put("coredns", "1.0", PUSHED)
    blob = tmp_path / "blobs" / sha256(FILES["manifest.yaml"]).replace(":", "/")
    blob.write_bytes(b"kind: Secret   ")
    assert "DigestMismatch: package coredns 1.0: " in await refusal(tmp_path)
    blob.write_bytes(FILES["manifest.yaml"])
    assert await source_at(tmp_path).read_package("coredns", "1.0")
    manifest = tmp_path / "blobs" / sha256(PUSHED.manifest).replace(":", "/")
    manifest.write_bytes(PUSHED.manifest.replace(b"manifest.yaml", b"Manifest.yaml"))
    assert "DigestMismatch: oci-layout:" in await refusal(tmp_path)


@each("data", [b"", b"no archive", b"\x1f\x8b" + b"x" * 600])
async def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "layout.tar").write_bytes(data)
    assert "Malformed: oci-layout:" in await refusal(tmp_path / "layout.tar")


async def test_a_layout_is_read_without_a_network(tmp_path: Path) -> None:
    Layout(tmp_path).put("dns", "1.0", PUSHED)
    addon = Addon("dns", "dns", tmp_path, tmp_path, AddonObject("DNS", "dnses"), source="https://example.com")
    source = offline_source(AddonsSettings(source=f"oci-layout:{tmp_path}"), addon)
    assert (await source.read_package("dns", "1.0")).files == FILES
    with pytest.raises(BadInput, match="name a copy with --addon-source DIR"):
        offline_source(AddonsSettings(), addon)

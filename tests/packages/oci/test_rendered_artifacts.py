"""The same files make the same manifest, which registries and the source take. Level: pure."""

from hookrunner.packages.oci.manifests import Manifest, parse_manifest
from hookrunner.packages.oci.package_artifacts import channel_layer, channel_signature_layer, titled_layer
from hookrunner.packages.oci.rendered_artifacts import render_channel, render_package
from tests.packages.oci.artifacts import sha256
from tests.packages.places import CHART


def test_the_same_files_make_the_same_manifest_in_any_order() -> None:
    backwards = dict(reversed(CHART.items()))
    assert render_package(backwards).manifest == render_package(CHART).manifest
    digest = "sha256:e978c058c82b932565895ff8139494473afd3bd6dbaa4cb58f69e5baa9401370"
    assert sha256(render_package(CHART).manifest) == digest


def test_each_file_is_a_layer_and_sent_once() -> None:
    rendered = render_package({"a": b"same", "b": b"same", "c/d": b""})
    manifest = parse_manifest("package", rendered.manifest)
    assert isinstance(manifest, Manifest)
    layers = [titled_layer(manifest, path) for path in ("a", "b", "c/d")]
    assert [layer and (layer.digest, layer.size) for layer in layers] == [
        (sha256(b"same"), 4),
        (sha256(b"same"), 4),
        (sha256(b""), 0),
    ]
    assert sorted(rendered.blobs) == [b"", b"same", b"{}"]


def test_a_channel_has_its_signature_beside_it() -> None:
    for signature in (b"", b"signed"):
        manifest = parse_manifest("channel", render_channel("stable", b"manifests: []\n", signature).manifest)
        assert isinstance(manifest, Manifest)
        assert channel_layer("channel", manifest).digest == sha256(b"manifests: []\n")
        layer = channel_signature_layer(manifest)
        assert (layer.digest if layer else "") == (sha256(signature) if signature else "")

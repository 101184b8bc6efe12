"""Signatures as cosign 2 keeps them beside an artifact: under the tag `sha256-<hex>.sig`, made of its digest.

    tag = signature_tag(digest)
    payloads = signed_layers(manifest)                  # of the manifest of that tag: what is signed, as blobs
    is_about(payload, digest)                           # does what is signed name this manifest?

Each layer is a text that names a manifest by its digest, with the signature of the text as an annotation. Names in it,
such as that of the repository, are not compared: a mirror has another one. Signatures without a key, or in a
transparency log alone, need the internet or other libraries, and are not read; `sigstore_bundles.py` has those of
cosign 3.
Source: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
"""

from collections.abc import Sequence

from hookrunner.packages.oci.manifests import Descriptor, Manifest
from hookrunner.packages.oci.sigstore_bundles import load_shaped, referrers_tag
from hookrunner.shapes import TEXT, Table

SIGNATURE = "dev.cosignproject.cosign/signature"
SIMPLE_SIGNING = "application/vnd.dev.cosign.simplesigning.v1+json"
LARGEST_PAYLOAD = 64 << 10

_MOST = 16
"""Signatures of one manifest that are looked at."""
_KIND = "cosign container image signature"
_PAYLOAD = Table(
    {"critical": Table({"type": TEXT, "image": Table({"docker-manifest-digest": TEXT}, open=True)}, open=True)},
    {"critical": "{…}"},
    open=True,
)


def signature_tag(digest: str) -> str:
    """The tag under which signatures of a manifest are."""
    return f"{referrers_tag(digest)}.sig"


def signed_layers(manifest: Manifest) -> Sequence[Descriptor]:
    """The layers that have a signature."""
    layers = [layer for layer in manifest.layers if layer.media_type == SIMPLE_SIGNING]
    return [layer for layer in layers if SIGNATURE in layer.annotations][:_MOST]


def is_about(payload: bytes, digest: str) -> bool:
    """Does a signed text state that it is about the manifest with this digest?"""
    critical = load_shaped(payload, _PAYLOAD).get("critical", {})
    return (critical.get("type"), (critical.get("image") or {}).get("docker-manifest-digest")) == (_KIND, digest)

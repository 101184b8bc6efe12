"""Signatures as cosign 3 keeps them beside an artifact: each a bundle of its own that refers to the signed manifest.

    index = …                                           # of what refers to the manifest
    for descriptor in bundle_manifests(index):          # each leads to a manifest of one layer, the bundle
        statements += read_bundle(bundle, digest)       # what is signed in it, if it is about this manifest

A bundle holds a statement in an envelope. What is signed is type and content of the envelope; the statement names the
manifest by its digest, and has a kind. Only a signature counts, no statement about how something was built
or what it contains. Certificates, time stamps and entries of a transparency log in a bundle are not looked at: a key
that is trusted has to fit.
Source: https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md,
https://github.com/secure-systems-lab/dsse/blob/master/protocol.md and
https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

import base64
from collections.abc import Iterator, Sequence

from hookrunner.packages.oci.manifests import Descriptor, Index, Manifest
from hookrunner.packages.package_files import Statement
from hookrunner.shapes import TEXT, TEXTS, Many, Table, check
from kubetypes.bounds import PACKAGE_TEXT
from kubetypes.json_values import JSON, loads

BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
LARGEST_BUNDLE = 64 << 10
SIGNED = "https://sigstore.dev/cosign/sign/v1"
"""The kind of a statement that is a signature and nothing else."""

_MOST = 16
"""Bundles about one manifest that are looked at."""
_TYPES = (BUNDLE, "application/vnd.oci.empty.v1+json")
"""The second one is how some versions of cosign list what they push (https://github.com/sigstore/cosign/issues/4422)."""
_KIND = "dev.sigstore.bundle.predicateType"
"""Annotation: of what kind the statement of a bundle is."""
_IN_TOTO = "application/vnd.in-toto+json"
_ENVELOPE = Table(
    {
        "payload": TEXT,
        "payloadType": TEXT,
        "signatures": Many(Table({"sig": TEXT}, {"sig": "…"}, open=True), at_most=_MOST),
    },
    {"payload": "…", "payloadType": _IN_TOTO, "signatures": "[…]"},
    open=True,
)
_BUNDLE = Table({"dsseEnvelope": _ENVELOPE}, {"dsseEnvelope": "{…}"}, open=True)
_SUBJECT = Table({"digest": TEXTS}, {"digest": "{…}"}, open=True)
_STATEMENT = Table(
    {"predicateType": TEXT, "subject": Many(_SUBJECT)}, {"predicateType": SIGNED, "subject": "[…]"}, open=True
)


def referrers_tag(digest: str) -> str:
    """The tag under which registries without a list of referrers have it
    (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#referrers-tag-schema)."""
    return digest.replace(":", "-")


def bundle_manifests(index: Index) -> Sequence[Descriptor]:
    """The manifests in a list of referrers that may have a bundle with a signature."""
    entries = [entry for entry in index.manifests if entry.artifact_type in _TYPES]
    return [entry for entry in entries if entry.annotations.get(_KIND, SIGNED) == SIGNED][:_MOST]


def bundle_layer(manifest: Manifest) -> Descriptor | None:
    """The layer that is a bundle; None also for one that is larger than any with a signature alone."""
    bundles = (layer for layer in manifest.layers if layer.media_type == BUNDLE and layer.size <= LARGEST_BUNDLE)
    return next(bundles, None)


def read_bundle(bundle: bytes, digest: str) -> Iterator[Statement]:
    """What is signed in a bundle, if that is about the manifest with this digest."""
    envelope = load_shaped(bundle, _BUNDLE).get("dsseEnvelope") or {}
    content = _decode(envelope.get("payload", ""))
    statement = load_shaped(content, _STATEMENT) if envelope.get("payloadType") == _IN_TOTO else {}
    digests = [subject["digest"].get("sha256") for subject in statement.get("subject", ())]
    if statement.get("predicateType") == SIGNED and digest.removeprefix("sha256:") in digests:
        text = _signed_text(_IN_TOTO.encode(), content)
        yield from (Statement(text, signature["sig"].encode()) for signature in envelope["signatures"])


def _signed_text(kind: bytes, content: bytes) -> bytes:
    """What the signature of an envelope is made of."""
    return b" ".join((b"DSSEv1", str(len(kind)).encode(), kind, str(len(content)).encode(), content))


def load_shaped(text: bytes, shape: Table) -> JSON:
    """The JSON document of this shape in a signed text, an empty one for any other text."""
    try:
        document = loads(text, PACKAGE_TEXT)
    except ValueError:
        return {}
    return {} if any(check(document, shape)) else document


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""

"""Signatures of manifests as cosign keeps them in a registry, made by `openssl`. Level: pure."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner.errors import PackageError
from hookrunner.packages.oci.cosign_signatures import SIGNATURE, SIMPLE_SIGNING, is_about, signature_tag
from hookrunner.packages.signatures.signed_source import SignedSource
from hookrunner.packages.signatures.signing_keys import read_keys
from tests.packages.oci.artifacts import (
    IMAGE_CONFIG,
    Artifact,
    artifact,
    bundle_artifact,
    channel_artifact,
    chart_artifact,
    descriptor,
    files_artifact,
    index_artifact,
    sha256,
)
from tests.packages.oci.registry_server import REPOSITORY, RegistryServer, registry_server
from tests.packages.places import CHART, FILES, refusal_of
from tests.packages.signatures.openssl import P_256, make_key, sign
from tests.tables import each

CHANNEL = b"manifests: [{version: '1.0'}]\n"
CHART_FILES = CHART | {"Chart.yaml": b"{apiVersion: v2, name: coredns, version: 1.0.0}\n"}


def payload(digest: str, kind: str = "cosign container image signature") -> bytes:
    """What cosign signs."""
    critical = {"identity": {"docker-reference": "r.io/x"}, "image": {"docker-manifest-digest": digest}, "type": kind}
    return json.dumps({"critical": critical, "optional": None}).encode()


class Publisher:
    """Pushes artifacts, and signs them as `cosign sign --key` does."""

    def __init__(self, registry: RegistryServer, directory: Path) -> None:
        self._directory = directory
        self.registry = registry
        make_key(directory / "cosign.key", P_256)
        make_key(directory / "other.key", P_256)

    def push(self, name: str, tag: str, pushed: Artifact) -> str:
        """Push one, and return its digest."""
        self.registry.push(f"{REPOSITORY}/{name}", tag, pushed)
        return sha256(pushed.manifest)

    def sign(self, name: str, digest: str, text: bytes, keys: tuple[str, ...] = ("other", "cosign")) -> None:
        """Push signatures of a text, by these keys, as those of a manifest."""
        (self._directory / "payload").write_bytes(text)
        signatures = [sign(self._directory / f"{key}.key", self._directory / "payload").decode() for key in keys]
        layers = [(descriptor(SIMPLE_SIGNING, text, **{SIGNATURE: "".join(line.split())}), text) for line in signatures]
        self.registry.push(f"{REPOSITORY}/{name}", signature_tag(digest), artifact(IMAGE_CONFIG, layers))

    @property
    def source(self) -> SignedSource:
        return SignedSource(self.registry.source(), read_keys((self._directory / "cosign.pub",)))


@pytest.fixture
async def publisher(tmp_path: Path) -> AsyncIterator[Publisher]:
    async with registry_server() as registry:
        yield Publisher(registry, tmp_path)


@pytest.mark.parametrize(
    "pushed",
    [
        files_artifact(FILES),
        chart_artifact(CHART_FILES),
        bundle_artifact(FILES),
        index_artifact({"": chart_artifact(CHART_FILES)}),
    ],
    ids=["files", "chart", "image", "index"],
)
async def test_package_is_read_if_its_manifest_is_signed(publisher: Publisher, pushed: Artifact) -> None:
    digest = publisher.push("coredns", "1.0", pushed)
    assert (await refusal_of(publisher.source.read_package("coredns", "1.0"))).reason == "Unverified"
    publisher.sign("coredns", digest, payload(digest))
    assert (await publisher.source.read_package("coredns", "1.0")).is_signed


@each(
    "text, keys",
    [
        (payload("sha256:" + "0" * 64), ("cosign",)),
        (payload("{digest}", "other kind"), ("cosign",)),
        (payload("{digest}"), ("other",)),
        (payload("{digest}"), ()),
        (b"garbage", ("cosign",)),
        (b"{}", ("cosign",)),
    ],
)
async def test_what_is_signed_must_be_this_manifest_and_by_a_trusted_key(
    publisher: Publisher, text: bytes, keys: tuple[str, ...]
) -> None:
    digest = publisher.push("coredns", "1.0", chart_artifact(CHART_FILES))
    publisher.sign("coredns", digest, text.replace(b"{digest}", digest.encode()), keys)
    assert (await refusal_of(publisher.source.read_package("coredns", "1.0"))).reason == "Unverified"


async def test_channel_is_read_if_its_manifest_is_signed(publisher: Publisher) -> None:
    digest = publisher.push("channels", "stable", channel_artifact(CHANNEL))
    with pytest.raises(PackageError, match="has no signature"):
        await publisher.source.read_channel("stable")
    publisher.sign("channels", digest, payload(digest))
    assert await publisher.source.read_channel("stable") == CHANNEL.decode()
    publisher.push("channels", "stable", channel_artifact(CHANNEL + b"# moved\n"))
    with pytest.raises(PackageError, match="has no signature"):
        await publisher.source.read_channel("stable")


async def test_statements_are_about_the_text_that_was_read(publisher: Publisher) -> None:
    digest = publisher.push("channels", "stable", channel_artifact(CHANNEL))
    publisher.sign("channels", digest, payload(digest))
    source = publisher.registry.source()
    assert len(await source.read_channel_statements("stable", CHANNEL.decode())) == 2
    assert await source.read_channel_statements("stable", "manifests: []\n") == ()


@each("text", [b"[]", b'{"critical": []}', b'{"critical": {"image": {}}}', b'{"critical": {"type": 1}}', b"\xff"])
def test_text_that_names_no_manifest_is_about_none(text: bytes) -> None:
    assert not is_about(text, "sha256:" + "0" * 64)

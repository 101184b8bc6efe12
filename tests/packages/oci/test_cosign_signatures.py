"""Signatures of manifests as cosign 2 and 3 keep them in a registry, made by `openssl`. Level: pure."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp import web

from hookrunner.errors import PackageError
from hookrunner.packages.oci.cosign_signatures import SIGNATURE, SIMPLE_SIGNING, is_about, signature_tag
from hookrunner.packages.oci.image_layout import LayoutStore
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.oci_source import OciSource
from hookrunner.packages.oci.sigstore_bundles import BUNDLE, LARGEST_BUNDLE, SIGNED, referrers_tag
from hookrunner.packages.oci_locations import LayoutLocation
from hookrunner.packages.signatures.signed_source import SignedSource
from hookrunner.packages.signatures.signing_keys import read_keys
from tests.packages.oci.artifacts import (
    IMAGE_CONFIG,
    OCI_INDEX,
    Artifact,
    Layout,
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


IN_TOTO = b"application/vnd.in-toto+json"


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

    def bundle(
        self, digest: str, kind: str = SIGNED, key: str = "cosign", envelope: str = "dsseEnvelope", of: bytes = IN_TOTO
    ) -> bytes:
        """What `cosign sign --key` of cosign 3 makes for a manifest; `of` is the type of what is signed."""
        subject = [{"digest": {"sha256": digest.removeprefix("sha256:")}}]
        content = json.dumps({"_type": "x", "subject": subject, "predicateType": kind, "predicate": {}}).encode()
        text = b"DSSEv1 %d %s %d %s" % (len(of), of, len(content), content)
        (self._directory / "text").write_bytes(text)
        lines = sign(self._directory / f"{key}.key", self._directory / "text").decode().split()
        made = {"payload": base64.b64encode(content).decode(), "payloadType": of.decode()}
        return json.dumps({envelope: made | {"signatures": [{"sig": "".join(lines)}]}}).encode()

    def refer(self, name: str, digest: str, bundle: bytes, listed: str, listed_type: str = BUNDLE) -> None:
        """Push a bundle, and the list of what refers to the manifest: by the way for it, or under a tag."""
        pushed = artifact(BUNDLE, [(descriptor(BUNDLE, bundle), bundle)])
        self.registry.push(f"{REPOSITORY}/{name}", "", pushed)
        entry = {**descriptor(pushed.media_type, pushed.manifest), "artifactType": listed_type}
        index = Artifact({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [entry]})
        path = f"/v2/{REPOSITORY}/{name}/referrers/{digest}"
        self.registry.answers.pop(path, None)
        if listed == "tag":
            self.registry.push(f"{REPOSITORY}/{name}", referrers_tag(digest), index)
        else:
            self.registry.answers[path] = [web.Response(body=index.manifest, content_type=OCI_INDEX)]

    @property
    def source(self) -> SignedSource:
        return self.signed(self.registry.source())

    def signed(self, source: OciSource) -> SignedSource:
        return SignedSource(source, read_keys((self._directory / "cosign.pub",)))


MakeBundle = Callable[[Publisher, str], bytes]


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


@each("listed, listed_type", [("api", BUNDLE), ("tag", BUNDLE), ("tag", "application/vnd.oci.empty.v1+json")])
async def test_package_is_read_if_a_bundle_is_a_signature_of_it(
    publisher: Publisher, listed: str, listed_type: str
) -> None:
    digest = publisher.push("coredns", "1.0", chart_artifact(CHART_FILES))
    publisher.refer("coredns", digest, publisher.bundle(digest), listed, listed_type)
    assert (await publisher.source.read_package("coredns", "1.0")).is_signed


@each(
    "change",
    [
        lambda publisher, digest: publisher.bundle("sha256:" + "0" * 64),
        lambda publisher, digest: publisher.bundle(digest, kind="https://spdx.dev/Document"),
        lambda publisher, digest: publisher.bundle(digest, key="other"),
        lambda publisher, digest: publisher.bundle(digest, envelope="messageSignature"),
        lambda publisher, digest: publisher.bundle(digest, of=b"application/x-other"),
        lambda publisher, digest: publisher.bundle(digest).replace(b'"payload": "', b'"payload": "%'),
        lambda publisher, digest: publisher.bundle(digest, of=b"x").replace(b'"x"', b'"%s"' % IN_TOTO),
        lambda publisher, digest: publisher.bundle(digest) + b" " * LARGEST_BUNDLE,
        lambda publisher, digest: b"garbage",
        lambda publisher, digest: b"{}",
    ],
)
async def test_bundle_of_something_else_is_no_signature(publisher: Publisher, change: MakeBundle) -> None:
    digest = publisher.push("coredns", "1.0", chart_artifact(CHART_FILES))
    publisher.refer("coredns", digest, change(publisher, digest), "api")
    with pytest.raises(PackageError) as raised:
        await publisher.source.read_package("coredns", "1.0")
    assert raised.value.reason == "Unverified"


async def test_bundle_in_an_image_layout_is_found_by_its_type(publisher: Publisher, tmp_path: Path) -> None:
    layout, pushed = Layout(tmp_path / "layout"), chart_artifact(CHART_FILES)
    layout.put("coredns", "1.0", pushed)
    bundle = publisher.bundle(sha256(pushed.manifest))
    layout.put("", "", artifact(BUNDLE, [(descriptor(BUNDLE, bundle), bundle)]))
    index = json.loads((tmp_path / "layout" / "index.json").read_text())
    index["manifests"][1] |= {"artifactType": BUNDLE, "annotations": {}}
    (tmp_path / "layout" / "index.json").write_text(json.dumps(index))
    source = OciSource(LayoutStore(LayoutLocation(tmp_path / "layout")), OciMemory(), 0.0)
    assert (await publisher.signed(source).read_package("coredns", "1.0")).is_signed


@each("status, content_type", [(200, "text/html"), (405, OCI_INDEX)])
async def test_registry_without_a_list_of_referrers_is_asked_for_the_tag(
    publisher: Publisher, status: int, content_type: str
) -> None:
    digest = publisher.push("coredns", "1.0", chart_artifact(CHART_FILES))
    publisher.refer("coredns", digest, publisher.bundle(digest), "tag")
    answer = web.Response(status=status, body=b"<html>", content_type=content_type)
    publisher.registry.answers[f"/v2/{REPOSITORY}/coredns/referrers/{digest}"] = [answer]
    assert (await publisher.source.read_package("coredns", "1.0")).is_signed


async def test_list_of_referrers_that_cannot_be_read_is_no_missing_signature(publisher: Publisher) -> None:
    digest = publisher.push("coredns", "1.0", chart_artifact(CHART_FILES))
    publisher.registry.answers[f"/v2/{REPOSITORY}/coredns/referrers/{digest}"] = [web.Response(status=503)]
    with pytest.raises(PackageError) as raised:
        await publisher.source.read_package("coredns", "1.0")
    assert raised.value.reason == "Unreachable"


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

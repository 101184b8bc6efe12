"""What a registry gets of a package and a channel, and what of its own is left alone. Level: pure."""

from collections.abc import Mapping

import pytest
from aiohttp import web

from hookrunner.errors import BadInput, PackageError
from hookrunner.packages.oci_locations import RegistryLocation
from hookrunner.packages.package import Package, parse_package
from hookrunner.packages.package_files import Seal, seal_of
from hookrunner.packages.publishing.registry_target import RegistryTarget
from tests.packages.oci.artifacts import (
    Artifact,
    archive_artifact,
    channel_artifact,
    chart_artifact,
    files_artifact,
    packed,
)
from tests.packages.oci.registry_server import REPOSITORY, RegistryServer, registry_server
from tests.packages.places import CHART, FILES, with_checksums
from tests.tables import each

LISTED = with_checksums(CHART)
LISTS = {"SHA256SUMS": LISTED["SHA256SUMS"], "SHA256SUMS.sig": b"signed"}
MANIFEST = f"/v2/{REPOSITORY}/coredns/manifests/1.0_a"
TEXT = b"manifests: []\n"


def package(files: Mapping[str, bytes] = CHART, component: str = "coredns") -> Package:
    return parse_package(component, "1.0+a", files)


def target_of(registry: RegistryServer, timeout: float = 30.0) -> RegistryTarget:
    return RegistryTarget(registry.client.open(RegistryLocation(registry.url, REPOSITORY)), timeout)


async def test_a_package_is_read_with_its_list_and_signature(registry: RegistryServer) -> None:
    assert await target_of(registry).put_package(package(), LISTS)
    assert await registry.source().read_package("coredns", "1.0+a") == package(LISTED)
    seal = seal_of("coredns 1.0+a", LISTS["SHA256SUMS"], b"signed")
    assert await registry.source().read_seal("coredns", "1.0+a") == seal
    assert registry.pushed[-1] == MANIFEST


async def test_a_channel_is_read_with_its_signature(registry: RegistryServer) -> None:
    assert await target_of(registry).put_channel("stable", TEXT, b"signed")
    assert await registry.source().read_channel("stable") == TEXT.decode()
    assert await registry.source().read_channel_signature("stable") == b"signed"


async def test_what_is_there_costs_the_question_for_its_manifest(registry: RegistryServer) -> None:
    for _ in range(2):
        registry.requests.clear()
        await target_of(registry).put_package(package(), LISTS)
        await target_of(registry).put_channel("stable", TEXT, b"")
    assert [path for path, _ in registry.requests] == [MANIFEST, f"/v2/{REPOSITORY}/channels/manifests/stable"]


async def test_a_new_signature_is_sent_with_its_manifest_alone(registry: RegistryServer) -> None:
    target = target_of(registry)
    await target.put_package(package(), LISTS)
    registry.pushed.clear()
    assert await target.put_package(package(), LISTS | {"SHA256SUMS.sig": b"renewed"})
    assert (len(registry.pushed), registry.pushed[-1]) == (2, MANIFEST)
    assert (await registry.source().read_seal("coredns", "1.0+a")).signature == b"renewed"
    assert not await target.put_package(package(), {"SHA256SUMS": LISTS["SHA256SUMS"]})


@each(
    "pushed, lists",
    [
        (files_artifact(LISTED), {"SHA256SUMS": LISTED["SHA256SUMS"]}),
        (archive_artifact(packed(LISTED | LISTS)), LISTS),
        (chart_artifact(LISTED), {"SHA256SUMS": LISTED["SHA256SUMS"]}),
    ],
)
async def test_what_others_have_pushed_with_the_same_files_stays(pushed: Artifact, lists: dict[str, bytes]) -> None:
    async with registry_server() as registry:
        registry.push_package("1.0_a", pushed)
        assert not await target_of(registry).put_package(package(), lists)
        assert registry.pushed == []


async def test_an_artifact_without_the_list_gets_it(registry: RegistryServer) -> None:
    registry.push_package("1.0_a", files_artifact(CHART))
    assert await target_of(registry).put_package(package(), LISTS)
    assert (await registry.source().read_seal("coredns", "1.0+a")).signature == b"signed"


@each(
    "pushed, problem",
    [
        (files_artifact(FILES), r"addons/coredns:1.0_a is another package than coredns 1.0\+a of the source"),
        (chart_artifact(CHART), "has the same files, but is no application/vnd.hookrunner.addon.package.v1"),
        (files_artifact(LISTED | {"Chart.yaml": b""}), "cannot be used; remove it: .* has the checksum"),
        (files_artifact({}, "text/plain"), "cannot be used; remove it: .* is no package"),
    ],
)
async def test_what_is_not_the_package_is_refused_and_stays(pushed: Artifact, problem: str) -> None:
    async with registry_server() as registry:
        registry.push_package("1.0_a", pushed)
        with pytest.raises(BadInput, match=problem):
            await target_of(registry).put_package(package(), LISTS)
        assert registry.pushed == []


async def test_what_cannot_be_read_now_is_not_called_damaged(registry: RegistryServer) -> None:
    registry.push_package("1.0_a", pushed := files_artifact(CHART))
    registry.answers[f"/v2/{REPOSITORY}/coredns/blobs/{next(iter(pushed.blobs))}"] = [web.Response(status=500)]
    with pytest.raises(PackageError, match=r"HTTP 500$"):
        await target_of(registry).put_package(package(), LISTS)


async def test_a_channel_that_others_have_pushed_is_replaced_by_another_text(registry: RegistryServer) -> None:
    registry.push(f"{REPOSITORY}/channels", "stable", channel_artifact(TEXT))
    assert not await target_of(registry).put_channel("stable", TEXT, b"")
    assert await target_of(registry).put_channel("stable", TEXT, b"signed")
    assert not await target_of(registry).put_channel("stable", TEXT, b"")
    assert await target_of(registry).put_channel("stable", TEXT + b"serial: 2\n", b"")
    assert await registry.source().read_channel_signature("stable") == b""
    registry.push(f"{REPOSITORY}/channels", "stable", files_artifact(FILES))
    with pytest.raises(PackageError, match="push it with --artifact-type"):
        await target_of(registry).put_channel("stable", TEXT, b"")


async def test_a_copy_that_broke_off_is_continued_without_the_blobs_that_are_there(registry: RegistryServer) -> None:
    registry.answers[MANIFEST] = [web.Response(status=404), web.Response(status=500)]
    with pytest.raises(PackageError, match="HTTP 500"):
        await target_of(registry).put_package(package(), LISTS)
    del registry.answers[MANIFEST]
    assert (await registry.source().read_seal("coredns", "1.0+a"), await has(registry)) == (Seal(), False)
    registry.pushed.clear()
    assert await target_of(registry).put_package(package(), LISTS)
    assert (registry.pushed, await has(registry)) == ([MANIFEST], True)


async def has(registry: RegistryServer) -> bool:
    return await target_of(registry).has_package("coredns", "1.0+a")


async def test_a_registry_that_is_silent_is_left_at_the_deadline(registry: RegistryServer) -> None:
    registry.answers[f"/v2/{REPOSITORY}/coredns/blobs/uploads/"] = [web.Response(headers={"X-Silent": "1"})]
    with pytest.raises(PackageError, match=r"no complete answer from .* within 0.2 s; raise --addon-fetch"):
        await target_of(registry, 0.2).put_package(package(), LISTS)


@each("component", ["channels", "web-", "a.-b"])
async def test_a_component_that_can_be_no_repository_is_refused(component: str) -> None:
    async with registry_server() as registry:
        with pytest.raises(BadInput, match="can be no repository"):
            await target_of(registry).put_package(package(component=component), LISTS)
        assert registry.requests == []
        assert component == "channels" or not await target_of(registry).has_package(component, "1.0")

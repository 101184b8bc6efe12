"""The distribution project's registry as a source: with and without TLS, a login and tokens. Level: pure."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import pytest

from hookrunner.packages.host_credentials import CredentialsFile, Login
from hookrunner.packages.https_reader import HttpsReader
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.oci_source import OciSource
from hookrunner.packages.oci.registry_client import RegistryClient, RegistryStore
from hookrunner.packages.oci_locations import RegistryLocation
from hookrunner.packages.package import parse_package
from hookrunner.packages.publishing.registry_target import RegistryTarget
from hookrunner.packages.publishing.sealer import seal
from hookrunner.packages.publishing.source_mirror import MirrorRequest, mirror
from hookrunner.packages.signatures.signed_source import SignedSource
from hookrunner.packages.signatures.signing_keys import read_keys, read_signing_key
from tests.controlplane.cache import run
from tests.controlplane.tools import find_tool
from tests.oracles.distribution import Distribution, running_registry
from tests.packages.oci.artifacts import (
    bundle_artifact,
    channel_artifact,
    chart_artifact,
    directory_artifact,
    files_artifact,
    index_artifact,
)
from tests.packages.oci.registry_server import REPOSITORY, USER
from tests.packages.oci.token_server import TokenServer
from tests.packages.places import CHART, FILES, DirectoryPlace, refusal_of, with_checksums
from tests.packages.signatures.openssl import make_key
from tests.packages.web_place import serve


@asynccontextmanager
async def store_of(registry: Distribution, directory: Path, login: Login | None = None) -> AsyncIterator[RegistryStore]:
    """The registry's repositories, with a login in a file of Docker's."""
    entry = {"username": login.user, "password": login.password} if login else {}
    (directory / "config.json").write_text(json.dumps({"auths": {registry.url.partition("://")[2]: entry}}))
    async with HttpsReader(registry.trust) as reader:
        client = RegistryClient(reader, CredentialsFile(directory / "config.json"))
        yield client.open(RegistryLocation(registry.url, REPOSITORY))


@asynccontextmanager
async def source_of(registry: Distribution, directory: Path, login: Login | None = None) -> AsyncIterator[OciSource]:
    """The registry as a source."""
    async with store_of(registry, directory, login) as store:
        yield OciSource(store, OciMemory(), 30.0)


@pytest.mark.slow
@pytest.mark.parametrize(("has_tls", "has_login"), [(False, False), (True, False), (False, True), (True, True)])
async def test_channels_and_packages_are_read(tmp_path: Path, has_tls: bool, has_login: bool) -> None:
    with running_registry(tmp_path, has_tls, has_login) as registry:
        registry.push(f"{REPOSITORY}/channels", "stable", channel_artifact(b"manifests: [{version: 1.0}]\n"))
        registry.push(f"{REPOSITORY}/coredns", "1.0", files_artifact(with_checksums(CHART)))
        async with source_of(registry, tmp_path, USER) as source:
            assert await source.read_channel("stable") == "manifests: [{version: 1.0}]\n"
            package = await source.read_package("coredns", "1.0")
            assert package == parse_package("coredns", "1.0", with_checksums(CHART))
            assert await source.read_channel("stable") == "manifests: [{version: 1.0}]\n"


@pytest.mark.slow
async def test_every_form_is_read_and_listed(tmp_path: Path) -> None:
    forms = {
        "1.1": files_artifact(FILES),
        "1.2": directory_artifact("templates", {"a.yaml": b"kind: A\n"}),
        "1.3": chart_artifact(CHART),
        "1.4": bundle_artifact(FILES),
        "1.5": index_artifact({"linux/amd64": files_artifact(FILES), "linux/arm64": files_artifact(FILES)}),
        "1.6_build": files_artifact({"manifest.yaml": b""}),
    }
    with running_registry(tmp_path) as registry:
        for tag, form in forms.items():
            registry.push(f"{REPOSITORY}/coredns", tag, form)
        async with source_of(registry, tmp_path) as source:
            versions = await source.list_versions("coredns")
            assert versions == ["1.6+build", "1.5", "1.4", "1.3", "1.2", "1.1"]
            forms_read = [(await source.read_package("coredns", version)).form for version in versions]
            assert forms_read == ["plain", "plain", "plain", "chart", "plain", "plain"]
            assert await source.list_versions("dashboard") == []


@pytest.mark.slow
@pytest.mark.parametrize("login", [None, Login("me", "wrong-word")])
async def test_a_login_that_is_missing_or_wrong_is_named(tmp_path: Path, login: Login | None) -> None:
    with running_registry(tmp_path, has_login=True) as registry:
        async with source_of(registry, tmp_path, login) as source:
            error = await refusal_of(source.read_package("coredns", "1.0"))
    problem = "does not accept the login" if login else "asks for a login"
    assert (problem in str(error), "wrong-word" in str(error)) == (True, False)


@pytest.mark.slow
async def test_tokens_of_another_server_are_taken_to_read_and_to_push(tmp_path: Path) -> None:
    (place := DirectoryPlace(tmp_path / "channels")).put_package("coredns", "1.0", CHART)
    tokens = TokenServer()
    async with serve(tokens.handle) as tokens.url:
        with running_registry(tmp_path, tokens=tokens) as registry:
            async with store_of(registry, tmp_path, USER) as store:
                request = MirrorRequest("coredns", ("1.0",), ())
                done = [one async for one in mirror(place.source, [request], nullcontext(RegistryTarget(store, 30.0)))]
            async with source_of(registry, tmp_path, USER) as source:
                assert (await source.read_package("coredns", "1.0")).digest == done[0].digest
            async with source_of(registry, tmp_path, Login("me", "wrong-word")) as source:
                error = await refusal_of(source.read_package("coredns", "1.0"))
    scopes = [scope.rpartition(":") for scope in tokens.given]
    asked = [*dict.fromkeys((name, *sorted(actions.split(","))) for name, _, actions in scopes)]  # in any order
    assert asked == [(where := f"repository:{REPOSITORY}/coredns", "pull"), (where, "pull", "push")]
    assert ("/token: HTTP 401: it does not accept" in str(error), "wrong-word" in str(error)) == (True, False)


@pytest.mark.slow
async def test_a_mirror_is_pushed_once_and_verifies(tmp_path: Path) -> None:
    (place := DirectoryPlace(tmp_path / "channels")).put_package("coredns", "1.0+a", CHART | {"empty.yaml": b""})
    place.put_channel("stable", b"manifests: [{version: 1.0+a}]\n")
    make_key(tmp_path / "release.key")
    assert [one async for one in seal(tmp_path / "channels", read_signing_key(tmp_path / "release.key"))]
    request = MirrorRequest("coredns", (), ("stable",))
    with running_registry(tmp_path, has_tls=True, has_login=True) as registry:
        async with source_of(registry, tmp_path, USER) as copy, store_of(registry, tmp_path, USER) as store:
            for was_written in (True, False):
                target = nullcontext(RegistryTarget(store, 30.0))
                done = [one async for one in mirror(place.source, [request], target)]
                assert [one.was_written for one in done] == [was_written, was_written]
            signed = SignedSource(copy, read_keys((tmp_path / "release.pub",)))
            assert await signed.read_channel("stable") == "manifests: [{version: 1.0+a}]\n"
            assert (await signed.read_package("coredns", "1.0+a")).digest == done[0].digest


@pytest.mark.slow
async def test_a_chart_that_helm_has_pushed_is_read(tmp_path: Path) -> None:
    chart = {"Chart.yaml": b"apiVersion: v2\nname: coredns\nversion: 1.0.0+build\n", "templates/a.yaml": b"kind: A\n"}
    (tmp_path / "coredns/templates").mkdir(parents=True)
    for path, text in chart.items():
        (tmp_path / "coredns" / path).write_bytes(text)
    with running_registry(tmp_path) as registry:
        target = f"oci://{registry.url.partition('://')[2]}/{REPOSITORY}"
        for words in (["package", "coredns"], ["push", "coredns-1.0.0+build.tgz", target, "--plain-http"]):
            command = [str(find_tool("helm")), *words]
            await asyncio.to_thread(run, command, why="helm cannot push", cwd=tmp_path)
        async with source_of(registry, tmp_path) as source:
            assert await source.list_versions("coredns") == ["1.0.0+build"]
            package = await source.read_package("coredns", "1.0.0+build")
    assert (package.form, package.files["templates/a.yaml"]) == ("chart", b"kind: A\n")

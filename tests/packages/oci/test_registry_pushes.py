"""Blobs and manifests that are pushed: what is sent, where to, and with which login. Level: pure."""

from pathlib import Path

import pytest
from aiohttp import web

from hookrunner.errors import PackageError
from hookrunner.packages.host_credentials import Login
from hookrunner.packages.names import LARGEST_FILE
from hookrunner.packages.oci.registry_client import RegistryClient, RegistryStore
from hookrunner.packages.oci.rendered_artifacts import render_package
from hookrunner.packages.oci_locations import RegistryLocation
from tests.packages.name_server import Names
from tests.packages.oci.artifacts import sha256
from tests.packages.oci.registry_server import REPOSITORY, GivenCredentials, RegistryServer, registry_server
from tests.packages.places import refusal_of
from tests.packages.web_place import Answer, web_place
from tests.tables import each

PLACE = f"/v2/{REPOSITORY}/coredns"
UPLOADS = f"{PLACE}/blobs/uploads/"
DATA = b"kind: A\n"
MANIFEST = render_package({"manifest.yaml": DATA}).manifest


def store_of(registry: RegistryServer) -> RegistryStore:
    return registry.client.open(RegistryLocation(registry.url, REPOSITORY))


async def push_all(registry: RegistryServer) -> None:
    for data in (b"{}", DATA):
        await store_of(registry).push_blob("coredns", data)
    await store_of(registry).push_manifest("coredns", "1.0", MANIFEST)


async def test_a_blob_that_is_there_is_not_sent(registry: RegistryServer) -> None:
    large = bytes(LARGEST_FILE)
    pushes = [await store_of(registry).push_blob("coredns", data) for data in (DATA, DATA, b"", large)]
    assert pushes == [True, False, True, True]
    assert registry.pushed == [f"{PLACE}/{sha256(data)}" for data in (DATA, b"", large)]


async def test_what_is_pushed_is_read(registry: RegistryServer) -> None:
    await push_all(registry)
    assert (await registry.source().read_package("coredns", "1.0")).files == {"manifest.yaml": DATA}


@each("asks_for", ["Basic", "Bearer"])
async def test_pushing_logs_in_with_the_right_to_push(asks_for: str) -> None:
    async with registry_server() as registry:
        registry.asks_for = asks_for
        registry.log_in()
        await registry.source().list_versions("coredns")
        await push_all(registry)
        scopes = [query.partition("scope=")[2] for query, _ in registry.token_requests]
        assert scopes == ([] if asks_for == "Basic" else ["repository:x:pull", "repository:x:pull,push"])


async def test_a_registry_that_names_no_right_is_asked_for_that_to_push(registry: RegistryServer) -> None:
    challenge = {"WWW-Authenticate": f'Bearer realm="{registry.url}/token"'}
    registry.answers[UPLOADS] = [web.Response(status=401, headers=challenge)]
    with pytest.raises(PackageError, match="HTTP 401"):
        await store_of(registry).push_blob("coredns", DATA)
    assert [query for query, _ in registry.token_requests] == [f"scope=repository:{REPOSITORY}/coredns:pull,push"]


async def test_a_login_without_the_right_is_named_without_it(registry: RegistryServer) -> None:
    registry.asks_for = "Basic"
    registry.log_in(Login("me", "wrong-word"))
    error = await refusal_of(store_of(registry).push_blob("coredns", DATA))
    told = "does not accept the login of --addon-credentials" in str(error), "wrong-word" in str(error)
    assert told == (True, False)


async def test_a_registry_that_limits_gets_the_same_bytes_again(registry: RegistryServer) -> None:
    limited = web.Response(status=429, headers={"Retry-After": "0"})
    begun = web.Response(status=202, headers={"Location": f"{UPLOADS}1?state=a%2Bb"})
    registry.answers[UPLOADS] = [limited, begun]
    await store_of(registry).push_blob("coredns", DATA)
    assert registry.blobs == {sha256(DATA): DATA}


@each(
    "status, headers, problem",
    [
        (500, {}, "HTTP 500"),
        (404, {}, "HTTP 404: create the repository"),
        (307, {"Location": "/elsewhere"}, "redirects what was sent to it"),
        (202, {}, "sends uploads nowhere"),
        (202, {"Location": "ftp://127.0.0.1/x"}, "sends uploads to ftp:, not http:"),
        (202, {"Location": "http://["}, "sends uploads to no URL"),
        (202, {"Location": f"{UPLOADS}1"}, "HTTP 400"),
    ],
)
async def test_an_upload_that_cannot_begin_or_end_is_named(status: int, headers: dict[str, str], problem: str) -> None:
    async with registry_server() as registry:
        registry.answers[UPLOADS] = [web.Response(status=status, headers=headers)]
        with pytest.raises(PackageError, match=problem):
            await store_of(registry).push_blob("coredns", DATA)
        assert registry.pushed == []


async def test_a_manifest_that_is_not_taken_is_named(registry: RegistryServer) -> None:
    with pytest.raises(PackageError, match=f"{PLACE}/manifests/1.0: HTTP 404"):
        await store_of(registry).push_manifest("coredns", "1.0", MANIFEST)


async def test_a_login_is_not_sent_where_uploads_lead(registry: RegistryServer) -> None:
    async with registry_server() as other:
        registry.asks_for = "Basic"
        registry.log_in()
        headers = {"Location": f"{other.url}{UPLOADS}1?state=a%2Bb"}
        store = store_of(registry)
        await store.list_tags("coredns")
        registry.answers[UPLOADS] = [web.Response(status=202, headers=headers)]
        other.asks_for = "Basic"
        with pytest.raises(PackageError, match="HTTP 401: it asks for a login"):
            await store.push_blob("coredns", DATA)
        assert (other.blobs, {status for _, status in other.requests}) == ({}, {401})


@each(
    "location, problem", [("https://10.0.0.1/x", "to the private address 10.0.0.1"), ("https://inside/", "inside has")]
)
async def test_a_public_registry_leads_uploads_to_no_private_address(
    tmp_path: Path, location: str, problem: str
) -> None:
    names = Names(localhost=["127.0.0.1", "93.184.216.34"], inside=["10.0.0.1"])
    async with web_place(tmp_path, names) as place:
        server = place.base.replace("127.0.0.1", "localhost")
        place.answers[UPLOADS] = Answer(status=202, headers={"Location": location})
        store = RegistryClient(place.reader, GivenCredentials()).open(RegistryLocation(server, REPOSITORY))
        with pytest.raises(PackageError, match=problem):
            await store.push_blob("coredns", DATA)

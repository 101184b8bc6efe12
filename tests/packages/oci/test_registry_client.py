"""Registries that ask for logins, limit requests, redirect and lie. Level: pure."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from yarl import URL

from hookrunner.errors import PackageError
from hookrunner.packages.host_credentials import HostCredentials, Login
from hookrunner.packages.https_reader import HttpsReader, WebRequest
from hookrunner.packages.oci.oci_memory import OciMemory
from hookrunner.packages.oci.oci_source import OciSource
from hookrunner.packages.oci.registry_client import RegistryClient
from hookrunner.packages.oci_locations import RegistryLocation
from tests.packages.name_server import Names
from tests.packages.oci.artifacts import archive_artifact, channel_artifact, files_artifact, packed, sha256
from tests.packages.oci.registry_server import REPOSITORY, USER, GivenCredentials, RegistryServer, registry_server
from tests.packages.places import FILES, refusal_of, with_checksums
from tests.packages.web_place import Answer, web_place
from tests.tables import each

MANIFEST = f"/v2/{REPOSITORY}/coredns/manifests/1.0"
PACKAGE = archive_artifact(packed(with_checksums(FILES)))
BLOB = f"/v2/{REPOSITORY}/coredns/blobs/{PACKAGE.document['layers'][0]['digest']}"


@pytest.fixture
async def registry() -> AsyncIterator[RegistryServer]:
    async with registry_server() as registry:
        registry.push(f"{REPOSITORY}/channels", "stable", channel_artifact(b"manifests: []\n"))
        registry.push_package("1.0", PACKAGE)
        yield registry


async def refusal(source: OciSource) -> PackageError:
    return await refusal_of(source.read_package("coredns", "1.0"))


# ── logins ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_token_is_fetched_once_for_a_repository(registry: RegistryServer) -> None:
    registry.asks_for = "Bearer"
    registry.log_in()
    await registry.source().read_package("coredns", "1.0")
    await registry.source().read_digest("coredns", "1.0")
    assert registry.token_requests == [("service=here&scope=repository:x:pull", USER.header)]
    assert [status for _, status in registry.requests if status == 401] == [401]


async def test_a_registry_that_gives_tokens_to_everyone_needs_no_login(registry: RegistryServer) -> None:
    registry.asks_for = "Bearer"
    await registry.source().read_package("coredns", "1.0")
    assert [login for _, login in registry.token_requests] == [""]


async def test_a_token_that_expires_in_the_middle_is_renewed_once(registry: RegistryServer) -> None:
    registry.asks_for = "Bearer"
    await registry.source().read_channel("stable")
    pushed = files_artifact({f"f{number}": b"%d" % number for number in range(20)})
    registry.push_package("1.0", pushed)
    await registry.source().read_digest("coredns", "1.0")
    registry.tokens.append("another one counts from now on")
    registry.answers[MANIFEST] = [web.Response(body=pushed.manifest)]
    assert (await registry.source().read_package("coredns", "1.0")).files.keys() >= {"f19"}
    assert len(registry.token_requests) == 3


async def test_a_token_that_is_never_taken_ends_the_request(registry: RegistryServer) -> None:
    challenge = {"WWW-Authenticate": f'Bearer realm="{registry.url}/token"'}
    registry.answers[MANIFEST] = [web.Response(status=401, headers=challenge)]
    error = await refusal(registry.source())
    assert (error.reason, len(registry.token_requests)) == ("Unreachable", 1)
    assert f"{registry.url}{MANIFEST}: HTTP 401: its token lacks the right to this; correct the login" in str(error)


async def test_user_and_password_are_sent_where_they_are_asked_for(registry: RegistryServer) -> None:
    registry.asks_for = "Basic"
    error = await refusal(registry.source())
    assert "HTTP 401: it asks for a login; name a file or a Secret with one in --addon-credentials" in str(error)
    registry.log_in()
    assert await registry.source().read_package("coredns", "1.0")


@each("asks_for", ["Basic", "Bearer"])
async def test_a_wrong_login_is_named_without_it(asks_for: str) -> None:
    async with registry_server() as registry:
        registry.push_package("1.0", PACKAGE)
        registry.asks_for = asks_for
        registry.log_in(Login("me", "wrong-word"))
        error = await refusal(registry.source())
        assert "HTTP 401: it does not accept the login of --addon-credentials; correct it" in str(error)
        assert (error.reason, "wrong-word" in str(error)) == ("Unreachable", False)


async def test_a_way_to_log_in_that_is_unknown_is_named(registry: RegistryServer) -> None:
    registry.answers[MANIFEST] = [web.Response(status=401, headers={"WWW-Authenticate": "Negotiate"})]
    assert "names no way to log in that is supported" in str(await refusal(registry.source()))


@each(
    "realm, problem",
    [
        ("https://auth.example.com/token", "sends for a token to https:, not http:"),
        ("file:///etc/passwd", "sends for a token to file:"),
        ("http://[::1/", "sends for a token to no URL"),
    ],
)
async def test_a_realm_that_cannot_be_asked_is_refused(realm: str, problem: str) -> None:
    async with registry_server() as registry:
        answer = web.Response(status=401, headers={"WWW-Authenticate": f'Bearer realm="{realm}"'})
        registry.answers[MANIFEST] = [answer]
        assert problem in str(await refusal(registry.source()))


@each(
    "realm, problem", [("https://10.0.0.1/token", "to the private address 10.0.0.1"), ("https://inside/", "inside has")]
)
async def test_a_public_registry_names_no_private_realm(tmp_path: Path, realm: str, problem: str) -> None:
    names = Names(localhost=["127.0.0.1", "93.184.216.34"], inside=["10.0.0.1"])
    async with web_place(tmp_path, names) as place:
        server = place.base.replace("127.0.0.1", "localhost")
        place.answers[MANIFEST] = Answer(status=401, headers={"WWW-Authenticate": f'Bearer realm="{realm}"'})
        store = RegistryClient(place.reader, GivenCredentials()).open(RegistryLocation(server, REPOSITORY))
        assert problem in str(await refusal(OciSource(store, OciMemory(), 10)))


# ── redirects ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_login_is_not_sent_where_a_redirect_leads(registry: RegistryServer) -> None:
    registry.asks_for = "Bearer"
    registry.log_in()
    async with registry_server() as storage:
        storage.blobs |= registry.blobs
        there = f"{storage.url}{BLOB}"
        registry.answers[BLOB] = [web.Response(status=307, headers={"Location": there})]
        assert await registry.source().read_package("coredns", "1.0")
        registry.memory = OciMemory()
        registry.push_package("1.0", PACKAGE)
        storage.asks_for = "Bearer"
        error = await refusal(registry.source())
    assert (error.reason, "HTTP 401" in str(error), storage.token_requests) == ("Unreachable", True, [])


@each("origin", ["https://a.com:444/", "https://b.com/", "https://a.com.evil.com/"])
async def test_a_header_with_a_login_stays_with_its_server(origin: str) -> None:
    async with HttpsReader() as reader:
        request = WebRequest(URL("https://a.com/x"), {"authorization": "secret", "Accept": "y"})
        assert dict(reader.lead(request, f"{origin}z").headers) == {"Accept": "y"}
        assert dict(reader.lead(request, "/z").headers) == request.headers


# ── limits and lies ───────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_registry_that_limits_is_asked_again_after_a_short_pause(registry: RegistryServer) -> None:
    busy = web.Response(status=429, headers={"Retry-After": "0"})
    manifest = web.Response(body=PACKAGE.manifest)
    registry.answers[MANIFEST] = [busy, busy, manifest]
    assert await registry.source().read_package("coredns", "1.0")


@each(
    "retry_after, requests, problem",
    [("3600", 1, "HTTP 429: and asks to wait for 3,600 s; pull less often, or log in"), ("0", 4, "HTTP 429")],
)
async def test_a_registry_that_limits_for_long_is_left(retry_after: str, requests: int, problem: str) -> None:
    async with registry_server() as registry:
        registry.answers[MANIFEST] = [web.Response(status=429, headers={"Retry-After": retry_after})]
        error = await refusal(registry.source())
        assert (error.reason, len(registry.requests)) == ("Unreachable", requests)
        assert problem in str(error)


@pytest.mark.parametrize("header", ["X-Silent", "X-Slow"])
async def test_a_registry_that_is_slow_is_left_at_the_deadline(registry: RegistryServer, header: str) -> None:
    registry.answers[BLOB] = [web.Response(headers={header: "yes"}, body=PACKAGE.manifest)]
    error = await refusal(registry.source(timeout=0.1))
    assert "package coredns 1.0: no complete answer from oci+http://127.0.0.1:" in str(error)


@each(
    "path, body, reason, problem",
    [
        (MANIFEST, b"x" * ((1 << 20) + 1), "TooLarge", "its manifest has more than 1 MiB"),
        (MANIFEST, b"{", "Malformed", "its manifest is no JSON"),
        (MANIFEST, b"[" * 100_000, "Malformed", "its manifest is no JSON"),
        (MANIFEST, b"[]", "Malformed", "its manifest: "),
        (MANIFEST, b'{"config": {}, "layers": []}', "Malformed", "config.mediaType is required"),
        (BLOB, b"other bytes", "DigestMismatch", "it is damaged or exchanged"),
        (BLOB, b"", "DigestMismatch", "it is damaged or exchanged"),
        (BLOB, b"x" * (40 << 20), "DigestMismatch", "it is damaged or exchanged"),
    ],
)
async def test_an_answer_that_is_none(path: str, body: bytes, reason: str, problem: str) -> None:
    async with registry_server() as registry:
        registry.push_package("1.0", PACKAGE)
        registry.answers[path] = [web.Response(body=body)]
        error = await refusal(registry.source())
        assert (error.reason, problem in str(error)) == (reason, True), error
        assert str(error).startswith("package coredns 1.0: ")


@each("status", [301, 403, 404, 500])
async def test_a_blob_that_is_not_sent_is_unreachable(status: int) -> None:
    async with registry_server() as registry:
        registry.push_package("1.0", PACKAGE)
        registry.answers[BLOB] = [web.Response(status=status)]
        error = await refusal(registry.source())
        assert f"{registry.url}{BLOB}: " in str(error), error


async def test_a_manifest_of_another_digest_is_refused(registry: RegistryServer) -> None:
    store = registry.client.open(RegistryLocation(registry.url, REPOSITORY))
    digest = sha256(PACKAGE.manifest)
    assert await store.read_manifest("coredns", digest) == PACKAGE.manifest
    registry.answers[f"/v2/{REPOSITORY}/coredns/manifests/{digest}"] = [web.Response(body=b"{}")]
    with pytest.raises(PackageError, match="the registry sent another manifest"):
        await store.read_manifest("coredns", digest)


# ── what it costs ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_unchanged_package_costs_an_answer_without_a_body(registry: RegistryServer) -> None:
    package = await registry.source().read_package("coredns", "1.0")
    registry.requests.clear()
    assert await registry.source().read_package("coredns", "1.0") is package
    assert await registry.source().read_digest("coredns", "1.0") == package.digest
    assert registry.requests == [(MANIFEST, 304)] * 2


async def test_an_unchanged_channel_costs_an_answer_without_a_body(registry: RegistryServer) -> None:
    await registry.source().read_channel("stable")
    registry.requests.clear()
    assert await registry.source().read_channel("stable") == "manifests: []\n"
    assert registry.requests == [(f"/v2/{REPOSITORY}/channels/manifests/stable", 304)]


async def test_a_digest_costs_the_list_alone_where_it_is_a_file(registry: RegistryServer) -> None:
    registry.push_package("2.0", files_artifact(with_checksums(FILES)))
    digest = await registry.source().read_digest("coredns", "2.0")
    assert len(registry.requests) == 2
    assert digest == (await registry.source().read_package("coredns", "2.0")).digest
    assert await registry.source().read_digest("coredns", "3.0") == ""


async def test_tags_are_listed_by_pages(registry: RegistryServer) -> None:
    for version in ("1.1", "1.2", "1.3_build", ".bad"):
        registry.push_package(version, PACKAGE)
    assert await registry.source().list_versions("coredns") == ["1.3+build", "1.2", "1.1", "1.0"]
    assert len(registry.requests) == 3


@each("body", [b"[]", b"{", b'{"tags": {}}'])
async def test_what_is_no_list_of_tags_is_refused(body: bytes) -> None:
    async with registry_server() as registry:
        registry.answers[f"/v2/{REPOSITORY}/coredns/tags/list"] = [web.Response(body=body)]
        with pytest.raises(PackageError, match="is no list of tags"):
            await registry.source().list_versions("coredns")


async def test_a_list_of_tags_that_never_ends_is_cut(registry: RegistryServer) -> None:
    path = f"/v2/{REPOSITORY}/coredns/tags/list"
    link = {"Link": f'<{path}?last=x>; rel="next"'}
    registry.answers[path] = [web.Response(body=b'{"tags": ["1.0"]}', headers=link)]
    await registry.source().list_versions("coredns")
    assert len(registry.requests) == 20
    registry.requests.clear()
    many = json.dumps({"tags": ["1.0"] * 30_000 + ["1" * 129]}).encode()
    registry.answers[path] = [web.Response(body=many, headers=link)]
    assert (len(await registry.source().list_versions("coredns")), len(registry.requests)) == (20_000, 1)


def test_logins_are_in_no_text_of_the_client() -> None:
    credentials = HostCredentials({"a": USER})
    assert USER.password not in repr(GivenCredentials(credentials))
    assert USER.header not in repr(WebRequest(URL("https://a"), {"Authorization": USER.header}))

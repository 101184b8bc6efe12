"""Reads and writes manifests and blobs of OCI registries, over the reader of web servers and with its bounds.

    client = RegistryClient(reader, credentials)            # one for all registries: it keeps tokens and manifests
    store = client.open(RegistryLocation("https://registry.example.com", "addons"))
    manifest = await store.read_manifest("coredns", "1.14.6")           # None without one
    await store.save_blob("coredns", descriptor, file)
    await store.push_blob("coredns", data)                              # False: it is there already
    await store.push_manifest("coredns", "1.14.6", manifest)

A registry that answers 401 gets a token, or user and password, as it asks for; a token that it does not take any more
is renewed once in a request. The login goes to the registry, and to the realm that it names: only over TLS if the
registry has it, and from a public registry to no private address. Where a registry redirects to another host, as for
blobs, that host gets no login. One that answers 429 is asked again after the pause that it names, if it is short. A
manifest that was read is asked for by its digest, so that an unchanged one costs an answer without a body. A blob is
sent in one piece to the address that the registry names for it, to which the same rules apply. The caller sets the
deadline, and compares blobs with their digests.
Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import field, replace
from http import HTTPStatus
from typing import BinaryIO
from weakref import WeakValueDictionary

from yarl import URL

from hookrunner.errors import PackageError
from hookrunner.packages.fetch_bounds import remember
from hookrunner.packages.host_credentials import CredentialsSource
from hookrunner.packages.https_reader import HttpsReader, WebAnswer, WebRequest
from hookrunner.packages.names import LARGEST_CHANNEL
from hookrunner.packages.oci.manifests import (
    INDEX_TYPES,
    LARGEST_MANIFEST,
    MANIFEST_TYPES,
    Descriptor,
    digest_of_bytes,
)
from hookrunner.packages.oci.registry_login import (
    LARGEST_TOKEN,
    Token,
    parse_challenge,
    parse_token,
    requested_pause,
    token_url,
)
from hookrunner.packages.oci.sigstore_bundles import referrers_tag
from hookrunner.packages.oci_locations import RegistryLocation
from hookrunner.packages.package_files import is_digest
from kubetypes.json_values import loads
from kubetypes.light_dataclasses import dataclass

_ACCEPT = {"Accept": ", ".join((*MANIFEST_TYPES, *INDEX_TYPES))}
_BYTES = {"Content-Type": "application/octet-stream"}
_MOST_KEPT = 128
_LARGEST_KEPT = 256 << 10
"""Manifests, and bytes of each."""
_MOST_TOKENS = 256
_MOST_PAUSES = 3
_LONGEST_PAUSE = 10.0
_PAUSE = 1.0
"""Seconds before a registry that answers 429 is asked again, at most, and unless it names a pause."""
_MOST_PAGES, _MOST_TAGS = 20, 20_000
"""A page has 1,000 tags, unless the registry does as it likes."""
_LONGEST_TAG = 128
"""Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests"""

_Send = Callable[[WebRequest], Awaitable[WebAnswer]]


@dataclass(frozen=True, slots=True)
class RegistryClient:
    """Reads from all registries; `credentials` are asked for when a registry asks for a login."""

    reader: HttpsReader
    credentials: CredentialsSource
    _tokens: OrderedDict[tuple[str, str], Token] = field(default_factory=OrderedDict)
    """By server and repository."""
    _manifests: OrderedDict[URL, bytes] = field(default_factory=OrderedDict)
    _locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def open(self, location: RegistryLocation) -> "RegistryStore":
        """The repositories below a location."""
        return RegistryStore(self, location)

    async def read_manifest(self, url: URL, repository: str) -> bytes | None:
        """A manifest, None if it does not exist. Raises PackageError."""
        known = self._manifests.get(url)
        condition = {"If-None-Match": f'"{digest_of_bytes(known)}"'} if known is not None else {}
        answer = await self.ask(WebRequest(url, _ACCEPT | condition), repository, LARGEST_MANIFEST)
        if answer.status == HTTPStatus.NOT_MODIFIED and known is not None:
            return known
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        _require(answer, HTTPStatus.OK)
        self._keep(url, answer.body)
        return answer.body

    async def ask(self, request: WebRequest, repository: str, most: int) -> WebAnswer:
        """Any answer to a request about a repository, after logins and pauses. Raises PackageError."""

        async def exchange(logged_in: WebRequest) -> WebAnswer:
            return await self.reader.exchange(logged_in, most)

        return await self.send(request, repository, exchange)

    async def send(self, request: WebRequest, repository: str, send: _Send) -> WebAnswer:
        """The same, sent by `send`, which may be called several times."""
        key, pauses, logged_in = (str(request.url.origin()), repository), 0, False
        while True:
            token = self._tokens.get(key)
            is_valid = token is not None and token.ends > asyncio.get_running_loop().time()
            login = {"Authorization": token.header} if token and is_valid else {}
            answer = await send(replace(request, headers={**request.headers, **login}))
            is_own = answer.request.url.origin() == request.url.origin()
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS and pauses < _MOST_PAUSES:
                pauses += 1
                await asyncio.sleep(_pause(answer))
            elif answer.status == HTTPStatus.UNAUTHORIZED and is_own and not logged_in:
                logged_in = True
                await self._renew(key, token, answer)
            else:
                return answer

    async def _renew(self, key: tuple[str, str], used: Token | None, answer: WebAnswer) -> None:
        """Get a token in place of the one that was used, unless another request has done that meanwhile."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            if self._tokens.get(key) is used:
                remember(self._tokens, key, await self._log_in(answer, key[1]), _MOST_TOKENS)

    async def _log_in(self, answer: WebAnswer, repository: str) -> Token:
        """What the registry takes in place of no login, or of one that has expired."""
        url = answer.request.url
        challenge = parse_challenge(answer.headers.get("www-authenticate", ""))
        if challenge is None:
            raise _refusal(answer, "and names no way to log in that is supported (Bearer, Basic)")
        login = (await self.credentials.read()).login_for(url.authority, repository)
        header = {"Authorization": login.header} if login else {}
        if challenge.realm:
            request = self.reader.lead(WebRequest(url), challenge.realm, "sends for a token")
            scope = f"repository:{repository}:{'pull' if answer.request.body is None else 'pull,push'}"
            asked = WebRequest(token_url(request.url, challenge, scope), header, None, request.public_only)
            granted = await self.reader.exchange(asked, LARGEST_TOKEN)
            _require(granted, HTTPStatus.OK)
            return parse_token(str(request.url), granted.body, asyncio.get_running_loop().time())
        if login is None:
            raise _refusal(answer, _advice(answer))
        return Token(login.header)

    def _keep(self, url: URL, manifest: bytes) -> None:
        self._manifests.pop(url, None)
        if len(manifest) <= _LARGEST_KEPT:
            remember(self._manifests, url, manifest, _MOST_KEPT)


@dataclass(frozen=True, slots=True)
class RegistryStore:
    """The repositories below a location of a registry."""

    client: RegistryClient
    location: RegistryLocation

    async def read_manifest(self, name: str, reference: str) -> bytes | None:
        """The manifest of a tag or digest in the repository `name`; None without one.

        Raises PackageError: Unreachable, TooLarge, Malformed for redirects that are refused, DigestMismatch.
        """
        url = self._url(name, "manifests", reference)
        manifest = await self.client.read_manifest(url, self._repository(name))
        if manifest is None:
            return None
        if is_digest(reference) and digest_of_bytes(manifest) != reference:
            text = f"the registry sent another manifest, with the digest {digest_of_bytes(manifest)}"
            raise PackageError("DigestMismatch", f"{url}: {text}")
        return manifest

    async def read_referrers(self, name: str, digest: str) -> bytes | None:
        """The index of what refers to a manifest, at most its first page; None without one. What a registry that has
        no such list answers varies, so a tag is asked for then. Raises PackageError as `read_manifest` does."""
        request = WebRequest(self._url(name, "referrers", digest), _ACCEPT)
        answer = await self.client.ask(request, self._repository(name), LARGEST_MANIFEST)
        if answer.status == HTTPStatus.OK and answer.headers.get("content-type", "").startswith(INDEX_TYPES):
            return answer.body
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            _require(answer, HTTPStatus.OK)
        return await self.read_manifest(name, referrers_tag(digest))

    async def save_blob(self, name: str, descriptor: Descriptor, file: BinaryIO) -> None:
        """Write a blob to a file, at most one byte more than its size. Raises PackageError: Unreachable, Malformed."""

        async def save(request: WebRequest) -> WebAnswer:
            file.seek(0)
            file.truncate()
            return await self.client.reader.save(request, file, descriptor.size)

        url = self._url(name, "blobs", descriptor.digest)
        _require(await self.client.send(WebRequest(url), self._repository(name), save), HTTPStatus.OK)

    async def push_blob(self, name: str, data: bytes) -> bool:
        """Whether a blob had to be sent. Raises PackageError: Unreachable, Malformed for an address that is refused."""
        digest = digest_of_bytes(data)
        present = await self._ask(name, WebRequest(self._url(name, "blobs", digest), method="HEAD"))
        if present.status == HTTPStatus.OK:
            return False
        _require(present, HTTPStatus.NOT_FOUND)
        begin = WebRequest(self._url(name, "blobs", "uploads", ""), body=b"")
        begun = await self._ask(name, begin)
        _require(begun, HTTPStatus.ACCEPTED, "create the repository" if begun.status == HTTPStatus.NOT_FOUND else "")
        upload = self.client.reader.lead(begin, begun.headers.get("location", ""), "sends uploads")
        url = URL(f"{upload.url}{'&' if upload.url.raw_query_string else '?'}digest={digest}", encoded=True)
        sent = replace(upload, url=url, headers=_BYTES, body=data, method="PUT")
        _require(await self._ask(name, sent), HTTPStatus.CREATED)
        return True

    async def push_manifest(self, name: str, tag: str, manifest: bytes) -> None:
        """Write the manifest of a tag, whose blobs are there. Raises PackageError: Unreachable, Malformed."""
        url, headers = self._url(name, "manifests", tag), {"Content-Type": MANIFEST_TYPES[0]}
        _require(await self._ask(name, WebRequest(url, headers, manifest, method="PUT")), HTTPStatus.CREATED)

    async def list_tags(self, name: str) -> list[str]:
        """The tags of a repository; none if it does not exist. Raises PackageError: Unreachable, Malformed."""
        request, tags = WebRequest(self._url(name, "tags", "list").with_query(n="1000")), list[str]()
        for _ in range(_MOST_PAGES):
            answer = await self._ask(name, request)
            if answer.status == HTTPStatus.NOT_FOUND:
                break
            _require(answer, HTTPStatus.OK)
            tags += _parse_tags(answer)
            following = answer.headers.get("link", "")
            if 'rel="next"' not in following or len(tags) >= _MOST_TAGS:
                break
            target = following.partition("<")[2].partition(">")[0]
            request = self.client.reader.lead(request, target, "continues its tags")
            if request.url.origin() != URL(self.location.server).origin():
                break
        return tags[:_MOST_TAGS]

    async def _ask(self, name: str, request: WebRequest) -> WebAnswer:
        return await self.client.ask(request, self._repository(name), LARGEST_CHANNEL)

    def _repository(self, name: str) -> str:
        return f"{self.location.path}/{name}"

    def _url(self, name: str, *path: str) -> URL:
        return URL(f"{self.location.server}/v2/{self._repository(name)}/{'/'.join(path)}", encoded=True)


def _parse_tags(answer: WebAnswer) -> list[str]:
    try:
        document = loads(answer.body)
        tags = document.get("tags", ()) if isinstance(document, dict) else ()
        tags = [] if tags is None else tags
    except ValueError:
        tags = None
    if not isinstance(tags, list) or len(answer.body) > LARGEST_CHANNEL:
        raise PackageError("Malformed", f"{answer.request.url}: the answer is no list of tags; correct the registry")
    return [tag for tag in tags if isinstance(tag, str) and len(tag) <= _LONGEST_TAG]


def _pause(answer: WebAnswer) -> float:
    """Seconds to wait before the next attempt."""
    asked = requested_pause(answer.headers, time.time())
    if asked is not None and asked > _LONGEST_PAUSE:
        raise _refusal(answer, f"and asks to wait for {asked:,.0f} s; pull less often, or log in")
    return _PAUSE if asked is None else asked


def _advice(answer: WebAnswer) -> str:
    """What to do about a request that was refused as it was sent. A token may be one that is given to everyone."""
    if answer.status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ""
    headers = {name.lower(): text for name, text in answer.request.headers.items()}
    match headers.get("authorization", "").partition(" ")[0]:
        case "":
            return "it asks for a login; name a file or a Secret with one in --addon-credentials"
        case "Basic":
            return "it does not accept the login of --addon-credentials; correct it"
    return "its token lacks the right to this; correct the login in --addon-credentials, or add one"


def _require(answer: WebAnswer, status: int, advice: str = "") -> None:
    if answer.status != status:
        raise _refusal(answer, advice or _advice(answer))


def _refusal(answer: WebAnswer, text: str) -> PackageError:
    url = answer.request.url.with_query(None)
    return PackageError("Unreachable", f"{url}: HTTP {answer.status}{f': {text}' if text else ''}")

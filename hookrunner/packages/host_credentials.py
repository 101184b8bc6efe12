"""Logins by host, as Docker keeps them in its config.json and Kubernetes in Secrets of kubernetes.io/dockerconfigjson.

    source = open_credentials("/etc/addons/config.json", client=None)        # or "secret:NAMESPACE/NAME"
    login = (await source.read()).login_for("registry.example.com:5000", "team/addons")     # None without one

    {"auths": {"registry.example.com:5000": {"username": "me", "password": "…"}, "example.com/team": {"auth": "bWU6…"}}}

One file for everything that is asked over the network: registries and git servers. It is read whenever a server asks
for a login, so that a new password counts at once. A key is a host, or a host with a path, which must be the beginning
of what is asked for; the longest one wins. Programs that keep logins for Docker (`credsStore`, `credHelpers`) are not
run: they are not in the image, and would be given our environment. Messages name hosts, never a login.
Source: https://kubernetes.io/docs/concepts/containers/images/#config-json
"""

import asyncio
import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Protocol

from hookrunner import safe_files
from hookrunner.errors import BadSetting, KubeError, PackageError
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.resources import Resource
from hookrunner.packages.names import shown
from hookrunner.shapes import TEXT, Table, check
from kubetypes.bounds import PACKAGE_TEXT
from kubetypes.json_values import JSON, loads
from kubetypes.light_dataclasses import dataclass

_FLAG = "--addon-credentials"
_SECRET = re.compile(r"secret:([a-z0-9][-a-z0-9]{0,62})/([a-z0-9][-.a-z0-9]{0,252})")
_SECRETS = Resource("v1", "Secret", "secrets", True)
_KEYS = (".dockerconfigjson", "config.json")
_ENTRY = Table({"auth": TEXT, "username": TEXT, "password": TEXT, "email": TEXT, "identitytoken": TEXT}, open=True)
_DOCKER_HUB = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io"})
"""Names of one registry. `docker login` writes the second."""
_VERSIONS = frozenset({"v1", "v2"})
"""Paths with which old programs write a host."""


@dataclass(frozen=True, slots=True)
class Login:
    """A user and a password, or a token in its place."""

    user: str
    password: str = field(repr=False)

    @property
    def header(self) -> str:
        """The value of the header Authorization."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode()}"


@dataclass(frozen=True, slots=True)
class HostCredentials:
    """Logins by host, or by host and path."""

    by_place: Mapping[str, Login] = field(default_factory=dict, repr=False)

    def login_for(self, host: str, path: str = "") -> Login | None:
        """The login for a path at a host, which has its port unless it is the usual one; None without one."""
        place = f"{_host(host)}/{path}/"
        fitting = [known for known in self.by_place if place.startswith(f"{known}/")]
        return self.by_place[max(fitting, key=len)] if fitting else None


class CredentialsSource(Protocol):
    """Where logins are kept."""

    async def read(self) -> HostCredentials:
        """Those of now. Raises PackageError with the reason Unreachable if they cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class CredentialsFile:
    """A file; none without a path."""

    path: Path | None = None

    async def read(self) -> HostCredentials:
        """As `CredentialsSource` says."""
        if self.path is None:
            return HostCredentials()
        try:
            return parse_credentials(await asyncio.to_thread(safe_files.read, self.path))
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else error
            raise PackageError("Unreachable", f"{_FLAG}: {self.path}: {problem}") from None


@dataclass(frozen=True, slots=True)
class CredentialsSecret:
    """A Secret. Without a client, as offline commands have none, it cannot be read."""

    namespace: str
    name: str
    client: Client | None

    async def read(self) -> HostCredentials:
        """As `CredentialsSource` says."""
        try:
            if self.client is None:
                raise ValueError("needs a cluster; name a file")
            secret = await writes.read(self.client, ObjectRef(_SECRETS, self.namespace, self.name))
            return parse_credentials(_document(secret.get("data") or {}))
        except (KubeError, ValueError) as error:
            text = f"{_FLAG}: Secret {self.namespace}/{self.name}: {error}"
            raise PackageError("Unreachable", text) from None


def open_credentials(text: str, client: Client | None) -> CredentialsSource:
    """What the flag names: nothing, a file or a Secret. Raises BadSetting."""
    if not text.startswith("secret:"):
        return CredentialsFile(Path(text) if text else None)
    if match := _SECRET.fullmatch(text):
        return CredentialsSecret(match[1], match[2], client)
    raise BadSetting(f"{_FLAG}: {shown(text)} names no Secret; write secret:NAMESPACE/NAME, or the path of a file")


def parse_credentials(text: bytes) -> HostCredentials:
    """The logins in a document. Raises ValueError with what is wrong, which quotes no value."""
    try:
        document = loads(text, PACKAGE_TEXT)
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    auths = document.get("auths") or {} if isinstance(document, dict) else None
    if not isinstance(auths, dict):
        raise ValueError('it is no config.json of Docker; write {"auths": {"HOST": {"username": …, "password": …}}}')
    if document.get("credsStore") or document.get("credHelpers"):
        text_ = "programs that keep logins (credsStore, credHelpers) are not run; write the logins into `auths`"
        raise ValueError(text_)
    return HostCredentials(dict(_logins(auths)))


def _logins(auths: Mapping[str, JSON]) -> Iterator[tuple[str, Login]]:
    for key, entry in auths.items():
        for problem in check(entry, _ENTRY, f"auths[{shown(key)}]"):
            raise ValueError(str(problem))
        if login := _login(key, entry):
            yield _place(key), login


def _login(key: str, entry: Mapping[str, str]) -> Login | None:
    """One without values stands for a login that a program keeps."""
    if entry.get("identitytoken"):
        raise ValueError(f"auths[{shown(key)}]: identity tokens are not supported; write `username` and `password`")
    if entry.get("username"):
        return Login(entry["username"], entry.get("password", ""))
    if not entry.get("auth"):
        return None
    try:
        user, colon, password = base64.b64decode(entry["auth"], validate=True).decode().partition(":")
    except ValueError:
        colon = ""
    if not colon:
        raise ValueError(f"auths[{shown(key)}].auth: it is not USER:PASSWORD in base64")
    return Login(user, password.rstrip("\0"))


def _place(key: str) -> str:
    host, _, path = key.partition("://")[2].partition("/") if "://" in key else key.partition("/")
    path = path.strip("/")
    return f"{_host(host)}/{path}" if path and path not in _VERSIONS else _host(host)


def _host(host: str) -> str:
    host = host.lower().removesuffix(":443")
    return "docker.io" if host in _DOCKER_HUB else host


def _document(data: Mapping[str, str]) -> bytes:
    for key in _KEYS:
        if key in data:
            return base64.b64decode(data[key])
    raise ValueError(f"it has no key {_KEYS[0]}; make it with `kubectl create secret docker-registry`")

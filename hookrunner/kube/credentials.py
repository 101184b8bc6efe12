"""How to reach the cluster and who we are there: loaded by a short-lived child, renewed before it expires.

    credentials = Credentials(settings, await load_connection(Lookup(settings)))
    connection = await credentials.fresh()                 # before every request
    connection = await credentials.renew(connection)     # after a 401

A token file is read again when older than a minute, as client-go does; everything else (exec plugins, changed files) by
running the child again (`cluster_lookup.py`), once for all callers that wait. Key material stays in memory, except for
the moment in which `ssl` wants files.
"""

import asyncio
import math
import ssl
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import orjson

from hookrunner import log
from hookrunner.errors import BadKubeConfig
from hookrunner.kube.cluster_lookup import Lookup
from hookrunner.kube.lacked_rights import LackedRights
from hookrunner.settings import KubeSettings
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)
_TOKEN_FILE_AGE = 60.0
_EXPIRY_MARGIN = 60.0
_RENEWAL_INTERVAL = 10.0
"""A server that refuses good credentials must not make us run an exec plugin for every request."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A way into a cluster. `ca`, `cert` and `key` are PEM texts, empty for none; `authorization` a header's value;
    `expires` epoch seconds; `origin` says where it was found, by its kubeconfig's `context` if it has one, `in_pod`
    whether that is our pod's service account; `user` and `means` who we are by the kubeconfig, and what proves it."""

    server: str
    ca: str = ""
    cert: str = ""
    key: str = ""
    authorization: str = ""
    token_file: str = ""
    expires: float | None = None
    proxy: str = ""
    tls_server_name: str = ""
    insecure: bool = False
    namespace: str = ""
    context: str = ""
    origin: str = ""
    in_pod: bool = False
    user: str = ""
    means: str = ""

    def __repr__(self) -> str:
        """Without secrets: this may be logged."""
        return f"Connection({self.server}, {self.origin})"

    def tls(self) -> ssl.SSLContext:
        """A context for this server. Raises BadKubeConfig for certificates or keys that cannot be read."""
        try:
            context = ssl.create_default_context(cadata=self.ca or None)
            # On by default since Python 3.13; the CAs of many clusters lack the extensions that it asks for.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            if self.insecure:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if self.cert:
                _load_pair(context, self.cert, self.key)
        except (ssl.SSLError, ValueError) as error:
            raise BadKubeConfig(f"{self.origin}: certificate or key cannot be used: {error}") from error
        return context


def _load_pair(context: ssl.SSLContext, cert: str, key: str) -> None:
    """`ssl` takes client keys from files only."""
    with tempfile.TemporaryDirectory(prefix="hookrunner-") as directory:
        path = Path(directory, "pair.pem")
        path.write_text(f"{cert}\n{key}", "utf-8")
        context.load_cert_chain(path)


async def load_connection(lookup: Lookup) -> Connection:
    """Wait for the child and return the connection that it found. Raises BadKubeConfig with the file, the context and
    what is wrong."""
    with closing(lookup):
        connection = _connection(*await asyncio.to_thread(lookup.output))
    if connection.server.startswith("https:"):
        connection.tls()  # checked here: the error would otherwise come with the first request
    return connection


def _connection(output: bytes, errors: bytes) -> Connection:
    try:
        answer = orjson.loads(output)
    except orjson.JSONDecodeError:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        raise BadKubeConfig(f"the program that reads kubeconfig failed: {last or 'no output'}") from None
    if "error" in answer:
        raise BadKubeConfig(answer["error"])
    return Connection(**answer)


class Credentials:
    """The current connection. `connection` is the first one, already loaded. `lacked` are rights that were missing,
    shared by all credentials of an account."""

    def __init__(self, settings: KubeSettings, connection: Connection, lacked: LackedRights | None = None) -> None:
        self._settings = settings
        self._connection = connection
        self._read_at = time.monotonic()
        self._loaded_at = -math.inf
        self._renewal = asyncio.Lock()
        self.lacked = LackedRights() if lacked is None else lacked

    async def fresh(self) -> Connection:
        """The connection, renewed before its token expires. Never raises: a failed renewal is logged, and the present
        connection is used as long as the server accepts it."""
        now = self._connection
        if now.expires is not None and now.expires - time.time() < _EXPIRY_MARGIN:
            return await self.renew(now)
        if now.token_file and time.monotonic() - self._read_at > _TOKEN_FILE_AGE:
            self._read_token()
        return self._connection

    async def renew(self, refused: Connection) -> Connection:
        """Replace a connection that was refused; the same one if there is no newer one."""
        async with self._renewal:
            if self._connection is not refused:
                return self._connection
            if refused.token_file:
                self._read_token()
            elif time.monotonic() - self._loaded_at > _RENEWAL_INTERVAL:
                await self._load()
            return self._connection

    def _read_token(self) -> None:
        """Read the token file again. The kubelet replaces it well before the old token expires, so a failure does no
        harm yet."""
        self._read_at = time.monotonic()
        try:
            authorization = f"Bearer {Path(self._connection.token_file).read_text('utf-8').strip()}"
        except OSError as error:
            _log.warn("cannot read the token file again", file=self._connection.token_file, error=error)
            return
        if authorization != self._connection.authorization:
            self._connection = replace(self._connection, authorization=authorization)

    async def _load(self) -> None:
        """Load the connection again, by the context that we have: the current context of the kubeconfig may lead to
        another cluster by now."""
        try:
            connection = await load_connection(Lookup(replace(self._settings, context=self._connection.context)))
        except BadKubeConfig as error:
            _log.error("cannot renew the credentials", error=error)
            return
        finally:
            self._loaded_at = time.monotonic()
        if connection != self._connection:
            self._connection = connection

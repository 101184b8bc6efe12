"""Certificates that others provide: in files, or in a Secret as cert-manager keeps it. They change without a restart.

    latest = LatestMaterial("secret:hooks")
    async with aclosing(from_secret(latest, watches, "default", "hooks")) as materials:
        async for material in materials: ...        # each that is new and usable

A new version that cannot be used does not replace the last one: a server with the last good certificate is better than
no server.

Files are read once a second: Python has no inotify, modification times may stand still while contents change, and three
small reads cost 0.1 ms. A program that writes three files can be observed half-way, and a mounted Secret may be
exchanged between two of our reads
(https://kubernetes.io/docs/concepts/configuration/secret/#using-secrets-as-files-from-a-pod), so a change counts when
the next read returns the same.

A Secret has `tls.crt`, `tls.key` and `ca.crt`. The last may be missing or empty, as with a public CA; then the last
certificate of the chain is trusted (https://cert-manager.io/docs/usage/certificate/#target-secret).
"""

import asyncio
import base64
import math
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from hookrunner import log, safe_files
from hookrunner.certificates.material import Material, Part, checked, doubts, last_of
from hookrunner.errors import BadCertificate
from hookrunner.kube.informer import ObjectState, Opener, follow_object
from hookrunner.model.events import WatchLost, WatchRestored
from hookrunner.model.resources import Selection
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

REMINDER = 60.0
"""Seconds between two reports of the same problem while no material can be used: a person may be waiting for it."""

INTERVAL = 1.0
"""Seconds between two reads of the files."""

_LARGEST = 1024 * 1024
CERTIFICATE, KEY, CA = "tls.crt", "tls.key", "ca.crt"

_log = log.get(__name__)


class LatestMaterial:
    """The newest usable material of one source, and what to report about it.

    `source` names where the material comes from. `problem` is why its present version cannot be used; empty if it can
    be, or if nothing is known yet.
    """

    def __init__(self, source: str) -> None:
        self.material: Material | None = None
        self.problem = ""
        self._source = source
        self._reported_at = -math.inf

    def take(self, version: Material | BadCertificate) -> Material | None:
        """The version of the material if it is usable and new."""
        if isinstance(version, BadCertificate):
            self.complain(str(version))
            return None
        if self.problem:
            _log.info("certificate is usable again", where=self._source)
            self.problem = ""
        if version == self.material:
            return None
        self._report(version)
        self.material = version
        return version

    def complain(self, problem: str) -> None:
        """Report a problem once; while there is no material, again every `REMINDER`."""
        now = asyncio.get_running_loop().time()
        if problem == self.problem and (self.material or now - self._reported_at < REMINDER):
            return
        self.problem, self._reported_at = problem, now
        keeps = "the last good certificate stays" if self.material else "there is no certificate yet, trying on"
        _log.error(f"certificate cannot be used: {keeps}", where=self._source, reason=problem)

    def _report(self, new: Material) -> None:
        serial, names = f"{new.serial:x}", ",".join(new.names)
        if self.material and self.material.serial == new.serial:
            _log.info("trusted certificates changed", where=self._source, serial=serial)
            return
        _log.info("certificate", where=self._source, serial=serial, names=names, expires=round(new.expires))
        for doubt in doubts(new, time.time()):
            _log.warn("API servers will refuse the certificate", where=self._source, serial=serial, reason=doubt)


async def from_files(latest: LatestMaterial, cert: Path, key: Path, ca: Path) -> AsyncGenerator[Material, None]:
    """The material in these files, and each that replaces it; never ends. Problems are reported to `latest`."""
    before = judged = None
    while True:
        now = [_read_file(path) for path in (cert, key, ca)]
        if latest.material is None or now == before != judged:
            judged = now
            if material := latest.take(_material_of_files(now)):
                yield material
        before = now
        await asyncio.sleep(INTERVAL)


async def from_secret(
    latest: LatestMaterial, watches: Opener, namespace: str, name: str
) -> AsyncGenerator[Material, None]:
    """The material in this Secret, and each that replaces it; never ends. If the Secret is deleted, its last material
    stays. Problems are reported to `latest`."""
    async with WatchedSecret(watches, namespace, name) as secret:
        while True:
            if secret.lost:
                latest.complain(secret.lost)
            elif secret.is_known and (material := latest.take(_material_of_secret(secret.state))):
                yield material
            await secret.wait(None if latest.material else REMINDER)


@dataclass(frozen=True, slots=True)
class SecretState:
    """The state of a Secret; `obj` is None if it does not exist. `where` is its name for messages."""

    where: str
    obj: JSON = None

    def part(self, key: str) -> Part:
        """The text under a key of the Secret; empty if there is no such key. The API server checks the base64."""
        encoded = (self.obj.get("data") or {}).get(key) or ""
        return Part(base64.b64decode(encoded), f"{key} of {self.where}")


class WatchedSecret:
    """One Secret, kept up to date by a watch: an asynchronous context manager.

    `state` is valid once it `is_known`. `lost` is why the watch needs a person's help, or why it has not begun yet.
    """

    def __init__(self, watches: Opener, namespace: str, name: str) -> None:
        self.state = SecretState(f"Secret {namespace}/{name}")
        self.is_known = False
        self.lost = ""
        self._states = follow_object(watches, Selection("v1", "Secret", namespace, fields=f"metadata.name={name}"))
        self._next: asyncio.Future[ObjectState | WatchLost | WatchRestored] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._next:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self._states.aclose()

    async def wait(self, seconds: float | None) -> None:
        """Return when the watch has reported something, or after so many seconds."""
        # Not `wait_for`: cancelling a generator in the middle of a step ends it.
        self._next = self._next or asyncio.ensure_future(anext(self._states))
        done, _ = await asyncio.wait({self._next}, timeout=seconds)
        if done:
            state, self._next = self._next.result(), None
            self._take_in(state)

    def _take_in(self, state: ObjectState | WatchLost | WatchRestored) -> None:
        match state:
            case ObjectState(obj, is_synced):
                self.state = replace(self.state, obj=obj)
                if is_synced:
                    self.is_known, self.lost = True, ""
            case WatchRestored():
                self.lost = ""
            case WatchLost(brief=False):
                self.lost = f"{state.reason}: a Role in its namespace must allow to get, list and watch it"
            case WatchLost() if not self.is_known:
                self.lost = state.reason


def _read_file(path: Path) -> Part | str:
    """The content of a file, or why it has none."""
    try:
        with safe_files.open_regular(path) as file:
            return Part(file.read(_LARGEST), str(path))
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"


def _material_of_files(parts: Sequence[Part | str]) -> Material | BadCertificate:
    problems = [part for part in parts if isinstance(part, str)]
    if problems:
        return BadCertificate(f"{'; '.join(problems)}: mount the certificate there, or choose another --webhook-certs")
    try:
        return checked(*(part for part in parts if isinstance(part, Part)))
    except BadCertificate as error:
        return error


def _material_of_secret(secret: SecretState) -> Material | BadCertificate:
    if secret.obj is None:
        return BadCertificate(f"{secret.where} does not exist: create it, or look why cert-manager does not")
    try:
        chain, trust = secret.part(CERTIFICATE), secret.part(CA)
        return checked(chain, secret.part(KEY), trust if trust.pem.strip() else last_of(chain))
    except BadCertificate as error:
        return error

"""Follows a certificate in a Secret, as cert-manager keeps it: `tls.crt`, `tls.key`, `ca.crt`.

`ca.crt` may be missing or empty, as with a public CA; the last certificate of the chain is trusted then.
Source: https://cert-manager.io/docs/usage/certificate/#target-secret
"""

import asyncio
import base64
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from hookrunner.certificates.latest import REMINDER, Latest
from hookrunner.certificates.material import Material, Part, checked, last_of
from hookrunner.errors import BadCertificate
from hookrunner.kube.watch import Watches
from hookrunner.model.bindings import Change
from hookrunner.model.resources import JSON, Selection
from hookrunner.model.watching import ObjectSeen, RelistStarted, Report, Synced, WatchLost, WatchRestored

CERTIFICATE, KEY, CA = "tls.crt", "tls.key", "ca.crt"


async def from_secret(latest: Latest, watches: Watches, namespace: str, name: str) -> AsyncGenerator[Material, None]:
    """The material in this Secret, and whatever replaces it, for ever. A Secret that goes away takes nothing away.
    `latest` is told what is wrong."""
    async with Followed(watches, namespace, name) as secret:
        while True:
            if secret.lost:
                latest.complain(secret.lost)
            elif secret.known and (material := latest.take(_material(secret.contents))):
                yield material
            await secret.news(None if latest.material else REMINDER)


@dataclass(frozen=True, slots=True)
class Contents:
    """A Secret as it is, `obj` is None if there is none. `where` is its name for messages."""

    where: str
    obj: JSON = None

    def part(self, key: str) -> Part:
        """The text under a key of the Secret; empty if there is no such key. The API server sees to the base64."""
        encoded = (self.obj.get("data") or {}).get(key) or ""
        return Part(base64.b64decode(encoded), f"{key} of {self.where}")


class Followed:
    """One Secret, kept up to date by a watch: an asynchronous context manager.

    `contents` are valid once it is `known`. `lost` is why nothing more can be heard of it until somebody acts, or why
    nothing was heard so far.
    """

    def __init__(self, watches: Watches, namespace: str, name: str) -> None:
        self.contents = Contents(f"Secret {namespace}/{name}")
        self.known = False
        self.lost = ""
        self._story = watches.open(Selection("v1", "Secret", namespace, fields=f"metadata.name={name}"))
        self._missing = True
        self._coming: asyncio.Future[list[Report]] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._coming:
            self._coming.cancel()
            await asyncio.gather(self._coming, return_exceptions=True)
        await self._story.aclose()

    async def news(self, patience: float | None) -> None:
        """Return when something was heard, or after so many seconds."""
        # Not `wait_for`: cancelling a generator in the middle of a step ends it.
        self._coming = self._coming or asyncio.ensure_future(anext(self._story))
        done, _ = await asyncio.wait({self._coming}, timeout=patience)
        if done:
            reports, self._coming = self._coming.result(), None
            for report in reports:
                self._hear(report)

    def _hear(self, report: Report) -> None:
        match report:
            case RelistStarted():
                self._missing = True
            case ObjectSeen(change=Change.DELETED):
                self.contents = replace(self.contents, obj=None)
            case ObjectSeen():
                self.contents, self._missing = replace(self.contents, obj=report.obj), False
            case Synced():
                self.contents = replace(self.contents, obj=None) if self._missing else self.contents
                self.known, self.lost = True, ""
            case WatchRestored():
                self.lost = ""
            case WatchLost(brief=False):
                self.lost = f"{report.reason}: a Role in its namespace must allow to get, list and watch it"
            case WatchLost() if not self.known:
                self.lost = report.reason


def _material(secret: Contents) -> Material | BadCertificate:
    if secret.obj is None:
        return BadCertificate(f"{secret.where} does not exist: create it, or look why cert-manager does not")
    try:
        chain, trust = secret.part(CERTIFICATE), secret.part(CA)
        return checked(chain, secret.part(KEY), trust if trust.pem.strip() else last_of(chain))
    except BadCertificate as error:
        return error

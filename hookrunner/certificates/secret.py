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
from hookrunner.kube.informer import ObjectState, Opener, follow_object
from hookrunner.model.resources import JSON, Selection
from hookrunner.model.watching import WatchLost, WatchRestored

CERTIFICATE, KEY, CA = "tls.crt", "tls.key", "ca.crt"


async def from_secret(latest: Latest, watches: Opener, namespace: str, name: str) -> AsyncGenerator[Material, None]:
    """The material in this Secret, and each that replaces it; never ends. If the Secret is deleted, its last material
    stays. Problems are reported to `latest`."""
    async with WatchedSecret(watches, namespace, name) as secret:
        while True:
            if secret.lost:
                latest.complain(secret.lost)
            elif secret.is_known and (material := latest.take(_material(secret.state))):
                yield material
            await secret.wait(None if latest.material else REMINDER)


@dataclass(frozen=True, slots=True)
class SecretState:
    """A Secret as it is; `obj` is None if it does not exist. `where` is its name for messages."""

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


def _material(secret: SecretState) -> Material | BadCertificate:
    if secret.obj is None:
        return BadCertificate(f"{secret.where} does not exist: create it, or look why cert-manager does not")
    try:
        chain, trust = secret.part(CERTIFICATE), secret.part(CA)
        return checked(chain, secret.part(KEY), trust if trust.pem.strip() else last_of(chain))
    except BadCertificate as error:
        return error

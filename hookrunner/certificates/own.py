"""Keeps a certificate of our own in a Secret: created if it is missing, renewed at two thirds of its life.

    async with aclosing(own(client, watches, "default", "hookrunner-webhook-certs", names)) as materials: ...

Any number of replicas do this at once, without a leader: every write is conditional on the Secret that its writer saw,
so one succeeds, and the others (409) see the result in their watches. The content of the Secret counts, whichever
client wrote it; it is also replaced if it cannot be used or lacks a name, and a deleted Secret is created again with a
new CA.

Layout: `tls.crt`, `tls.key` and `ca.crt` as everywhere, and `previous-ca.crt`, the CAs before this one. Replicas may
show certificates of those for a while, so they are trusted until an hour after the current certificate was issued.
"""

import asyncio
import base64
import math
import random
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from hookrunner import log
from hookrunner.certificates.issuing import issue, made, renewal
from hookrunner.certificates.material import OVERLAP, Material, checked, doubts, lacking, lingering, overlap
from hookrunner.certificates.provided import CA, CERTIFICATE, KEY, REMINDER, LatestMaterial, SecretState, WatchedSecret
from hookrunner.errors import AlreadyExists, ApiError, BadCertificate, Conflict, Denied, KubeError
from hookrunner.kube import writes
from hookrunner.kube.back_off import jitter
from hookrunner.kube.client import Client
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import FIELD_MANAGER, ObjectRef, WriteOptions
from hookrunner.model.resources import Resource
from hookrunner.waits import Pauses
from kubetypes.light_dataclasses import dataclass

PREVIOUS = "previous-ca.crt"

LATENESS = 0.002
"""The share of a life, here up to 18 hours, by which a renewal may be late. Each replica draws its own, so that one
does it for all of them."""

_PAUSES, _QUIET = Pauses(1.0, 30.0), 600.0
"""Seconds between attempts to write, also after successful ones, since another client may keep undoing them; reset
after a quiet time."""

_BRIEF_PAUSE = 2.0
"""Seconds at most after an attempt that did not reach the server, or that a busy server refused."""

_ANSWER = 10.0
"""Seconds within which a watch should show what was written."""

_SHORTEST_SLEEP, _LONGEST_SLEEP = 0.01, 3600.0
"""Seconds until the wall clock is read again. The loop's clock stops while a machine is suspended, and a timer of it
may end slightly too early by the wall clock."""

_CERT_MANAGER = "cert-manager.io/certificate-name"
_LABELS = {"app.kubernetes.io/managed-by": "hookrunner"}
_OPTIONS = WriteOptions(FIELD_MANAGER)
_SECRETS = Resource("v1", "Secret", "secrets", True)

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class SecretJudgement:
    """The judgement of a Secret: its usable material or none, the CAs in it, why it must be replaced (empty: it stays),
    and when to judge it again even without a change (epoch seconds)."""

    material: Material | None
    trust: bytes
    wrong: str
    until: float = math.inf


def judge(secret: SecretState, names: Sequence[str], now: float, late: float = 0.0) -> SecretJudgement:
    """Judge the Secret at this time (epoch seconds). `late` is the share of a life by which a renewal is delayed."""
    if secret.obj is None:
        return SecretJudgement(None, b"", "it is missing")
    try:
        current = checked(secret.part(CERTIFICATE), secret.part(KEY), secret.part(CA))
    except BadCertificate as error:
        return SecretJudgement(None, secret.part(CA).pem, str(error))
    previous = lingering(secret.part(PREVIOUS).pem, made(current), now)
    material = replace(current, trust=overlap(previous, current.trust, now))
    due = renewal(current) + late * (current.expires - current.begins)
    wrong = _defect(current, names, now) or ("two thirds of its life are over" if now >= due else "")
    changes = [at for at in (made(current) + OVERLAP, due) if at > now]
    return SecretJudgement(material, material.trust, wrong, min(changes, default=math.inf))


def _defect(material: Material, names: Sequence[str], now: float) -> str:
    """Why API servers would not accept it, whatever its age."""
    missing = lacking(material, names)
    return f"it is not for {', '.join(missing)}" if missing else "; ".join(doubts(material, now))


@dataclass(frozen=True, slots=True)
class DesiredCertificate:
    """A Secret, and the host names and IP addresses that its certificate must cover."""

    namespace: str
    name: str
    names: Sequence[str]


def own(
    latest: LatestMaterial, client: Client, watches: Watches, wanted: DesiredCertificate
) -> AsyncGenerator[Material, None]:
    """The material in this Secret, and each that replaces it; never ends. Failures are reported to `latest` and tried
    again."""
    return _Own(latest, client, watches, wanted).materials()


class _Own:
    def __init__(self, latest: LatestMaterial, client: Client, watches: Watches, wanted: DesiredCertificate) -> None:
        self._latest = latest
        self._client = client
        self._namespace = wanted.namespace
        self._name = wanted.name
        self._names = wanted.names
        self._secret = WatchedSecret(watches, wanted.namespace, wanted.name)
        self._late = random.uniform(0, LATENESS)
        self._problem = ""
        self._attempts = 0
        self._next_attempt = -math.inf

    async def materials(self) -> AsyncGenerator[Material, None]:
        async with self._secret as secret:
            while True:
                if secret.lost or not secret.is_known:
                    await self._wait_for_first()
                    continue
                state = judge(secret.state, self._names, time.time(), self._late)
                if state.wrong and await self._replace(state):
                    await secret.wait(_ANSWER)
                    continue
                if new := self._new(state):
                    yield new
                if state.wrong and self._problem:
                    self._latest.complain(self._problem)
                await secret.wait(self._patience(state))

    async def _wait_for_first(self) -> None:
        if self._secret.lost:
            self._latest.complain(self._secret.lost)
        await self._secret.wait(REMINDER)

    def _new(self, state: SecretJudgement) -> Material | None:
        """The present material is used even if it must be replaced."""
        if state.material is None or (state.wrong and state.material == self._latest.material):
            return None
        return self._latest.take(state.material)

    def _patience(self, state: SecretJudgement) -> float:
        if state.wrong:
            return max(_SHORTEST_SLEEP, self._next_attempt - _now())
        return max(_SHORTEST_SLEEP, min(state.until - time.time(), _LONGEST_SLEEP))

    async def _replace(self, state: SecretJudgement) -> bool:
        """Replace the Secret; was it written, by us or by a faster client? Then the watch will show it. False if it is
        not time for an attempt, or if it failed; `_problem` says why."""
        if _now() < self._next_attempt:
            return False
        self._pause()
        self._problem = _describe_other_owner(self._secret.state, state)
        if not self._problem:
            self._problem = await self._write(state)
        return not self._problem

    async def _write(self, state: SecretJudgement) -> str:
        """Issue a certificate and write it; why that failed, or ""."""
        known = self._latest.material.trust if self._latest.material else b""
        previous = overlap(state.trust, known, time.time())
        verb = "update" if self._secret.state.obj else "create"
        try:
            await self._send(_data(issue(self._wanted(state), time.time()), previous))
        except (AlreadyExists, Conflict):
            return ""
        except KubeError as error:
            if error.brief:
                self._next_attempt = min(self._next_attempt, _now() + _BRIEF_PAUSE)
            return _advice(verb, self._secret.state.where, error)
        _log.info("certificate issued", secret=self._secret.state.where, reason=state.wrong)
        return ""

    def _wanted(self, state: SecretJudgement) -> list[str]:
        """Two releases may want different names during an update: neither may remove a name that the other needs, or
        they would replace the certificate in turns. The next renewal drops names that are no longer wanted."""
        kept = state.material.names if state.material and lacking(state.material, self._names) else ()
        return list(dict.fromkeys([*self._names, *kept]))

    async def _send(self, data: dict[str, str]) -> None:
        """Create or replace the Secret. Both fail if it is not as we saw it: the update has its resourceVersion."""
        existing = self._secret.state.obj
        if existing is None:
            metadata = {"name": self._name, "namespace": self._namespace, "labels": _LABELS}
            body = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata}
            await writes.create(self._client, ObjectRef(_SECRETS, self._namespace), body | {"data": data}, _OPTIONS)
            return
        body = existing | {"data": (existing.get("data") or {}) | data}
        await writes.replace(self._client, ObjectRef(_SECRETS, self._namespace, self._name), body, _OPTIONS)

    def _pause(self) -> None:
        now = _now()
        self._attempts = 1 if now - self._next_attempt > _QUIET else self._attempts + 1
        self._next_attempt = now + jitter(_PAUSES.after(self._attempts))


def _data(material: Material, previous: bytes) -> dict[str, str]:
    texts = {CERTIFICATE: material.certificate, KEY: material.key, CA: material.trust, PREVIOUS: previous}
    return {key: base64.b64encode(text).decode() for key, text in texts.items()}


def _describe_other_owner(secret: SecretState, state: SecretJudgement) -> str:
    """Why we must not replace it: two programs that replace a certificate in turns would never end."""
    annotations = (secret.obj or {"metadata": {}})["metadata"].get("annotations") or {}
    if _CERT_MANAGER not in annotations:
        return ""
    name = secret.obj["metadata"]["name"]
    return f"{secret.where}: {state.wrong}, but it is cert-manager's to renew: start with --webhook-certs secret:{name}"


def _advice(verb: str, where: str, error: KubeError) -> str:
    problem = f"cannot {verb} {where}: {error}"
    if isinstance(error, Denied):
        return f"{problem}: a Role in its namespace must allow to get, list, watch, create and update secrets"
    if isinstance(error, ApiError) and error.status == 422:
        return f"{problem}: delete it, and it will be created again"
    return problem


def _now() -> float:
    return asyncio.get_running_loop().time()

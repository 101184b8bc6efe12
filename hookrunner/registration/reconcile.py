"""One step of an object in the cluster towards its desired state, if this process may write it.

`next_step` decides, and `take_step` reads, decides and writes. `create`, `list` and `update` are enough for webhook
configurations, `list` and `update` for definitions: these are the rights that users of shell-operator have given. It
lists the one object by its name, and so do we; a role with `get` instead is served by a GET. A list by `metadata.name`
is allowed by a rule with `resourceNames`, too
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources).

Several processes may look after one object, without a lock between them; a `Claim` says which of them may write it.
Annotations of the object have the digest of the desired content and the start of the process that wrote it. Replicas
desire the same, so any of them may repair. A process that desires something else must be younger: so a pod of the last
release, which is about to end, cannot undo what the new one has registered.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Literal, TypeAlias

from hookrunner.errors import AlreadyExists, Conflict, Denied, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.lacked_rights import alternatives, tolerated_refusals
from hookrunner.kube.writes import FIELD_MANAGER, DeleteOptions, ListOptions, ObjectRef, WriteOptions
from hookrunner.model.resources import Resource
from hookrunner.model.timestamps import micro_time
from hookrunner.registration.webhook_objects import (
    CONFIGURATIONS,
    DEFINITION,
    Registration,
    TrustedCertificates,
    without,
)
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

GENERATION = "hookrunner.io/generation"
WANTED = "hookrunner.io/wanted"
CHALLENGE = "hookrunner.io/challenge"
"""The question of an older process whether another still desires this content (`registered_object.py`). A process that
does removes it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What this process may overwrite: what older processes have written, and what it has desired itself before.
    `generation` is its start as text that sorts by time, and ends with Z."""

    generation: str
    by_hand: bool = False
    """A person gave the command, so other processes do not count."""

    def admits(self, existing: JSON, digest: str) -> bool:
        """May we replace the existing object with ours, which has this digest?"""
        annotations = existing["metadata"].get("annotations") or {}
        theirs, wanted = annotations.get(GENERATION, ""), annotations.get(WANTED, digest)
        return self.by_hand or wanted == digest or theirs <= self.generation


def claim(started: float) -> Claim:
    """The claim of a process that was started at this time, in seconds since 1970."""
    return Claim(micro_time(started))


def claimed(metadata: JSON, digest: str, generation: str) -> JSON:
    """The metadata with our claim. If the digest is the same, the first generation stays."""
    answered = without(metadata, "annotations", CHALLENGE)
    annotations = answered.get("annotations") or {}
    if annotations.get(WANTED) == digest and GENERATION in annotations:
        return answered
    return answered | {"annotations": annotations | {GENERATION: generation, WANTED: digest}}


def unclaimed(metadata: JSON) -> JSON:
    """The metadata without any claim."""
    return without(metadata, "annotations", GENERATION, WANTED, CHALLENGE)


_TIMEOUT = 10.0
_RIGHTS = {DEFINITION: ["list", "update"], **{kind: ["create", "list", "update"] for kind in CONFIGURATIONS}}
"""The least that each kind needs, where that is less than everything."""
_VERBS = {"POST": "create", "PUT": "update", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class InSync:
    """The object is as desired. `exists` is False if none is desired, or if its CRD does not exist yet."""

    exists: bool


@dataclass(frozen=True, slots=True)
class WriteStep:
    """A request that brings the object in sync, or fails with 409 if another client was faster.

    `body` is the object to write; for a deletion, the object as it was read.
    """

    method: Literal["POST", "PUT", "DELETE"]
    body: JSON


@dataclass(frozen=True, slots=True)
class Yielded:
    """The object differs from our desired state, but a younger process, started at `generation`, desires it."""

    generation: str


@dataclass(frozen=True, slots=True)
class LostRace:
    """Another client wrote the object first: read it again."""


Step: TypeAlias = InSync | WriteStep | Yielded


def next_step(registration: Registration, existing: JSON | None, trust: TrustedCertificates, claim: Claim) -> Step:
    """The next step for an object in this state."""
    wanted = registration.merged(existing, trust)
    if existing is None:
        return InSync(False) if wanted is None else WriteStep("POST", _stamped(registration, wanted, claim))
    if not claim.admits(existing, registration.digest):
        return InSync(True) if wanted == existing else Yielded(existing["metadata"]["annotations"][GENERATION])
    if wanted is None:
        return WriteStep("DELETE", existing)
    stamped = _stamped(registration, wanted, claim) if wanted != existing or registration.digest else existing
    return InSync(True) if stamped == existing else WriteStep("PUT", stamped)


async def take_step(
    client: Client, registration: Registration, trust: TrustedCertificates, claim: Claim
) -> tuple[Step | LostRace, JSON]:
    """Read the object and take the next step; the step, and the object before it (None if it did not exist).

    Call it again after a write. Raises KubeError; a `Denied` says which rights are needed.
    """
    existing = await read_registration(client, registration)
    taken = next_step(registration, existing, trust, claim)
    if isinstance(taken, WriteStep):
        try:
            taken = await _write(client, registration, taken, existing)
        except (Conflict, AlreadyExists, NotFound):
            return LostRace(), existing
    return taken, existing


async def read_registration(client: Client, registration: Registration) -> JSON:
    """The object of a registration, None if it does not exist. Raises KubeError; a `Denied` says which rights are
    needed. One that no hook declares is read only to remove it: without the right to, we have not registered it."""
    try:
        with _tolerant(not registration.digest):
            return await read_live(client, registration.resource, registration.name)
    except Denied as error:
        raise _explained(registration, "list", error) from error


async def read_live(client: Client, resource: Resource, name: str) -> JSON:
    """The object, None if it does not exist. Raises KubeError; `Denied` if neither `list` nor `get` is allowed."""
    with alternatives():
        try:
            listed = await writes.read_list(client, ObjectRef(resource), ListOptions(fields=f"metadata.name={name}"))
        except Denied as error:
            if not refusals.is_forbidden(error):
                raise
            return await _get(client, resource, name, error)
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    return next((head | item for item in listed["items"]), None)


def _stamped(registration: Registration, wanted: JSON, claim: Claim) -> JSON:
    metadata = wanted["metadata"]
    if not registration.digest:
        return wanted | {"metadata": unclaimed(metadata)}
    return wanted | {"metadata": claimed(metadata, registration.digest, claim.generation)}


async def _write(client: Client, registration: Registration, write: WriteStep, existing: JSON) -> Step:
    """Carry out a step; the step that was taken instead if a right is missing."""
    try:
        with _tolerant(write.method == "DELETE"):
            await _send(client, registration, write)
    except Denied as error:
        if write.method == "DELETE" and registration.resource in CONFIGURATIONS and refusals.is_forbidden(error):
            return await _empty(client, registration, existing)
        raise _explained(registration, _VERBS[write.method], error) from error
    return write


def _tolerant(does_without: bool) -> AbstractContextManager[None]:
    return tolerated_refusals() if does_without else nullcontext()


async def _empty(client: Client, registration: Registration, existing: JSON) -> Step:
    """Without a right to delete it, the configuration stays, without any webhook."""
    if not existing.get("webhooks"):
        return InSync(False)
    emptied = WriteStep("PUT", existing | {"metadata": unclaimed(existing["metadata"]), "webhooks": []})
    return await _write(client, registration, emptied, existing)


async def _send(client: Client, registration: Registration, write: WriteStep) -> None:
    ref = ObjectRef(registration.resource, name=registration.name)
    options = WriteOptions(FIELD_MANAGER, timeout=_TIMEOUT)
    match write.method:
        case "POST":
            await writes.create(client, replace(ref, name=""), write.body, options)
        case "PUT":
            await writes.replace(client, ref, write.body, options)
        case "DELETE":
            metadata = write.body["metadata"]
            this_one = DeleteOptions(uid=metadata["uid"], version=metadata["resourceVersion"], timeout=_TIMEOUT)
            await writes.delete(client, ref, this_one)


def _explained(registration: Registration, verb: str, error: Denied) -> Denied:
    resource = registration.resource
    verbs = _RIGHTS.get(resource, ["create", "delete", "list", "update", "watch"])
    return refusals.explain_rights(
        error, f"{verb} {resource.kind} '{registration.name}'", refusals.rbac_rule(resource, verbs)
    )


async def _get(client: Client, resource: Resource, name: str, refused: Denied) -> JSON:
    try:
        return await writes.read(client, ObjectRef(resource, name=name))
    except NotFound:
        return None
    except Denied:
        raise refused from None  # the documentation asks users to allow `list`

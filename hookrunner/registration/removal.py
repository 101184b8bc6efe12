"""Finds registrations that an installation has left behind, and removes them at a start without webhooks.

A program that stops answering reviews must not leave webhooks that lead to it: with the failure policy `Fail` that
blocks all clients.
"""

from collections.abc import AsyncIterator
from typing import TypeAlias

from hookrunner import log
from hookrunner.errors import Denied, KubeError
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.kube.writes import ListOptions, ObjectRef
from hookrunner.registration.desired import DesiredRegistrations
from hookrunner.registration.reconcile import Claim, read_live
from hookrunner.registration.registered_object import RegisteredObject
from hookrunner.registration.webhook_objects import (
    CONVERSION,
    DEFINITION,
    US,
    CrdConversion,
    Registration,
    WebhookObject,
    registrations,
)
from hookrunner.waits import Pauses

_WebhookObjects: TypeAlias = AsyncIterator[WebhookObject]

LABELLED = f"{CONVERSION}={US}"
"""Selects the CRDs whose conversion any hookrunner has set."""

_PAUSES = Pauses(1.0, 60.0)

_log = log.get(__name__)


async def find_possible_leftovers(client: Client, desired: DesiredRegistrations) -> _WebhookObjects:
    """Yield where an installation may have registered something that is not in `desired`, which is usually empty.
    Raises KubeError."""
    for registration in registrations(desired):
        yield registration
    with tolerated_refusals():
        listed = await writes.read_list(client, ObjectRef(DEFINITION), ListOptions(labels=LABELLED))
    for obj in listed["items"]:
        if obj["metadata"]["name"] not in desired.conversions and not desired.incomplete:
            yield CrdConversion(obj["metadata"]["name"], desired.conversion, None)


async def has_leftovers(client: Client, desired: DesiredRegistrations) -> bool:
    """Is anything registered for this installation that is not desired? Without the right to read we have registered
    nothing. Raises KubeError."""
    try:
        async for registration in find_possible_leftovers(client, desired):
            if await _has_leftover(client, registration):
                return True
    except Denied:
        return False
    return False


async def _has_leftover(client: Client, registration: Registration) -> bool:
    """Is something undesired in this object? There may be a right to read one of the objects and not the next."""
    try:
        with tolerated_refusals():
            existing = await read_live(client, registration.resource, registration.name)
    except Denied:
        return False
    return existing is not None and registration.is_undeclared(existing)


async def withdraw(client: Client, desired: DesiredRegistrations, claim: Claim) -> None:
    """Remove all leftovers, as soon as that is possible. Without the right to read we have never registered
    anything."""
    for pause in _PAUSES:
        try:
            async for registration in find_possible_leftovers(client, desired):
                if await _has_leftover(client, registration):  # otherwise a missing right would be reported
                    await RegisteredObject(client, registration, claim).reconcile()
        except KubeError as error:
            _log.debug("what was registered earlier cannot be looked for", error=error)
            if not error.brief:
                return
        else:
            return
        await client.outage.sleep(pause)

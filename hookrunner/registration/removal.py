"""Finds what an installation has registered and wants no more, and takes it away at a start without webhooks.

Whoever stops asking hooks must not leave the API server asking: with the failure policy `Fail` that blocks everybody.
"""

from collections.abc import AsyncIterator
from typing import TypeAlias

from hookrunner import log
from hookrunner.errors import Denied, KubeError
from hookrunner.kube.client import Client
from hookrunner.pacing import exponential
from hookrunner.registration.claims import Claim
from hookrunner.registration.desired import DesiredRegistrations
from hookrunner.registration.reconcile import read_live
from hookrunner.registration.registered_object import RegisteredObject
from hookrunner.registration.webhook_objects import CONVERSION, DEFINITION, US, Definition, Registration, registrations

Found: TypeAlias = AsyncIterator[Registration]

LABELLED = f"{CONVERSION}={US}"
"""Selects the CRDs whose conversion any hookrunner has set."""

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0

_log = log.get("registration")


async def find_unwanted(client: Client, wish: DesiredRegistrations) -> Found:
    """Where something may be of an installation that is not in its `wish`, which is usually empty. Raises KubeError."""
    for one in registrations(wish):
        yield one
    listed = await client.get(DEFINITION.path(), {"labelSelector": LABELLED})
    for obj in listed["items"]:
        if obj["metadata"]["name"] not in wish.conversions and not wish.incomplete:
            yield Definition(obj["metadata"]["name"], wish.conversion, None)


async def has_leftovers(client: Client, wish: DesiredRegistrations) -> bool:
    """Is anything registered for this installation that is not in its wish? Who may not look has registered nothing.
    Raises KubeError."""
    try:
        async for one in find_unwanted(client, wish):
            if await _stands(client, one):
                return True
    except Denied:
        return False
    return False


async def _stands(client: Client, one: Registration) -> bool:
    """Rights may be given for one of the objects and not for the next."""
    try:
        existing = await read_live(client, one.resource, one.name)
    except Denied:
        return False
    return existing is not None and one.unasked(existing)


async def withdraw(client: Client, wish: DesiredRegistrations, claim: Claim) -> None:
    """Take all of it away, as soon as that can be done. Who lacks the right to look has never registered anything."""
    failures = 0
    while True:
        try:
            async for one in find_unwanted(client, wish):
                if await _stands(client, one):  # else it would tell of what it cannot read
                    await RegisteredObject(client, one, claim).settle()
        except KubeError as error:
            _log.debug("what was registered earlier cannot be looked for", error=error)
            if not error.brief:
                return
        else:
            return
        await client.outage.sleep(exponential(_FIRST_PAUSE, _LONGEST_PAUSE, failures))
        failures += 1

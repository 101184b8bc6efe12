"""Hookrunner is killed at each write for an instance, and the next process brings it to its state: in an installation,
an upgrade, a rollback, a deletion, and a deletion that leaves the objects.

One process serves many places, and each is cut off after another write. For the API server that is as if the process
had been killed there; what it still knows is gone with it when it ends. The process that finishes one act is the one
that is cut off in the next.
"""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kubetypes.json_values import JSON
from tests.instances.lives.places import NEW, OLD, Places, Wire
from tests.instances.lives.site import LiveSite

PLACES = [f"n{writes}" for writes in range(20)]
"""Each is cut off after so many writes."""


async def create(places: Places) -> None:
    await places.create(PLACES, rollbackOnFailure=True)


async def upgrade(places: Places) -> None:
    await places.change(PLACES, {"version": "2.0.0"})


async def spoil(places: Places) -> None:
    """A version that never becomes healthy."""
    await places.change(PLACES, {"version": "3.0.0", "timeout": "1s"})


async def delete(places: Places) -> None:
    await places.delete(PLACES)


async def leave(places: Places) -> None:
    await places.change(PLACES, {"deletionPolicy": "Orphan"})
    await places.delete(PLACES)


@dataclass(frozen=True, slots=True)
class Act:
    """What users do in each place, and the `state` that it leads to: phase and version, None if the instance is gone;
    `maps` are the ConfigMaps that are there then."""

    do: Callable[[Places], Awaitable[None]]
    state: tuple[str, str] | None
    maps: JSON = field(default_factory=dict)


CREATE = Act(create, ("Current", "1.0.0"), OLD)
ACTS = [
    [CREATE, Act(upgrade, ("Current", "2.0.0"), NEW), Act(spoil, ("RolledBack", "2.0.0"), NEW), Act(delete, None)],
    [CREATE, Act(leave, None, OLD)],
]


@pytest.mark.slow
@pytest.mark.parametrize("acts", ACTS, ids=["deleted", "left"])
async def test_instance_killed_at_any_write_reaches_its_state(site: LiveSite, acts: Sequence[Act]) -> None:
    async with site.started() as process:
        await begin(site, process.wire, acts[0])
    for act, following in itertools.pairwise(acts):
        async with site.started() as process:
            await finish(site, act)
            await begin(site, process.wire, following)
    async with site.started() as process:
        await finish(site, acts[-1])
        await site.until(process.series, [])


async def begin(site: LiveSite, wire: Wire, act: Act) -> None:
    """Cut off each place in the middle of an act."""
    wire.cut_off({place: writes for writes, place in enumerate(PLACES)})
    await act.do(site.places)
    await site.until(lambda: unfinished(site, wire.left, act), [])
    assert wire.left[PLACES[-1]] > 0, "there are more writes than are tried"


async def finish(site: LiveSite, act: Act) -> None:
    """Wait until an act has come to its end in each place: all objects and records are there, and no others."""
    await site.until(lambda: states(site), dict.fromkeys(PLACES, act.state) if act.state else {})
    found = await site.places.maps()
    assert {place: found.get(place, {}) for place in PLACES} == dict.fromkeys(PLACES, act.maps)
    records = {record.split(".")[1] for record in await site.places.records()}
    assert records == (set(PLACES) if act.state else set())


async def states(site: LiveSite) -> dict[str, Any]:
    """Phase and version of each instance."""
    statuses = await site.places.statuses()
    return {place: (status.get("phase"), status.get("version")) for place, status in statuses.items()}


async def unfinished(site: LiveSite, left: dict[str, int], act: Act) -> list[str]:
    """Places that are not cut off yet, and have not reached their state."""
    present = await states(site)
    return [place for place, writes in left.items() if writes and present.get(place) != act.state]

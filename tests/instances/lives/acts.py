"""What users do with an instance in each of many places, and what becomes of it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kubetypes.json_values import JSON
from tests.instances.lives.places import NEW, OLD, Places
from tests.instances.lives.site import LiveSite


async def leave(places: Places, names: Sequence[str]) -> None:
    await places.change(names, {"deletionPolicy": "Orphan"})
    await places.delete(names)


@dataclass(frozen=True, slots=True)
class Act:
    """What users do in each place, and the `state` that it leads to: phase and version, None if the instance is gone;
    `maps` are the ConfigMaps that are there then; `told` is the reason of an Event that there is in each place."""

    do: Callable[[Places, Sequence[str]], Awaitable[None]]
    state: tuple[str, str] | None
    maps: JSON = field(default_factory=dict)
    told: str = ""


_create = partial(Places.create, rollbackOnFailure=True)
CREATE = Act(_create, ("Current", "1.0.0"), OLD)
CREATE_CONFINED = Act(partial(_create, serviceAccountName="deployer"), ("Current", "1.0.0"), OLD)
UPGRADE = Act(partial(Places.change, spec={"version": "2.0.0"}), ("Current", "2.0.0"), NEW)
SPOIL = Act(partial(Places.change, spec={"version": "3.0.0", "timeout": "1s"}), ("RolledBack", "2.0.0"), NEW)
"""A version that never becomes healthy."""
DELETE = Act(Places.delete, None)
LEAVE = Act(leave, None, OLD, "Kept")


async def finish(site: LiveSite, act: Act, names: Sequence[str]) -> None:
    """Wait until an act has come to its end in each place: all objects and records are there, and no others."""
    await site.until(lambda: states(site), dict.fromkeys(names, act.state) if act.state else {})
    found = await site.places.maps()
    assert {place: found.get(place, {}) for place in names} == dict.fromkeys(names, act.maps)
    records = {record.split(".")[1] for record in await site.places.records()}
    assert records == (set(names) if act.state else set())
    assert not act.told or {*names} <= await site.places.told(act.told)


async def states(site: LiveSite) -> dict[str, Any]:
    """Phase and version of each instance."""
    statuses = await site.places.statuses()
    return {place: (status.get("phase"), status.get("version")) for place, status in statuses.items()}


async def unfinished(site: LiveSite, left: dict[str, int], act: Act) -> list[str]:
    """Places that are not cut off yet, and have not reached their state."""
    present = await states(site)
    return [place for place, writes in left.items() if writes and present.get(place) != act.state]

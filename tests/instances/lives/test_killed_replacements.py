"""Hookrunner is killed at each write while one instance takes the place of another one, on the way back, and when it
is called off; the next process comes to the same end.

Each place has two addons of its own with a word of its own, so that one process serves all places, and each is cut off
after another write. Both addons have the ConfigMap `shared`.

Level: sandbox.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hookrunner.kube.client import ApiCall
from hookrunner.model.addons import REPLACES
from kubetypes.json_values import JSON
from tests.instances.lives.places import GROUP, LATE, MAP, Wire
from tests.instances.lives.site import LiveSite, Started
from tests.trees import write_files

MAPS = {"old": {"shared": "old", "a": "old"}, "new": {"shared": "new", "b": "new"}}
BESIDE = {"shared": "new", "a": "old", "b": "new"}


def write_addons(directory: Path, places: Sequence[str]) -> None:
    """`old-n0` and `new-n0` with the word n0, and so on. Version 2.0.0 never becomes healthy."""
    for place in places:
        for of, maps in MAPS.items():
            name = f"{of}-{place}"
            keys = f"object: {{kind: {of.capitalize()}{place}}}\nexclusive: {place}\n"
            package = "".join(MAP.format(name=map_name, value=value) for map_name, value in maps.items())
            texts = {
                "addon.yaml": f"{keys}leavesOnNodes: {{interfaces: [{of}0]}}\n",
                "channels/stable": "manifests: [{version: 1.0.0}]\n",
                f"channels/packages/{name}/1.0.0/objects.yaml": package,
                f"channels/packages/{name}/2.0.0/objects.yaml": package + LATE,
            }
            write_files(directory / "addons" / name, texts)


@dataclass(frozen=True)
class Pairs:
    """What users do with the two instances of each of these places."""

    site: LiveSite
    places: Sequence[str]

    def path(self, of: str, place: str) -> str:
        return f"/apis/{GROUP}/namespaces/{place}/{of}{place}s/x"

    async def create(self, of: str, place: str, replaces: str = "", **spec: JSON) -> None:
        annotations = {REPLACES: replaces} if replaces else {}
        body = {
            "kind": f"{of.capitalize()}{place}",
            "metadata": {"name": "x", "annotations": annotations},
            "spec": spec,
        }
        call = ApiCall("POST", self.path(of, place).removesuffix("/x"), body={"apiVersion": GROUP, **body})
        await self.site.client.send(call)

    async def annotate(self, of: str, place: str, replaces: str | None) -> None:
        await self.site.places.patch(self.path(of, place), {"metadata": {"annotations": {REPLACES: replaces}}})

    async def state(self, place: str) -> tuple[str, ...]:
        """The reasons of `Ready` of both, "" for none; a `!` if NodesClean is not known, a `-` while what one has
        installed is being removed, which has the same reason."""
        return tuple([await self._reason(of, place) for of in MAPS])

    async def _reason(self, of: str, place: str) -> str:
        items = (await self.site.client.get(self.path(of, place).removesuffix("/x")))["items"]
        conditions = [entry for item in items for entry in (item.get("status") or {}).get("conditions") or ()]
        ready = next((entry for entry in conditions if entry["type"] == "Ready"), {"reason": "", "message": ""})
        is_leaving = "what it has installed is removed" in ready["message"]
        is_told = any(entry["type"] == "NodesClean" for entry in conditions)
        return str(ready["reason"]) + "!" * is_told + "-" * is_leaving


async def begin(pairs: Pairs, place: str) -> None:
    await pairs.site.client.send(ApiCall("POST", "/api/v1/namespaces", body={"metadata": {"name": place}}))
    await pairs.create("old", place)


async def replace(pairs: Pairs, place: str) -> None:
    await pairs.create("new", place, f"old-{place}/x")


async def turn(pairs: Pairs, place: str) -> None:
    await pairs.annotate("new", place, None)
    await pairs.annotate("old", place, f"new-{place}/x")


async def attempt(pairs: Pairs, place: str) -> None:
    await pairs.create("new", place, f"old-{place}/x", version="2.0.0")


async def call_off(pairs: Pairs, place: str) -> None:
    await pairs.annotate("new", place, None)


@dataclass(frozen=True)
class Act:
    """What users do in a place, the reasons of Ready that it leads to, the data of its ConfigMaps then, and whose
    release there is."""

    do: Any
    state: tuple[str, str]
    maps: Mapping[str, str]
    installed: Sequence[str]


BEGIN = Act(begin, ("Current", ""), MAPS["old"], ["old"])
REPLACE = Act(replace, ("Replaced", "Current!"), MAPS["new"], ["new"])
TURN = Act(turn, ("Current!", "Replaced"), MAPS["old"], ["old"])
ATTEMPT = Act(attempt, ("Current", "ObjectsNotReady"), BESIDE, ["new", "old"])
CALL_OFF = Act(call_off, ("Current", "Exclusive"), MAPS["old"], ["old"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("acts", "most"),
    [([BEGIN, REPLACE, TURN], 20), ([BEGIN, ATTEMPT, CALL_OFF], 12)],
    ids=["there-and-back", "off"],
)
async def test_replacement_killed_at_any_write_comes_to_its_end(
    site: LiveSite, tmp_path: Path, acts: Sequence[Act], most: int
) -> None:
    places = [f"n{writes}" for writes in range(most)]
    write_addons(tmp_path, places)
    pairs = Pairs(site, places)
    for act, is_killed in zip(acts, (False, True, True), strict=True):
        async with site.started() as process:
            await until_served(pairs)
            process.wire.cut_off({place: number for number, place in enumerate(places)} if is_killed else {})
            for place in places:
                await act.do(pairs, place)
            await site.until(lambda act=act: unfinished(pairs, act, alive(process.wire, places)), [])  # type: ignore[misc]
            if is_killed:
                assert process.wire.left[places[-1]] > 0, "there are more writes than are tried"
        async with site.started():
            await finish(pairs, act)
    before = await versions(pairs)
    async with site.started() as process:
        await site.until(lambda: counted_runs(process), len(MAPS) * len(places))
        await site.places.patch(pairs.path("old", places[0]), {"spec": {"suspend": True}})
        suspended = act.state[0].replace("Current", "Suspended")
        await site.until(lambda: pairs.state(places[0]), (suspended, act.state[1]))  # others were written before
        assert await versions(pairs) == before


async def versions(pairs: Pairs) -> list[str]:
    """The versions of what is installed, of records, and of instances but those of the first place."""
    plurals = [f"/apis/{GROUP}/{of}{place}s" for of in MAPS for place in pairs.places[1:]]
    paths = ["/api/v1/configmaps", "/api/v1/namespaces/default/secrets", *plurals]
    lists = await asyncio.gather(*map(pairs.site.client.get, paths))
    return [item["metadata"]["resourceVersion"] for found in lists for item in found["items"]]


async def counted_runs(process: Started) -> int:
    """The units whose state is known from a run of this process."""
    phases = [
        line for line in process.metrics.exposition().decode().splitlines() if "module_run_seconds_count{" in line
    ]
    return len({line.partition("} ")[0] for line in phases})


async def until_served(pairs: Pairs) -> None:
    """Wait until all kinds can be listed."""
    names = [f"{of}{place}s" for of in MAPS for place in pairs.places]

    async def served() -> set[str]:
        return {item["name"] for item in (await pairs.site.client.get(f"/apis/{GROUP}"))["resources"]} & {*names}

    await pairs.site.until(served, {*names})


def alive(wire: Wire, places: Sequence[str]) -> list[str]:
    """Those that are not cut off yet."""
    return [place for place in places if wire.left.get(place, 1)]


async def unfinished(pairs: Pairs, act: Act, places: Sequence[str]) -> list[str]:
    """Those that have not reached their state."""
    states = await asyncio.gather(*map(pairs.state, places))
    return [place for place, state in zip(places, states, strict=True) if state != act.state]


async def finish(pairs: Pairs, act: Act) -> None:
    """All places are in the state: all objects and records are there, and no others."""
    await pairs.site.until(lambda: unfinished(pairs, act, pairs.places), [])
    # What goes back is repaired as drift, a moment after everything else.
    await pairs.site.until(pairs.site.places.maps, dict.fromkeys(pairs.places, act.maps))
    units = {record.rpartition(".")[0] for record in await pairs.site.places.records()}
    assert units == {f"{of}-{place}.{place}.x" for of in act.installed for place in pairs.places}

"""A kind of a user's own is an addon as long as there is a Generic for it.

Level: sandbox.
"""

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hookrunner.instances.offer import generic_watch
from hookrunner.kube.client import ApiCall
from kubetypes.json_values import JSON
from tests.fakes.objects import definition
from tests.instances.lives.places import MAP
from tests.instances.lives.site import LiveSite, Started
from tests.releases.world import exists
from tests.trees import write_files

GENERICS = "/apis/addons.x-k8s.io/v1alpha1/namespaces/default/generics"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KIND = {"group": "example.com", "kind": "Widget", "version": "v1"}
PLACES = [f"n{number}" for number in range(14)]
"""More than there are writes for a Generic and its instance of one object."""


def kind_of(place: str) -> JSON:
    return KIND | {"kind": f"Widget{place}"}


def widgets(place: str) -> str:
    """Where the instances of this place's kind are."""
    return f"/apis/example.com/v1/namespaces/{place or 'default'}/widget{place}s"


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generic_watch, "LOOK", 0.2)


@asynccontextmanager
async def started(site: LiveSite) -> AsyncIterator[Started]:
    """Hookrunner, which allows the packages of `srv`."""
    top = site.directory / "srv/widgets"
    write_files(top, {"stable": "manifests: [{version: 1.0.0}]\n"})
    for place, version in itertools.product(["", *PLACES], ["1.0.0", "2.0.0"]):
        path = f"packages/widget{place}/{version}/a.yaml"
        write_files(top, {path: MAP.format(name="a", value=version)})
    async with site.started(**{"addon-generic-sources": str(site.directory / "srv")}) as process:
        await site.until(lambda: exists(site.client, f"{CRDS}/generics.addons.x-k8s.io"), True)
        yield process


async def create(site: LiveSite, place: str, kind: str, name: str, spec: JSON) -> None:
    group = place.removeprefix("/apis/").partition("/namespaces/")[0]
    body = {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": spec}
    await site.client.send(ApiCall("POST", place, body=body))


async def define(site: LiveSite, place: str = "") -> None:
    """The kind of a place, or the one without."""
    body = definition("example.com", f"Widget{place}", "v1")
    body["spec"]["versions"][0]["subresources"] = {"status": {}}
    await site.client.send(ApiCall("POST", CRDS, body=body))


async def generic(site: LiveSite, name: str = "g", kind: JSON = None, channel: str = "srv/widgets") -> None:
    spec = {"objectKind": kind or KIND, "channel": str(site.directory / channel)}
    await create(site, GENERICS, "Generic", name, spec)


async def phases(site: LiveSite, place: str) -> dict[str, str]:
    items = (await site.client.get(place))["items"]
    return {item["metadata"]["name"]: (item.get("status") or {}).get("phase", "") for item in items}


async def delete(site: LiveSite, path: str) -> None:
    await site.client.send(ApiCall("DELETE", path))


async def maps(site: LiveSite) -> dict[str, Any]:
    return (await site.places.maps()).get("default", {})


@pytest.mark.slow
async def test_kind_is_an_addon_from_its_definition_until_its_generic_is_deleted(site: LiveSite) -> None:
    async with started(site) as process:
        await generic(site)
        await site.until(lambda: phases(site, GENERICS), {"g": "Pending"})
        await define(site)
        await site.until(lambda: phases(site, GENERICS), {"g": "Current"})
        await create(site, WIDGETS, "Widget", "x", {})
        await site.until(lambda: phases(site, WIDGETS), {"x": "Current"})
        assert await maps(site) == {"a": "1.0.0"}

        await delete(site, f"{GENERICS}/g")
        await site.until(lambda: is_followed(process), False)
        await site.places.patch(f"{WIDGETS}/x", {"spec": {"version": "2.0.0"}})
        assert (await maps(site), await phases(site, WIDGETS)) == ({"a": "1.0.0"}, {"x": "Current"})
        await generic(site, "again")
        await site.until(lambda: maps(site), {"a": "2.0.0"})
        await delete(site, f"{WIDGETS}/x")
        await site.until(lambda: maps(site), {})


async def is_followed(process: Started) -> bool:
    return any(path.endswith("/widgets") for path in process.wire.streams)


@pytest.mark.slow
async def test_what_cannot_be_an_addon_says_why(site: LiveSite) -> None:
    """Of two that were created in one second that with the lower UID has the kind."""
    async with started(site):
        await define(site)
        for name in ("a", "b"):
            await generic(site, name)
        await generic(site, "circle", {"group": "addons.x-k8s.io", "kind": "Generic", "version": "v1alpha1"})
        await generic(site, "taken", {"group": "addons.x-k8s.io", "kind": "Thing", "version": "v1alpha1"})
        await generic(site, "needed", {"group": "coordination.k8s.io", "kind": "Lease", "version": "v1"})
        await generic(site, "elsewhere", KIND | {"kind": "Other"}, "other")
        bad = dict.fromkeys(["circle", "needed", "elsewhere"], "RenderFailed") | {"taken": "Conflict"}
        await site.until(lambda: others(site, "a", "b"), bad)
        items = (await site.client.get(GENERICS))["items"]
        ages = sorted((each["metadata"]["creationTimestamp"], each["metadata"]["uid"], each) for each in items[:2])
        older, younger = (each["metadata"]["name"] for *_, each in ages)
        await site.until(lambda: phases(site, GENERICS), {older: "Current", younger: "Conflict", **bad})
        await delete(site, f"{GENERICS}/{older}")
        await site.until(lambda: phases(site, GENERICS), {younger: "Current", **bad})


async def others(site: LiveSite, *names: str) -> dict[str, str]:
    return {name: phase for name, phase in (await phases(site, GENERICS)).items() if name not in names}


@pytest.mark.slow
async def test_generics_and_their_instances_killed_at_any_write_reach_their_state(site: LiveSite) -> None:
    """A kind for each place, where the API server is away after another write; then the process ends."""
    async with started(site) as process:
        for place in PLACES:
            await define(site, place)
        process.wire.cut_off({place: writes for writes, place in enumerate(PLACES)})
        for place in PLACES:
            await site.client.send(ApiCall("POST", "/api/v1/namespaces", body={"metadata": {"name": place}}))
            await create(site, widgets(place), f"Widget{place}", "x", {})
            await generic(site, place, kind_of(place))
        await site.until(lambda: installed(site, PLACES[-1:]), {PLACES[-1]: {"a": "1.0.0"}})
        await site.until(lambda: phases(site, widgets(PLACES[-1])), {"x": "Current"})
        assert process.wire.left[PLACES[-1]] > 0, "there are more writes than are tried"
    async with started(site) as process:
        await site.until(lambda: installed(site, PLACES), {place: {"a": "1.0.0"} for place in PLACES})
        await site.until(lambda: phases(site, GENERICS), dict.fromkeys(PLACES, "Current"))
        process.wire.cut_off({place: writes for writes, place in enumerate(PLACES)})
        for place in PLACES:
            await delete(site, f"{widgets(place)}/x")
        await site.until(lambda: installed(site, PLACES[-1:]), {})
    async with started(site):
        await site.until(lambda: installed(site, PLACES), {})
        await site.until(lambda: left(site), [])


async def installed(site: LiveSite, places: Sequence[str]) -> dict[str, Any]:
    return {place: objects for place, objects in (await site.places.maps()).items() if place in places}


async def left(site: LiveSite) -> list[str]:
    """Instances whose finalizers are not removed yet."""
    return [place for place in PLACES if await phases(site, widgets(place))]

"""An addon leaves the offer and comes back while hookrunner runs: its directory is removed and is there again.

Level: sandbox.
"""

from collections.abc import Sequence

import pytest

from hookrunner.instances.offer import directory_watch
from tests.instances.lives.acts import CREATE, DELETE, UPGRADE, Act, finish, unfinished
from tests.instances.lives.places import NEW, OLD, write_addon
from tests.instances.lives.site import LiveSite, Started

MANY = 1000
"""More writes than there are: what is left of them tells how many there were."""


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_watch, "LOOK", 0.1)


async def leave(site: LiveSite, process: Started) -> None:
    """The addon's directory is removed; its units have ended then, as far as they can."""
    (site.directory / "addons/thing").rename(site.directory / "thing")
    await site.until(lambda: has_units(process), False)


async def has_units(process: Started) -> bool:
    return any("addon_phase" in line for line in await process.series())


async def is_followed(process: Started) -> bool:
    return any(path.endswith("/things") for path in process.wire.streams)


def come_back(site: LiveSite) -> None:
    (site.directory / "thing").rename(site.directory / "addons/thing")


@pytest.mark.slow
async def test_what_leaves_is_not_touched_and_continues_when_it_is_back(site: LiveSite) -> None:
    places = ["n1", "n2", "n3"]
    async with site.started() as process:
        await site.places.create(places)
        await site.until(site.places.phases, dict.fromkeys(places, "Current"))
        process.wire.cut_off(dict.fromkeys(places, MANY))
        await leave(site, process)
        await site.places.delete(["n2"])
        await site.places.change(["n3"], {"version": "2.0.0"})
        assert [(await site.places.maps())[place] for place in places] == [OLD] * 3
        assert process.wire.left == dict.fromkeys(places, MANY)
        come_back(site)
        await site.until(lambda: versions(site), {"n1": "1.0.0", "n3": "2.0.0"})
        await site.until(site.places.phases, dict.fromkeys(["n1", "n3"], "Current"))
        found = await site.places.maps()
        assert [found.get(place, {}) for place in places] == [OLD, {}, NEW]
        assert process.wire.left["n1"] == MANY


async def versions(site: LiveSite) -> dict[str, str]:
    return {place: status.get("version", "") for place, status in (await site.places.statuses()).items()}


@pytest.mark.slow
async def test_files_that_change_are_read_without_a_restart(site: LiveSite) -> None:
    """What they lead to is the same, so nothing is written; then another label."""
    async with site.started() as process:
        await site.places.create(["n1"])
        await site.until(site.places.phases, {"n1": "Current"})
        process.wire.cut_off({"n1": MANY})
        write_addon(site.directory, more="description: the same\n")
        await site.until(lambda: description(site), "the same")
        assert process.wire.left == {"n1": MANY}
        write_addon(site.directory, more="labels: {a: b}\n")
        await site.until(lambda: labels(site), ["b", "b"])


async def description(site: LiveSite) -> str:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.addons.x-k8s.io"
    (version,) = (await site.client.get(path))["spec"]["versions"]
    return str(version["schema"]["openAPIV3Schema"].get("description", ""))


async def labels(site: LiveSite) -> list[str]:
    items = (await site.client.get("/api/v1/namespaces/n1/configmaps"))["items"]
    return [item["metadata"]["labels"].get("a", "") for item in items if "hookrunner.io/addon" in str(item["metadata"])]


@pytest.mark.slow
async def test_addon_that_leaves_at_any_write_reaches_its_state_when_it_is_back(site: LiveSite) -> None:
    """In each place the API server is away after another write when the directory is removed."""
    acts: Sequence[Act] = (CREATE, UPGRADE, DELETE)
    names = [f"n{writes}" for writes in range(16)]
    async with site.started() as process:
        for act in acts:
            process.wire.cut_off({place: writes for writes, place in enumerate(names)})
            await act.do(site.places, names)
            await site.until(lambda act=act: unfinished(site, process.wire.left, act), [])  # type: ignore[misc]
            assert process.wire.left[names[-1]] > 0, "there are more writes than are tried"
            (site.directory / "addons/thing").rename(site.directory / "thing")
            await site.until(lambda: is_followed(process), False)
            process.wire.cut_off({})
            come_back(site)
            await finish(site, act, names)
        await site.until(process.series, [])

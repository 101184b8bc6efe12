"""Hookrunner is killed at each write for an instance, and the next process brings it to its state: in an installation,
an upgrade, a rollback, a deletion, and a deletion that leaves the objects.

One process serves many places, and each is cut off after another write. For the API server that is as if the process
had been killed there; what it still knows is gone with it when it ends. The process that finishes one act is the one
that is cut off in the next. Where the API server is only away or refuses for a while, the same process goes on.

Level: sandbox.
"""

import itertools
import shutil
from collections.abc import Sequence

import pytest

from tests.instances.lives.acts import (
    CREATE,
    CREATE_CONFINED,
    DELETE,
    LEAVE,
    SPOIL,
    UPGRADE,
    Act,
    finish,
    states,
    unfinished,
)
from tests.instances.lives.places import NEW, OLD, PACKAGES, Wire
from tests.instances.lives.site import LiveSite
from tests.packages.git_place import git_place
from tests.packages.oci.oci_places import RegistryPlace
from tests.packages.oci.registry_server import REPOSITORY, registry_server
from tests.packages.places import Place, with_checksums


@pytest.mark.slow
@pytest.mark.parametrize(
    ("acts", "most"), [([CREATE, UPGRADE, SPOIL, DELETE], 20), ([CREATE, LEAVE], 12)], ids=["deleted", "left"]
)
async def test_instance_killed_at_any_write_reaches_its_state(site: LiveSite, acts: Sequence[Act], most: int) -> None:
    await live(site, acts, most)


@pytest.mark.nightly
async def test_instance_whose_package_is_in_git_killed_at_any_write_reaches_its_state(site: LiveSite) -> None:
    async with git_place(site.directory, is_web=False) as place:
        move_packages(site, place)
        await live(site, [CREATE, UPGRADE, SPOIL, DELETE], 22, source=f"git::{place.url}")


@pytest.mark.nightly
async def test_instance_whose_package_is_in_a_registry_killed_at_any_write_reaches_its_state(site: LiveSite) -> None:
    async with registry_server() as registry:
        move_packages(site, RegistryPlace(registry, "archive"))
        source = f"oci+http://{registry.url.partition('://')[2]}/{REPOSITORY}"
        await live(site, [CREATE, UPGRADE, SPOIL, DELETE], 22, source=source)


@pytest.mark.nightly
async def test_instance_with_an_account_killed_at_any_write_reaches_its_state(site: LiveSite) -> None:
    """Its requests go through a client of their own; the questions for its rights are no writes."""
    await live(site, [CREATE_CONFINED, UPGRADE, SPOIL, DELETE], 22)


def move_packages(site: LiveSite, place: Place) -> None:
    """Publish what the addon's own directory has, which then has none."""
    shutil.rmtree(site.directory / "addons/thing/channels")
    for version, text in PACKAGES.items():
        place.put_package("thing", version, with_checksums({"objects.yaml": text.encode()}))
    place.put_channel("stable", b"manifests: [{version: 1.0.0}]\n")


async def live(site: LiveSite, acts: Sequence[Act], most: int, source: str = "") -> None:
    """Live through all acts, each with a process that is cut off in the middle. `source` is where packages are."""
    names, flags = [f"n{writes}" for writes in range(most)], {"addon-source": source} if source else {}
    async with site.started(**flags) as process:
        await begin(site, process.wire, acts[0], names)
    for act, following in itertools.pairwise(acts):
        async with site.started(**flags) as process:
            await finish(site, act, names)
            await begin(site, process.wire, following, names)
    async with site.started(**flags) as process:
        await finish(site, acts[-1], names)
        await site.until(process.series, [])


async def begin(site: LiveSite, wire: Wire, act: Act, names: Sequence[str]) -> None:
    """Cut off each place in the middle of an act."""
    wire.cut_off({place: writes for writes, place in enumerate(names)})
    await act.do(site.places, names)
    await site.until(lambda: unfinished(site, wire.left, act), [])
    assert wire.left[names[-1]] > 0, "there are more writes than are tried"


@pytest.mark.slow
async def test_instance_goes_on_when_the_api_server_answers_again(site: LiveSite) -> None:
    """It is away for half of the places, and refuses the requests of the others, each after some writes. Neither is a
    reason to undo the upgrade."""
    names = [f"n{number}" for number in range(24)]
    writes = {place: number // 2 for number, place in enumerate(names)}
    async with site.started() as process:
        for act in (CREATE, UPGRADE, DELETE):
            process.wire.cut_off(writes, refused=names[::2])
            await act.do(site.places, names)
            await site.until(lambda act=act: unfinished(site, process.wire.left, act), [])  # type: ignore[misc]
            process.wire.cut_off({})
            await finish(site, act, names)
        await site.until(process.series, [])


@pytest.mark.slow
async def test_upgrade_without_a_right_stays_half_done_until_the_right_is_there(site: LiveSite) -> None:
    """Everything else may be written, so that nothing but the decision keeps the upgrade from being undone."""
    async with site.started() as process:
        await site.places.create(["n1"], rollbackOnFailure=True)
        await site.until(site.places.phases, {"n1": "Current"})
        process.wire.forbidden = "DELETE /api/v1/namespaces/n1/configmaps/b"
        await site.places.change(["n1"], {"version": "2.0.0"})
        await site.until(lambda: lacks_right(site), True)
        assert (await site.places.maps())["n1"] == OLD | NEW
        process.wire.forbidden = ""
        await site.until(lambda: states(site), {"n1": ("Current", "2.0.0")})
        assert await site.places.records() == ["thing.n1.x.v1", "thing.n1.x.v2"]


async def lacks_right(site: LiveSite) -> bool:
    """Does the instance's status say so?"""
    status = (await site.places.statuses())["n1"]
    return "no right to keep configmaps" in str(status.get("errors"))

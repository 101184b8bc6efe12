"""Changes of the addons directories become changes of the offer. Level: pure."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hookrunner import settings
from hookrunner.addons.addon_discovery import load_offer
from hookrunner.addons.offer.addon_offer import AddonOffer
from hookrunner.instances.offer import directory_watch
from hookrunner.instances.offer.directory_watch import DirectoryWatch
from tests.fakes.cluster import until
from tests.trees import write_files

A, B = {"a/addon.yaml": "object: {kind: A}\n"}, {"b/addon.yaml": "object: {kind: B}\n"}


class World:
    """Addons directories and what they offer."""

    def __init__(self, root: Path) -> None:
        self.root = root / "addons"
        write_files(self.root, A)
        loaded = settings.load({"addons-dir": str(self.root)}, "hookrunner", {})
        self.offer = AddonOffer()
        self.watch = DirectoryWatch(loaded, self.offer)
        self.watch.begin(load_offer(loaded.addons))

    @property
    def names(self) -> list[str]:
        return [addon.name for addon in self.offer.addons]


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(directory_watch, "LOOK", 0.02)
    world = World(tmp_path)
    following = asyncio.create_task(world.watch.follow())
    yield world
    following.cancel()


async def test_directories_come_change_and_go(world: World) -> None:
    write_files(world.root, B)
    await until(lambda: world.names == ["a", "b"])
    stamp = world.offer.addons[0].stamp
    write_files(world.root, {"a/values.yaml": "a: {x: 1}\n"})
    await until(lambda: world.offer.addons[0].stamp != stamp)
    assert world.offer.state.addons["a"].values.static == {"x": 1}
    (world.root / "b/addon.yaml").write_text("object: 5\n")
    await until(lambda: world.names == ["a"])
    assert [rejected.name for rejected in world.offer.rejected] == ["b"]


async def test_offer_stays_while_a_directory_cannot_be_read_and_the_log_says_so_once(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    world.root.rename(world.root.with_name("away"))
    printed = ""
    async with asyncio.timeout(10):
        while "the offer stays as it is" not in printed:
            await asyncio.sleep(0.01)
            printed += capfd.readouterr().err
    await asyncio.sleep(0.1)
    assert (world.names, capfd.readouterr().err) == (["a"], "")
    world.root.with_name("away").rename(world.root)
    write_files(world.root, B)
    await until(lambda: world.names == ["a", "b"])


async def test_directory_that_every_user_may_change_is_not_read(world: World) -> None:
    write_files(world.root, B)
    (world.root / "b").chmod(0o777)
    await asyncio.sleep(0.3)
    assert world.names == ["a"]
    (world.root / "b").chmod(0o755)
    await until(lambda: world.names == ["a", "b"])

"""The ConfigMap as it is followed while clients write to it. Level: sandbox."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hookrunner.convergence.decisions.config_object import ConfigObject, Contents, Grace
from hookrunner.errors import Conflict, Denied, KubeError, NotFound
from hookrunner.model.bindings import Change
from hookrunner.model.events import ObjectSeen, RelistStarted, Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import ObjectKey, Selection
from kubesandbox.faults import Fault
from tests.fakes.clocks import awkward, run_watched
from tests.fakes.objects import config_map
from tests.fakes.second_writer import OvertakenClient, once, overtaken_client
from tests.kube.server import ApiServer, api_server


class Story:
    """A watch that tells what it is given."""

    def __init__(self) -> None:
        self.reports: asyncio.Queue[list[Report]] = asyncio.Queue()

    async def open(self, _: Selection) -> AsyncGenerator[list[Report], None]:
        while True:
            yield await self.reports.get()

    def tell(self, *reports: Report) -> None:
        self.reports.put_nowait(list(reports))


def item(version: int, change: Change | None = Change.MODIFIED, **data: str) -> ObjectSeen:
    obj: Any = {"metadata": {"name": "hookrunner", "resourceVersion": str(version)}, "data": data}
    return ObjectSeen(change, ObjectKey("ConfigMap", "ops", "hookrunner"), obj, str(version))


async def heard() -> None:
    """Let readers take in what the watch has reported."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.fixture
def config(story: Story) -> ConfigObject:
    """Without a grace."""
    return followed(story, 0.0)


def followed(story: Story, grace: float) -> ConfigObject:
    place = ("ops", "hookrunner")
    return ConfigObject(None, story, "ConfigMap", place, Grace(grace))  # type: ignore[arg-type]  # it only follows


async def test_contents_are_yielded_after_the_list_and_at_each_change(config: ConfigObject, story: Story) -> None:
    story.tell(RelistStarted(), item(1, None, a="x: 1"), Synced("1"), item(2, a="x: 2"), item(3, Change.DELETED))
    states = config.states()
    contents_seen = [(await anext(states)).data for _ in range(3)]
    assert contents_seen == [{"a": "x: 1"}, {"a": "x: 2"}, {}]


async def test_a_deletion_while_the_watch_was_lost_is_noticed(config: ConfigObject, story: Story) -> None:
    story.tell(RelistStarted(), item(1, None, a="x: 1"), Synced("1"), RelistStarted(), Synced("5"))
    states = config.states()
    assert [await anext(states) for _ in range(2)][1] == Contents()


async def test_it_says_why_it_cannot_be_read_until_it_can(config: ConfigObject, story: Story) -> None:
    reading = asyncio.ensure_future(anext(config.states()))
    reports = ((WatchLost("forbidden", False), "forbidden"), (WatchRestored(), ""), (WatchLost("away", True), "away"))
    for report, unseen in reports:
        story.tell(report)
        await heard()
        assert config.unseen == unseen
    story.tell(RelistStarted(), Synced("1"))
    await reading
    assert config.unseen == ""


async def test_a_writer_does_not_see_contents_that_are_not_adopted_yet(config: ConfigObject, story: Story) -> None:
    """Else it would write over it, with its resourceVersion: what is written comes from what was taken over."""
    story.tell(RelistStarted(), item(1, None, a="x: 1"), Synced("1"))
    states = config.states()
    before = await anext(states)
    async with config.writing:
        reading = asyncio.ensure_future(anext(states))
        story.tell(item(2, a="x: 2"))
        await heard()
        assert config.contents == before
    assert (await reading).data == {"a": "x: 2"}


class Followed:
    """What is heard of a ConfigMap with a grace, in virtual time."""

    def __init__(self, story: Story, grace: float) -> None:
        self.config = followed(story, grace)
        self.heard: list[tuple[float, dict[str, str]]] = []
        self._began = asyncio.get_running_loop().time()
        self._tasks = [asyncio.ensure_future(self._follow(of)) for of in (self.config.states(), self.config.ends())]

    async def _follow(self, contents: AsyncIterator[Contents]) -> None:
        async for one in contents:
            self.heard.append((round(asyncio.get_running_loop().time() - self._began, 3), dict(one.data)))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def patiently(story: Story, *first: Report) -> AsyncIterator[Followed]:
    """With a grace of 30 s, from when it was created with `x: 1`. No fixture: those have a clock of their own."""
    one = Followed(story, 30.0)
    story.tell(*(first or (RelistStarted(), item(1, None, a="x: 1"), Synced("1"))))
    await heard()
    yield one
    await one.close()


@pytest.mark.looptime
async def test_a_deletion_counts_when_the_grace_is_over(story: Story) -> None:
    async with patiently(story) as patient:
        await asyncio.sleep(100.0)
        story.tell(item(2, Change.DELETED))
        await asyncio.sleep(29.0)
        assert (patient.heard[-1], patient.config.grace.running) == ((100.0, {"a": "x: 1"}), True)
        await asyncio.sleep(2.0)
        assert (patient.heard[-1], patient.config.grace.running) == ((130.0, {}), False)


@pytest.mark.looptime
async def test_creation_within_the_grace_is_an_edit(story: Story) -> None:
    """Each delete has a grace of its own."""
    async with patiently(story) as patient:
        for number in range(3):
            story.tell(item(2 + number, Change.DELETED))
            await asyncio.sleep(25.0)
            story.tell(item(10 + number, Change.ADDED, a=f"x: {number}"))
            await asyncio.sleep(10.0)
        expected = ["x: 1", "x: 1", "x: 0", "x: 0", "x: 1", "x: 1", "x: 2"]
        assert [data.get("a") for _, data in patient.heard] == expected, "never empty"


@pytest.mark.looptime
async def test_the_grace_of_a_missed_deletion_begins_when_it_is_noticed(story: Story) -> None:
    async with patiently(story) as patient:
        story.tell(WatchLost("away", True))
        await asyncio.sleep(60.0)
        story.tell(RelistStarted(), Synced("9"))
        await asyncio.sleep(40.0)
        assert patient.heard[-1] == (90.0, {})


@pytest.mark.looptime
async def test_nothing_is_written_during_the_grace(story: Story) -> None:
    """It would be created with one key, and everything else would count as deleted at once."""
    async with patiently(story) as patient:
        story.tell(item(2, Change.DELETED))
        await heard()
        with pytest.raises(NotFound, match="ConfigMap ops/hookrunner is missing; it is written to when it is created"):
            await patient.config.write("a", "x: 2")


@pytest.mark.looptime
async def test_an_object_that_should_exist_has_its_grace_from_the_start(story: Story) -> None:
    async with patiently(story, RelistStarted(), Synced("1")) as patient:
        patient.config.expect()
        await asyncio.sleep(29.0)
        assert patient.config.grace.running
        await asyncio.sleep(2.0)
        assert patient.heard == [(0.0, {}), (30.0, {})]


def test_a_grace_ends_where_the_timer_is_early() -> None:
    async def missing() -> None:
        grace = Grace(30.0)
        grace.begin()
        await grace.wait_until_over()

    run_watched(missing(), awkward(30.0))


OURS, THEIRS = config_map("hookrunner", a="x: 1"), config_map("hookrunner", a="x: 1", b="y: 2")


@asynccontextmanager
async def shared(*objects: Any) -> AsyncIterator[tuple[ConfigObject, OvertakenClient, ApiServer]]:
    """The ConfigMap as it was read, its client, and the API server to which another client writes."""
    async with api_server() as api, overtaken_client(api.url) as client:
        for obj in objects:
            api.put(obj)
        config = ConfigObject(client, Story(), "ConfigMap", ("default", "hookrunner"), Grace(0.0))
        await config.read()
        yield config, client, api


@pytest.mark.parametrize(
    ("objects", "refused", "method", "theirs"),
    [
        ([OURS], "", "PATCH", THEIRS),
        ([OURS], "PATCH", "PATCH", THEIRS),
        ([OURS], "PATCH", "PUT", THEIRS),
        ([OURS], "", "PATCH", None),
        ([OURS], "PATCH", "PATCH", None),
        ([], "", "POST", THEIRS),
    ],
)
async def test_a_change_between_reading_and_writing_is_a_conflict_and_is_not_overwritten(
    objects: list[Any], refused: str, method: str, theirs: Any
) -> None:
    """An edit, a deletion and a creation; neither by a patch, nor by the update of those who may not patch."""
    async with shared(*objects) as (config, client, api):
        if refused:
            api.faults.add(Fault("answer", f"{refused} ", status=403))
        client.before_write = once(method, lambda: api.put(theirs) if theirs else api.delete(OURS))
        with pytest.raises(Conflict):
            await config.write("a", "x: 3")
        found = api.get(OURS)
        assert (found and found["data"]) == (theirs and theirs["data"])
        await config.read()
        await config.write("a", "x: 3")
        assert api.get(OURS)["data"] == (theirs["data"] if theirs else {}) | {"a": "x: 3"}


async def test_an_object_that_cannot_be_read_keeps_its_contents_and_says_why() -> None:
    async with shared(OURS) as (config, _, api):
        api.faults.add(Fault("answer", "GET /api/v1/namespaces/default/configmaps/hookrunner", status=500))
        before = config.contents
        with pytest.raises(KubeError):
            await config.read()
        assert (config.contents, "a fault that the sandbox was given" in config.unseen) == (before, True)


@pytest.mark.parametrize(("objects", "refused"), [([], ["POST"]), ([OURS], ["PATCH", "PUT"])], ids=["new", "known"])
async def test_without_rights_nothing_is_written(objects: list[Any], refused: list[str]) -> None:
    async with shared(*objects) as (config, _, api):
        for method in refused:
            api.faults.add(Fault("answer", f"{method} ", status=403))
        with pytest.raises(Denied):
            await config.write("a", "x: 3")
        assert "x: 3" not in str(api.get(OURS))

"""Waiting until objects are ready, on the sandbox in virtual time. Level: sandbox."""

import asyncio

import pytest

from hookrunner import log
from hookrunner.errors import ObjectsDeleted, ReleaseFailed
from hookrunner.kube.client import Client
from kubesandbox.sandbox import Sandbox
from tests.fakes.objects import definition
from tests.releases.watching import World, condition, made

pytestmark = pytest.mark.looptime

CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
CLAIMS = [made("PersistentVolumeClaim", name, spec=CLAIM_SPEC) for name in "ab"]
MAP = made("ConfigMap", "a")
POD = made("Pod", "p", spec={"containers": [{"name": "c", "image": "i"}]})


@pytest.fixture
def world(client: Client) -> World:
    return World(client)


async def test_objects_without_a_status_are_not_even_watched(world: World, sandbox: Sandbox) -> None:
    await world.readiness.wait_ready([MAP], "default", 10)
    assert [line for line in sandbox.faults.requests if "watch" in line] == []


async def test_all_objects_are_awaited_with_one_watch_for_each_kind(world: World, sandbox: Sandbox) -> None:
    for obj in (*CLAIMS, POD):
        await world.apply(obj)
    sandbox.faults.requests.clear()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(world.readiness.wait_ready([*CLAIMS, POD, MAP], "default", 1000))
        await asyncio.sleep(250)
        asked = [line.split("?")[0] for line in sandbox.faults.requests if "namespaces" in line]
        assert sorted(asked) == [f"GET /api/v1/namespaces/default/{p}" for p in ("persistentvolumeclaims", "pods")]
        await world.status(CLAIMS[0], phase="Bound")
        await world.status(POD, phase="Running", conditions=[condition("Ready")])
        await asyncio.sleep(1)
        assert not waiting.done()
        await world.status(CLAIMS[1], phase="Bound")
        await asyncio.sleep(1)
        assert waiting.done()


async def test_objects_not_ready_in_time_are_named_with_the_reason(world: World) -> None:
    for obj in (*CLAIMS, POD):
        await world.apply(obj)
    await world.status(CLAIMS[0], phase="Bound")
    with pytest.raises(ReleaseFailed) as failure:
        await world.readiness.wait_ready([*CLAIMS, POD], "default", 30)
    assert sorted(str(failure.value).removesuffix(" (waited 30 s)").split("; ")) == [
        "default/PersistentVolumeClaim/b is Pending, not Bound",
        "default/Pod/p is Pending",
    ]


async def test_failed_object_ends_the_wait(world: World) -> None:
    for obj in (*CLAIMS, POD):
        await world.apply(obj)
    began = asyncio.get_running_loop().time()
    await world.status(POD, phase="Failed", reason="Evicted")
    with pytest.raises(ReleaseFailed, match=r"^default/Pod/p the Pod failed: Evicted$"):
        await world.readiness.wait_ready([*CLAIMS, POD], "default", 1000)
    assert asyncio.get_running_loop().time() - began < 5


async def test_object_that_is_not_there_ends_the_wait(world: World) -> None:
    await world.apply(POD)
    with pytest.raises(ObjectsDeleted, match=r"^default/Pod/gone was deleted while it was awaited$") as failure:
        await world.readiness.wait_ready([POD, made("Pod", "gone")], "default", 1000)
    assert failure.value.deleted == {("default", "Pod", "gone")}


async def test_a_job_that_has_ended_may_go(world: World) -> None:
    job = made("Job", "j", "batch/v1", spec={"template": {"spec": POD["spec"] | {"restartPolicy": "Never"}}})
    for obj in (job, POD):
        await world.apply(obj)
    await world.status(
        job, conditions=[condition("Complete")], startTime="2026-01-01T00:00:00Z", completionTime="2026-01-01T00:00:01Z"
    )
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(world.readiness.wait_ready([job, POD], "default", 1000))
        await asyncio.sleep(5)
        await world.delete(job)
        await asyncio.sleep(5)
        assert not waiting.done()
        await world.status(POD, phase="Running", conditions=[condition("Ready")])


async def test_refused_watch_is_the_reason_why_nothing_is_ready(world: World) -> None:
    """Kinds that come later than their release are found as soon as they are served."""
    widget, widgets = made("Widget", "w", "example.com/v1"), definition("example.com", "Widget", "v1")
    await world.apply(widgets)
    await world.apply(widget)
    await world.delete(widgets)
    with pytest.raises(ReleaseFailed, match=r"default/Widget/w (cannot be watched: .*no kind 'Widget'|does not exist)"):
        await world.readiness.wait_ready([widget], "default", 60)


async def test_slow_objects_are_logged_once(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    for obj in (*CLAIMS, POD):
        await world.apply(obj)
    await world.status(CLAIMS[0], phase="Bound")
    for seconds in (20, 300):
        with pytest.raises(ReleaseFailed):
            await world.readiness.wait_ready([*CLAIMS, POD], "default", seconds)
    log.flush(1.0)
    (told,) = [line for line in capfd.readouterr().err.splitlines() if "not ready yet" in line]
    assert all(name in told for name in ("default/PersistentVolumeClaim/b", "default/Pod/p", "300 s"))
    assert "Claim/a" not in told

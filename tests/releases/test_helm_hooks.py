"""Helm hooks on the sandbox: order, policies, waiting, and their reported runs. Level: sandbox."""

import asyncio
from contextlib import aclosing

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.model.releases import HelmHook
from hookrunner.releases.helm_hooks import HelmHookRun, HelmHooks, ordered
from hookrunner.releases.manifest_objects import KindResolver
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.releases.watching import JSON, World, condition, hook

pytestmark = pytest.mark.looptime

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "migrate"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "check"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
FAILED = condition("Failed", reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")
ENDED = [condition("FailureTarget", reason="BackoffLimitExceeded"), FAILED]


def config_map(name: str, **more: JSON) -> JSON:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name} | more}


@pytest.fixture
def world(client: Client) -> World:
    return World(client)


async def run(world: World, *hooks: HelmHook, event: str = "pre-install", timeout: float = 300) -> list[HelmHookRun]:
    """All reported runs, without those at the beginning of each hook."""
    told: list[HelmHookRun] = []
    await tell(world, told, *hooks, event=event, timeout=timeout)
    assert [one.phase for one in told[::2]] == ["Running"] * (len(told) // 2)
    return told[1::2]


async def tell(
    world: World, told: list[HelmHookRun], *hooks: HelmHook, event: str = "pre-install", timeout: float = 300
) -> None:
    runner = HelmHooks(world.client, KindResolver(world.discovery), world.readiness)
    async with aclosing(runner.run(hooks, event, world.identity, timeout)) as runs:
        async for one in runs:
            told.append(one)


def test_hooks_run_by_weight_and_then_by_name_whatever_their_kind() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}
    hooks = [hook(secret, "pre-install"), *(hook(config_map(name), "pre-install") for name in "bca")]
    hooks += [hook(config_map("last"), "pre-install", weight=10), hook(config_map("first"), "pre-install", weight=-5)]
    hooks.append(hook(config_map("other"), "post-install", "crd-install"))
    names = [(one.kind, one.name) for one in ordered(hooks, "pre-install")]
    assert [name for _, name in names] == ["first", "a", "b", "b", "c", "last"]
    assert [kind for kind, name in names if name == "b"] == ["Secret", "ConfigMap"]


async def test_hook_that_is_not_a_job_is_only_created_without_marks(world: World) -> None:
    (told,) = await run(world, hook(config_map("a", annotations={"helm.sh/hook": "pre-install"}), "pre-install"))
    found = await world.get(config_map("a"))
    assert (told.phase, told.hook.name, told.started <= told.completed) == ("Succeeded", "a", True)
    assert (found["metadata"]["annotations"], "labels" in found["metadata"]) == ({"helm.sh/hook": "pre-install"}, False)
    assert [(one["manager"], one["operation"]) for one in found["metadata"]["managedFields"]] == [("helm", "Apply")]


@pytest.mark.parametrize(("obj", "status"), [(JOB, {"conditions": [condition("Complete")]}), (POD, {})])
async def test_jobs_and_pods_are_awaited(world: World, obj: JSON, status: JSON) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(world, hook(obj, "pre-install"), hook(config_map("z"), "pre-install")))
        await world.there(obj)
        await asyncio.sleep(100)
        assert await world.get(config_map("z")) is None
        await world.status(obj, phase="Succeeded", **status)
    assert [one.phase for one in running.result()] == ["Succeeded", "Succeeded"]


@pytest.mark.parametrize("keeps", [True, False])
async def test_an_object_of_the_last_run_is_deleted_first_unless_its_policies_leave_that_out(
    world: World, keeps: bool
) -> None:
    before = await world.apply(config_map("a"))
    policies = ("hook-failed",) if keeps else ("before-hook-creation", "hook-failed")
    await run(world, hook(config_map("a") | {"data": {"x": "new"}}, "pre-install", policies=policies))
    found = await world.get(config_map("a"))
    assert found["data"] == {"x": "new"}
    assert (found["metadata"]["uid"] == before["metadata"]["uid"]) is keeps


async def test_slow_deletion_is_awaited(world: World) -> None:
    held = await world.apply(config_map("a", finalizers=["example.com/wait"]))
    async with asyncio.TaskGroup() as group:
        group.create_task(run(world, hook(config_map("a"), "pre-install")))
        await asyncio.sleep(50)
        assert (await world.get(config_map("a")))["metadata"]["deletionTimestamp"]
        await world.edit(config_map("a"), {"metadata": {"finalizers": None}})
    assert (await world.get(config_map("a")))["metadata"]["uid"] != held["metadata"]["uid"]


async def test_object_that_is_never_deleted_is_named_with_its_finalizers(world: World) -> None:
    await world.apply(config_map("a", finalizers=["example.com/wait"]))
    with pytest.raises(
        ReleaseFailed, match=r"pre-install hook ConfigMap a .*because of its finalizers: example.com/wait"
    ):
        await run(world, hook(config_map("a"), "pre-install"), timeout=5)


async def test_a_failed_job_ends_the_event_with_its_message_and_the_policies_of_all_are_honoured(world: World) -> None:
    kept = hook(config_map("a"), "pre-install")
    gone = hook(config_map("b"), "pre-install", policies=("hook-succeeded",))
    job = hook(JOB, "pre-install", weight=1, policies=("before-hook-creation", "hook-failed"))
    later = hook(config_map("later"), "pre-install", weight=2)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(_failing(world, kept, gone, job, later))
        await world.there(JOB)
        assert await world.get(gone.obj)
        await world.status(JOB, conditions=ENDED, failed=1)
    assert "pre-install hook Job migrate (c/templates/h.yaml) failed: default/Job/migrate the Job failed: Backoff" in (
        running.result()
    )
    there = [bool(await world.get(one.obj)) for one in (kept, gone, job, later)]
    assert there == [True, False, False, False]


async def _failing(world: World, *hooks: HelmHook) -> str:
    with pytest.raises(ReleaseFailed) as failure:
        await run(world, *hooks)
    return str(failure.value)


async def test_succeeded_hooks_are_deleted_at_the_end_of_the_event_except_definitions(world: World) -> None:
    policies = ("before-hook-creation", "hook-succeeded")
    hooks = [hook(config_map(name), "pre-install", policies=policies) for name in "ab"]
    told = await run(world, *hooks)
    assert [one.hook.name for one in told] == ["a", "b"]
    assert [await world.get(one.obj) for one in hooks] == [None, None]


async def test_a_job_that_does_not_complete_in_time_is_named_with_how_far_it_has_come(world: World) -> None:
    with pytest.raises(ReleaseFailed, match=r"default/Job/migrate 0 of 1 Pods have succeeded \(waited 30 s\)"):
        await run(world, hook(JOB, "post-upgrade"), event="post-upgrade", timeout=30)


async def test_a_job_that_is_deleted_meanwhile_has_failed(world: World) -> None:
    async with asyncio.TaskGroup() as group:
        running = group.create_task(_failing(world, hook(JOB, "pre-install")))
        await world.there(JOB)
        await asyncio.sleep(1)
        await world.delete(JOB)
    assert "was deleted while it was awaited" in running.result()


async def test_a_hook_is_created_where_it_may_not_be_applied(world: World, sandbox: Sandbox) -> None:
    """Helm needs no right to `patch` the kinds of its hooks."""
    sandbox.faults.add(Fault("answer", "PATCH", status=403))
    told: list[HelmHookRun] = []
    for _ in range(2):
        await tell(world, told, hook(config_map("a"), "pre-install"))
    assert [one.phase for one in told] == ["Running", "Succeeded"] * 2


async def test_an_object_that_is_refused_fails_the_hook(world: World, sandbox: Sandbox) -> None:
    sandbox.faults.add(Fault("answer", "PATCH", status=422))
    told: list[HelmHookRun] = []
    with pytest.raises(ReleaseFailed, match="pre-install hook ConfigMap a"):
        await tell(world, told, hook(config_map("a"), "pre-install"))
    assert [one.phase for one in told] == ["Running", "Failed"]

"""Health of releases on the sandbox, in virtual time: what is reported, when, and what is never called current.

Level: sandbox."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.background import Background
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.impersonation import ImpersonatingClient
from hookrunner.model.releases import Head, ObjectMarks, ServiceAccount
from hookrunner.releases.drift import Drift
from hookrunner.releases.health.health_tracker import HealthTracker
from hookrunner.releases.manifest_objects import ReleaseId
from hookrunner.releases.object_watches import ObjectWatches
from hookrunner.releases.objects.object_marks import with_marks
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.fakes.objects import deployment
from tests.releases.wants import configmap
from tests.releases.watching import LABELS, World, condition, made

pytestmark = pytest.mark.looptime

MARKS = ObjectMarks({"hookrunner.io/addon": "demo"} | LABELS)
RELEASE = ReleaseId("demo", "default")
HEAD = Head(*RELEASE, 1, "deployed")
READY = {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1}
PROGRESSED = condition("Progressing", reason="NewReplicaSetAvailable")
WEB: Any = deployment("web") | {"metadata": {"name": "web", "namespace": "default"}}
MAP: Any = configmap("a")
OLD = ServiceAccount("default", "old")


class Tracked:
    """A tracker whose changes are collected."""

    def __init__(self, client: Client, background: Background) -> None:
        self.world = World(client)
        self.background = background
        self.watches = ObjectWatches(self.world.watches, background)
        self.tracker = HealthTracker(client, self.world.kinds, self.watches, background)
        self.changes: list[str] = []
        self.revision = 0

    async def listen(self) -> None:
        async for identity in self.tracker.changes():
            self.changes.append(identity.name)

    async def apply(self, obj: Any, **change: Any) -> None:
        await self.world.apply(with_marks(obj, MARKS) | change)

    async def deploy(self) -> None:
        """The Deployment is there, and ready."""
        await self.apply(WEB)
        await self.ready()

    async def ready(self, generation: int = 1, **status: Any) -> None:
        """The Deployment's controller has made it ready."""
        conditions = [condition("Available"), PROGRESSED]
        await self.world.status(WEB, observedGeneration=generation, conditions=conditions, **READY | status)

    def track(self, *objects: Any, written: bool = True) -> None:
        """A run has ended with another revision."""
        self.revision += 1
        self.tracker.track(replace(HEAD, revision=self.revision), objects, written)

    async def after(self, seconds: float) -> list[str]:
        """The reports after a while."""
        await asyncio.sleep(seconds)
        reports = self.tracker.reports(RELEASE, self.revision)
        return (
            ["?"]
            if reports is None
            else [f"{report.name} {report.status} {report.message}".strip() for report in reports]
        )


@pytest.fixture
async def tracked(client: Client) -> AsyncIterator[Tracked]:
    async with asyncio.TaskGroup() as group:
        background = Background(group)
        tracked = Tracked(client, background)
        listening = group.create_task(tracked.listen())
        yield tracked
        listening.cancel()
        background.stop()


async def test_health_follows_the_objects(tracked: Tracked) -> None:
    await tracked.apply(WEB)
    tracked.track(MAP, WEB)
    assert tracked.tracker.reports(RELEASE, 1) is None
    assert await tracked.after(1) == [
        "ConfigMap a Current",
        "Deployment default/web InProgress 0 of 1 replicas are created",
    ]
    await tracked.ready()
    assert await tracked.after(0.1) == ["ConfigMap a Current", "Deployment default/web Current"]
    assert tracked.changes == ["demo", "demo"]
    await tracked.ready(message="nothing else")
    assert (await tracked.after(1), tracked.changes) == (await tracked.after(0), ["demo", "demo"])
    await tracked.world.delete(WEB)
    assert (await tracked.after(0.1))[1] == "Deployment default/web NotFound does not exist"


async def test_object_of_two_releases_counts_for_both_until_one_ends(tracked: Tracked) -> None:
    """One of them takes the place of the other one."""
    await tracked.apply(WEB)
    tracked.track(WEB)
    other = Head("other", "default", 1, "deployed")
    tracked.tracker.track(other, [WEB], written=False)
    assert await tracked.after(1) == ["Deployment default/web InProgress 0 of 1 replicas are created"]
    tracked.tracker.forget(ReleaseId("other", "default"))
    await tracked.ready()
    assert await tracked.after(0.1) == ["Deployment default/web Current"]
    assert tracked.tracker.reports(ReleaseId("other", "default"), 1) is None


async def test_release_without_rules_is_current_at_once(tracked: Tracked, sandbox: Sandbox) -> None:
    tracked.track(MAP)
    assert (await tracked.after(0.1), tracked.changes) == (["ConfigMap a Current"], ["demo"])
    assert not sandbox.faults.requests


async def test_state_before_a_write_is_never_reported(tracked: Tracked, sandbox: Sandbox) -> None:
    """The watch still shows the Deployment as it was ready."""
    await tracked.deploy()
    tracked.track(WEB)
    assert await tracked.after(1) == ["Deployment default/web Current"]
    stalled = sandbox.faults.add(Fault("stall", "watch=true"))
    await tracked.apply(WEB, spec=WEB["spec"] | {"replicas": 2})
    tracked.track(WEB)
    assert tracked.tracker.reports(RELEASE, 1) is None
    assert (await tracked.after(0.5))[0].startswith("Deployment default/web InProgress its controller has not seen")
    sandbox.faults.remove(stalled)


async def test_restart_reads_nothing_but_the_watch(tracked: Tracked, sandbox: Sandbox) -> None:
    await tracked.deploy()
    sandbox.faults.requests.clear()
    tracked.track(WEB, written=False)
    assert await tracked.after(1) == ["Deployment default/web Current"]
    assert not [line for line in sandbox.faults.requests if "/deployments/web" in line]


async def test_drift_and_health_share_one_watch_of_a_kind(tracked: Tracked, sandbox: Sandbox) -> None:
    drift = Drift(tracked.world.client, tracked.world.kinds, tracked.watches, tracked.background)
    await tracked.deploy()
    drift.track(RELEASE, [WEB], "missing")
    tracked.track(WEB, written=False)
    assert await tracked.after(1) == ["Deployment default/web Current"]
    assert len([line for line in sandbox.faults.requests if "watch=true" in line]) == 1


async def test_objects_of_other_releases_have_no_health(tracked: Tracked) -> None:
    """The shared watch shows what all releases have, this one without the mark of an addon."""
    await tracked.world.apply(WEB | {"metadata": WEB["metadata"] | {"labels": LABELS}})
    tracked.track(WEB, written=False)
    assert await tracked.after(1) == ["Deployment default/web NotFound does not exist"]


async def test_forbidden_kind_is_unknown(tracked: Tracked, sandbox: Sandbox) -> None:
    await tracked.deploy()
    sandbox.faults.add(Fault("answer", "GET /apis/apps/v1/deployments", status=403))
    tracked.track(WEB, written=False)
    assert (await tracked.after(1))[0].startswith("Deployment default/web Unknown it cannot be watched")


async def test_forbidden_read_is_unknown(tracked: Tracked, sandbox: Sandbox) -> None:
    await tracked.deploy()
    fault = sandbox.faults.add(Fault("answer", "GET /apis/apps/v1/namespaces/default/deployments/web", status=403))
    tracked.track(WEB)
    assert (await tracked.after(1))[0].startswith("Deployment default/web Unknown it cannot be read")
    sandbox.faults.remove(fault)
    assert await tracked.after(61) == ["Deployment default/web Current"]


async def test_unserved_kind_is_not_current(tracked: Tracked) -> None:
    widget = made("Widget", "w", "example.com/v1")
    tracked.track(widget)
    assert (await tracked.after(1))[0].startswith("Widget w Unknown it cannot be watched")


@pytest.mark.slow
async def test_lost_connection_makes_health_unknown_after_75_s(tracked: Tracked, sandbox: Sandbox) -> None:
    await tracked.deploy()
    tracked.track(WEB)
    assert await tracked.after(1) == ["Deployment default/web Current"]
    tracked.changes.clear()
    sandbox.faults.add(Fault("refuse", "/apis/apps/v1/deployments"))
    sandbox.faults.cut()
    await tracked.after(300)
    assert (await tracked.after(0))[0].startswith("Deployment default/web Unknown")
    assert tracked.changes == ["demo"]


async def test_silent_watch_makes_health_unknown(tracked: Tracked, sandbox: Sandbox) -> None:
    """The server takes connections and sends nothing."""
    await tracked.deploy()
    tracked.track(WEB)
    assert await tracked.after(1) == ["Deployment default/web Current"]
    sandbox.faults.add(Fault("drop", "/apis/apps/v1/deployments"))
    sandbox.faults.add(Fault("stall", "/apis/apps/v1/deployments"))
    assert (await tracked.after(400))[0].startswith("Deployment default/web Unknown it cannot be watched")
    sandbox.faults.clear()
    assert await tracked.after(120) == ["Deployment default/web Current"]


def pod(name: str, **status: Any) -> Any:
    spec = WEB["spec"]["template"]["spec"]
    return made("Pod", name, spec=spec) | {"metadata": {"name": name, "labels": {"app": "web"}}, "status": status}


WAITS = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
CRASHES = [{"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 3} | WAITS]


async def test_crashing_pod_fails_its_workload_by_name(tracked: Tracked) -> None:
    stateful = WEB | {"kind": "DaemonSet", "metadata": {"name": "web", "namespace": "default"}}
    spec = {key: value for key, value in WEB["spec"].items() if key != "replicas"}
    await tracked.apply(stateful, spec=spec)
    crashing = pod("web-1")
    crashing["metadata"]["labels"]["pod-template-generation"] = "1"
    await tracked.world.create(crashing)
    await tracked.world.status(crashing, phase="Running", containerStatuses=CRASHES)
    tracked.track(stateful)
    assert (await tracked.after(1))[0].startswith("DaemonSet default/web InProgress")
    assert await tracked.after(5) == ["DaemonSet default/web Failed Pod web-1: container c crashes again and again"]
    await tracked.world.delete(crashing)
    assert (await tracked.after(61))[0].startswith("DaemonSet default/web InProgress")


def replica_set(name: str, revision: str) -> Any:
    labels = {"app": "web", "pod-template-hash": name}
    metadata = {"name": name, "labels": labels, "annotations": {"deployment.kubernetes.io/revision": revision}}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": WEB["spec"]}


async def test_pod_of_an_earlier_revision_does_not_fail_a_deployment(tracked: Tracked, sandbox: Sandbox) -> None:
    """It may be the reason for the change that is being rolled out."""
    annotated = WEB["metadata"] | {"annotations": {"deployment.kubernetes.io/revision": "2"}}
    await tracked.apply(WEB | {"metadata": annotated})
    for found in (replica_set("old", "1"), replica_set("new", "2")):
        await tracked.world.create(found)
        crashing = pod(f"web-{found['metadata']['name']}")
        crashing["metadata"]["labels"] |= found["metadata"]["labels"]
        await tracked.world.create(crashing)
        if found["metadata"]["name"] == "old":
            await tracked.world.status(crashing, phase="Running", containerStatuses=CRASHES)
    tracked.track(WEB)
    assert (await tracked.after(16))[0] == "Deployment default/web InProgress 0 of 1 replicas are created"
    await tracked.world.status(pod("web-new"), phase="Running", containerStatuses=CRASHES)
    expected = "Deployment default/web Failed Pod web-new: container c crashes again and again"
    assert await tracked.after(61) == [expected]
    sandbox.faults.add(Fault("answer", "/namespaces/default/pods", status=403))
    assert (await tracked.after(61))[0].startswith("Deployment default/web InProgress")


async def test_ready_workload_does_not_ask_for_its_pods(tracked: Tracked, sandbox: Sandbox) -> None:
    await tracked.apply(WEB)
    tracked.track(WEB)
    await tracked.after(1)
    await tracked.ready()
    await tracked.after(200)
    assert not [line for line in sandbox.faults.requests if "/pods" in line]


async def test_release_is_tracked_once_for_each_revision(tracked: Tracked) -> None:
    tracked.track(MAP, written=False)
    assert tracked.tracker.tracks(HEAD)
    tracked.tracker.track(HEAD, [WEB], written=True)
    assert [report.name for report in tracked.tracker.reports(RELEASE, 1) or ()] == ["ConfigMap a"]
    assert not tracked.tracker.tracks(replace(HEAD, revision=2))
    assert tracked.tracker.reports(RELEASE, 2) is None


class Heard(ImpersonatingClient):
    """Keeps as whom each request is sent."""

    def __init__(self, own: Client) -> None:
        super().__init__(own, OLD)
        self.users: list[str] = []

    async def send(self, call: ApiCall) -> bytes:
        self.users.append(call.user)
        return await self._own.send(call)


async def test_account_that_takes_over_without_another_revision_reads_from_then_on(tracked: Tracked) -> None:
    """The one before may be deleted then."""
    heard = Heard(tracked.world.client)
    tracker = HealthTracker(heard, tracked.world.kinds, tracked.watches, tracked.background)
    await tracked.apply(WEB)
    for account in (OLD, OLD._replace(name="new")):
        tracker.track(replace(HEAD, account=account), [WEB], written=False)
    await tracked.after(6)
    assert heard.users[0] == "system:serviceaccount:default:new"


async def test_release_that_begins_again_at_revision_1_is_tracked(tracked: Tracked) -> None:
    tracked.track(WEB, written=False)
    tracked.track(WEB, written=False)
    tracked.tracker.track(HEAD, [MAP], written=False)
    assert [report.name for report in tracked.tracker.reports(RELEASE, 1) or ()] == ["ConfigMap a"]


async def test_health_is_known_of_what_a_run_has_written_until_it_ends(tracked: Tracked) -> None:
    """Its status is still about the revision before, whose health would be unknown meanwhile."""
    tracked.track(MAP, written=False)
    tracked.track(MAP, written=False)
    known = tracked.tracker.reports(RELEASE, 2)
    assert [report.name for report in known or ()] == ["ConfigMap a"]
    assert tracked.tracker.reports(RELEASE, 1) == known


async def test_a_thousand_releases_leave_nothing_behind(tracked: Tracked) -> None:
    tracked.track(WEB)
    await tracked.after(1)
    for number in range(1000):
        head = replace(HEAD, name=f"r{number}")
        tracked.tracker.track(head, [WEB | {"metadata": {"name": f"d{number}"}}], written=False)
        tracked.tracker.forget(ReleaseId(head.name, head.namespace))
    tracked.tracker.forget(RELEASE)
    await tracked.after(1)
    names = sorted(task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(("health", "objects")))
    assert names == ["health of Pods", "health of facts", "health of objects"]
    assert tracked.tracker.reports(RELEASE, 1) is None

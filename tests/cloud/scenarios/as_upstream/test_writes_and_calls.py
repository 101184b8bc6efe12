"""Load balancers and Nodes: how often a manager writes and asks, and what it does when a write is refused or a call is
slow. In `scenes.py` the end alone counts.

Each is played with Kubernetes' own manager, and with ours under --compat upstream on a real API server and on the
sandbox. What must not happen is looked at after something that comes later: each manager has one worker of a kind.

Level: control plane.
"""

from pathlib import Path

import pytest

from tests.cloud.scenarios.documents import SIMCLOUD, Document, node
from tests.cloud.scenarios.scenes import FINALIZER, NOT_READY, READY, initialized, service
from tests.cloud.scenarios.stages import Stage, kubernetes
from tests.cloud.scenarios.world import Scene, Step
from tests.flows.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

RARELY = "--node-status-update-frequency=1h"
"""Addresses of Nodes are asked for once, at the beginning."""
HEARTBEATS = 500
SLOW = 3.0
LONG, FIRST_PAUSE, ROUNDED = 7.0, 5.0, 0.01
BETA_ZONE, ZONE = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
LABELLED = Step(spec={"metadata": {"labels": {BETA_ZONE: "edited"}}})
TAINTED = Step(spec={"spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}})
STRIPPED = {"metadata": {"finalizers": None}}
ENSURING, ENSURED = ["Normal", "EnsuringLoadBalancer"], ["Normal", "EnsuredLoadBalancer"]
WITHOUT_NODES, FAILED = ["Warning", "UnAvailableLoadBalancer"], ["Warning", "SyncLoadBalancerFailed"]


async def test_load_balancers_without_nodes(stage: Stage) -> None:
    with stage.run():
        await write_twice_and_not_again(stage)
        await repeat_writes_after_conflicts(stage)
        await ignore_that_a_service_is_gone(stage)
        await wait_as_long_as_the_cloud_says(stage)
        await delete_that_of_the_service_before(stage)


async def write_twice_and_not_again(stage: Stage) -> None:
    """Without Nodes there is a Warning and a load balancer. To ensure it again writes nothing."""
    scene = Scene("s10-equal", service=service("s10-equal"))
    await begin(stage, scene, WITHOUT_NODES)
    assert stage.cloud()["loadBalancers"].popitem()[1]["nodes"] == []
    assert len(stage.writes(scene.name)) == 2, "the finalizer, and the address"

    stage.world.change(scene, note("1"))
    await until(lambda: len(stage.calls("lb-ensure", about=scene.name)) == 2, "the load balancer ensured again")
    await let_pass(stage, "s10-later")
    assert len(stage.writes(scene.name)) == 2


async def repeat_writes_after_conflicts(stage: Stage) -> None:
    """Our patch of the finalizer names the version that it is for: conflicts are usual, and it is made anew at once."""
    status = Scene("s16-status", service=kept(service("s16-status")))
    finalizer = Scene("s16-finalizer", service=service("s16-finalizer"))
    for scene in (status, finalizer):
        stage.proxy.answer(409, f"PATCH services/{scene.name}/status")
    stage.world.make([status, finalizer])
    await reach(stage, status, WITHOUT_NODES, FAILED)
    await reach(stage, finalizer, WITHOUT_NODES, *([FAILED] if stage.manager is kubernetes else []))
    assert len(stage.writes(status.name)) == len(stage.calls("lb-ensure", about=status.name)) == 2
    assert (len(stage.writes(finalizer.name)), len(stage.calls("lb-ensure", about=finalizer.name))) == (3, 1)

    stage.proxy.answer(409, f"PATCH services/{finalizer.name}/status")
    stage.world.change(finalizer, Step(spec=None))
    await until(lambda: not stage.end(finalizer).get("exists", True), "the Service goes")
    await until(lambda: "DeletedLoadBalancer" in reasons(stage, finalizer), "its load balancer is gone")
    assert (FAILED[1] in reasons(stage, finalizer)) == (stage.manager is kubernetes)


async def ignore_that_a_service_is_gone(stage: Stage) -> None:
    scene = Scene("s16-gone", service=kept(service("s16-gone")))
    stage.proxy.answer(404, f"PATCH services/{scene.name}/status")
    stage.world.make([scene])
    await until(lambda: stage.writes(scene.name), "the write that is answered with 404")
    await let_pass(stage, "s16-later")
    end = stage.end(scene)
    assert (end["ingress"], [event[:2] for event in end["events"]]) == ([], sorted([ENSURED, ENSURING, WITHOUT_NODES]))
    assert len(stage.writes(scene.name)) == len(stage.calls("lb-ensure", about=scene.name)) == 1


async def wait_as_long_as_the_cloud_says(stage: Stage) -> None:
    """Otherwise five seconds after the first failure. Both only at least: how busy the machine is, is not known."""
    patient = _failing_once("s11-patient", {"what": "Pending", "retryAfter": LONG})
    usual = _failing_once("s11-usual", {"what": "Unavailable"})
    stage.world.make([patient, usual])
    for scene, seconds in ((usual, FIRST_PAUSE), (patient, LONG)):
        await reach(stage, scene, WITHOUT_NODES, FAILED)
        first, second = stage.calls("lb-ensure", about=scene.name)
        assert second["time"] - second["seconds"] - first["time"] > seconds - ROUNDED


async def delete_that_of_the_service_before(stage: Stage) -> None:
    """It lost its finalizer by hand, was deleted, and came again under its name."""
    scene = Scene("s20-again", service=service("s20-again"))
    await begin(stage, scene, WITHOUT_NODES)
    first = stage.balancers(scene)
    stage.world.change(scene, Step(spec=STRIPPED))
    stage.world.change(scene, Step(spec=None))
    await begin(stage, scene, WITHOUT_NODES, ["Normal", "DeletingLoadBalancer"], ["Normal", "DeletedLoadBalancer"])
    assert stage.balancers(scene) != first
    assert stage.verbs(scene) == ["lb-ensure", "lb-delete", "lb-ensure"]


async def test_address_without_a_mode_is_written_once(stage: Stage, tmp_path: Path) -> None:
    """The API server completes it. Kubernetes' own manager then sends the same again, without an effect."""
    program = tmp_path / "without-modes"
    program.write_text(f'#!/bin/sh\n{SIMCLOUD} "$@" | sed \'s/, "ipMode": "VIP"//\'\n')
    program.chmod(0o700)
    scene = Scene("s26-mode", service=service("s26-mode"))
    with stage.run(provider=program):
        await begin(stage, scene, WITHOUT_NODES)
    before = stage.world.live(scene)
    with stage.run(provider=program):
        await until(lambda: len(stage.calls("lb-ensure", about=scene.name)) == 2, "the load balancer ensured again")
        await let_pass(stage, "s26-later")
    assert stage.world.live(scene) == before
    assert len(stage.writes(scene.name)) == (3 if stage.manager is kubernetes else 2)


async def test_nodes_that_only_report_cost_nothing_and_new_ones_are_not_lost(stage: Stage) -> None:
    beating = Scene("n23-beating", initialized("n23-beating"))
    stage.world.make([beating])
    with stage.run(RARELY):
        await until(lambda: stage.end(beating)["addresses"], "the addresses of the beginning")
        await ignore_heartbeats(stage, beating)
        other = await give_new_nodes_to_all(stage)
        await update_after_changes_that_count(stage, other)
        await let_a_lost_load_balancer_be(stage)


async def ignore_heartbeats(stage: Stage, scene: Scene) -> None:
    asked, written = len(stage.calls("instances", about=scene.name)), stage.writes(scene.name)
    assert (asked, len(written)) == (1, 1)
    for number in range(HEARTBEATS):
        beat = f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"
        ready = {"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": beat}
        stage.world.change(scene, Step(status={"conditions": [ready]}))
    later = Scene("n23-later", node("n23-later"))
    stage.world.make([later])
    await until(lambda: stage.end(later)["events"], "a Node that came after them is initialised")
    assert len(stage.calls("instances", about=scene.name)) == asked
    assert stage.writes(scene.name) == written


async def give_new_nodes_to_all(stage: Stage) -> Scene:
    """A call about new Nodes is slow; meanwhile another Node and another Service come. One of the Services."""
    first, second, third = (Scene(f"s19-{name}", initialized(f"s19-{name}")) for name in ("one", "two", "three"))
    before, after = (Scene(f"s19-{name}", service=service(f"s19-{name}")) for name in ("before", "after"))
    stage.world.make([first, before])
    await until(lambda: stage.backends(before) == {"s19-one"}, "the first load balancer has the first Node")
    stage.set_faults({"verb": "lb-update", "what": "delay", "seconds": SLOW, "times": 1})
    stage.world.make([second])
    await until(lambda: not stage.cloud()["faults"], "the slow call has begun")
    stage.world.make([third, after])
    wanted = {first.name, second.name, third.name}
    await until(lambda: stage.backends(before) == stage.backends(after) == wanted, "all have all")
    return before


async def update_after_changes_that_count(stage: Stage, other: Scene) -> None:
    """Nodes that come, go, or get another providerID are new to load balancers; the autoscaler's taint counts then.
    `other` is a Service that is there already."""
    first, second = Scene("s17-one", initialized("s17-one")), Scene("s17-two", initialized("s17-two", providerID=""))
    web = Scene("s17-web", service=service("s17-web"))
    stage.world.make([first])
    await until(lambda: first.name in stage.backends(other), "the Node is known")
    stage.world.make([web])
    await until(lambda: stage.end(web)["ingress"], "a load balancer")
    await make_changes_that_do_not_count(stage, first, web)
    assert stage.verbs(web) == ["lb-ensure"]

    stage.world.make([second])
    await until(lambda: len(stage.verbs(web)) == 2, "a call about the Node that came")
    assert stage.backends(web) & {first.name, second.name} == {second.name}
    stage.world.change(second, Step(spec={"spec": {"providerID": f"simcloud://i-{second.name}"}}))
    await until(lambda: len(stage.verbs(web)) == 3, "a call about its providerID")
    stage.world.change(second, Step(spec=None))
    await until(lambda: len(stage.verbs(web)) == 4, "a call without it")
    assert not stage.backends(web) & {first.name, second.name}
    assert stage.verbs(web) == ["lb-ensure", *["lb-update"] * 3]


async def make_changes_that_do_not_count(stage: Stage, machine: Scene, web: Scene) -> None:
    """Of a Node and a Service; wait until all have been seen: the last is a label that has to be corrected."""
    for change in (Step(status=NOT_READY), TAINTED, Step(status=READY), LABELLED):
        stage.world.change(machine, change)
    for change in (LABELLED, Step(spec={"spec": {"selector": {"app": "other"}}})):
        stage.world.change(web, change)
    await until(lambda: stage.end(machine)["labels"].get(ZONE) == "edited", "a label that follows another")
    later = Scene("s17-later", service=service("s17-later"))
    stage.world.make([later])
    await until(lambda: stage.end(later)["ingress"], "another Service that has its turn")


async def let_a_lost_load_balancer_be(stage: Stage) -> None:
    """It cannot be given other Nodes; that is no failure, and it is not made anew."""
    lost, later = (Scene(f"s18-{name}", service=service(f"s18-{name}")) for name in ("lost", "later"))
    stage.world.make([lost])
    await until(lambda: stage.end(lost)["ingress"], "a load balancer")
    (balancer,) = stage.balancers(lost)
    stage.world.change_cloud(lambda cloud: cloud["loadBalancers"].pop(balancer))
    stage.world.make([Scene("s18-node", initialized("s18-node"))])
    verbs = ["lb-ensure", "lb-update", *(["lb-get"] if stage.manager is kubernetes else [])]
    await until(lambda: stage.verbs(lost) == verbs, "a call about its Nodes")
    stage.world.make([later])
    await until(lambda: stage.end(later)["ingress"], "another Service that has its turn")
    assert stage.verbs(lost) == verbs
    assert not [event for event in stage.end(lost)["events"] if event[0] == "Warning"]


async def begin(stage: Stage, scene: Scene, *events: list[str]) -> None:
    """Create a Service, and wait until it has what `reach` waits for."""
    stage.world.make([scene])
    await reach(stage, scene, *events)


async def reach(stage: Stage, scene: Scene, *events: list[str]) -> None:
    """Wait until a Service has its load balancer, its address and these Events, besides those that each has."""
    ingress = [{"ip": "of the pool", "ipMode": "VIP"}]
    expected = sorted([*event, "service-controller"] for event in (ENSURING, ENSURED, *events))
    wanted = {"finalizers": [FINALIZER], "ingress": ingress, "balancers": [[[80], []]], "events": expected}
    try:
        await until(lambda: stage.end(scene) == wanted, scene.name)
    except TimeoutError:
        assert stage.end(scene) == wanted


async def let_pass(stage: Stage, name: str) -> None:
    """Wait until everything is over that was to be done before for Services, with another one that has its turn."""
    await begin(stage, Scene(name, service=service(name)), WITHOUT_NODES)


def reasons(stage: Stage, scene: Scene) -> set[str]:
    """Of the Events about it."""
    return {reason for _, reason, _ in stage.end(scene)["events"]}


def _failing_once(name: str, fault: Document) -> Scene:
    return Scene(name, service=service(name), faults=({"verb": "lb-ensure", "times": 1, **fault},))


def kept(body: Document) -> Document:
    """With the finalizer from the start: then the status is the only write."""
    return {**body, "metadata": {**body["metadata"], "finalizers": [FINALIZER]}}


def note(text: str) -> Step:
    """An annotation: the load balancer is ensured again."""
    return Step(spec={"metadata": {"annotations": {"example.com/note": text}}})

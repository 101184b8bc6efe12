"""What keeps hookrunner, with its defaults, from deleting Nodes of which a cloud says that their machines are gone: on
the sandbox, nightly on a real API server too, with a process for each question.

Each test ends with a deletion, or with questions that came after the one that would have led to it.

Level: control plane.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.scenarios.documents import Document
from tests.cloud.scenarios.managers import OLD_ENOUGH, UNBOUNDED, is_calling, ours, read_status, release_held
from tests.cloud.scenarios.scenes import NOT_READY, initialized
from tests.cloud.scenarios.world import Scene, Step, World
from tests.controlplane.cluster import OwnCluster
from tests.flows.waiting import until

pytestmark = pytest.mark.usefixtures("launcher")

LIFECYCLE = "--controllers=cloud-node-lifecycle-controller"
"""Nothing else asks about machines, so that the cloud's answers go to passes one by one."""
MANY = (OLD_ENOUGH, *UNBOUNDED)
WITNESS = Scene("witness", initialized("witness"))
TO_BE_DELETED = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1", "effect": "NoSchedule"}
CORDON = {"spec": {"unschedulable": True}}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DELETE = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["delete"]}
RULES = (
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
    {**DELETE, "resourceNames": ["allowed"]},
)
"""Those of the loop, but only one Node may be deleted."""


def silent(name: str, instance: Document | None, *answers: tuple[str, int], **rest: Any) -> Scene:
    """A Node that is not ready. `answers`: how the cloud misleads about it, and how often, one after the other."""
    faults = tuple({"verb": "instances", "what": what, "times": times} for what, times in answers)
    return Scene(name, initialized(name, ready="False", **rest), instance=instance, faults=faults)


def gone(name: str, **rest: Any) -> Scene:
    """A Node that is not ready, and has no machine."""
    return silent(name, None, **rest)


def names(world: World) -> set[str]:
    """The Nodes that exist."""
    return set(world.nodes())


def reasons(world: World, scene: Scene) -> set[str]:
    """The reasons of the loops' Events about a Node."""
    return {reason for _, reason, _ in world.ends([scene])[scene.name]["events"]}


async def pass_again(world: World) -> None:
    """Wait until all has been done that was decided until now: a pass asks when the one before it has ended."""
    asked = count_passes(world)
    await until(lambda: count_passes(world) >= asked + 3, "three more passes")


def count_passes(world: World) -> int:
    """How often it was asked whether machines exist."""
    return sum("state" in call["want"] for call in world.calls("instances"))


def obstacles(world: World) -> dict[str, str]:
    """What holds each deletion."""
    return {deletion["node"]: deletion["reason"] for deletion in read_status(world).get("deletions", ())}


async def test_only_answers_in_a_row_count(each_world: World) -> None:
    flickers = silent("flickers", {}, ("all-gone", 2), ("odd-state", 1), ("all-gone", 2))
    returns = silent("returns", {}, ("all-gone", 2), ("strangers", 1), ("all-gone", 2))
    with ours(each_world, LIFECYCLE, *MANY):
        each_world.make([WITNESS, flickers, returns, silent("goes", {}, ("all-gone", 3))])
        await until(lambda: "goes" not in names(each_world), "the third answer in a row deletes")
        await until(lambda: not json.loads(each_world.state.read_text())["faults"], "all misleading answers given")
        await pass_again(each_world)
        assert names(each_world) == {"witness", "flickers", "returns"}
        each_world.change(flickers, Step(instance=None))
        await until(lambda: names(each_world) == {"witness", "returns"}, "a machine that is gone for good")


async def test_young_nodes_stay(each_world: World) -> None:
    with ours(each_world, "--node-delete-min-age=10h"):
        each_world.make([WITNESS, gone("young")])
        wanted = {"young": "younger than 36000 s"}
        await until(lambda: obstacles(each_world) == wanted, "only its age holds the deletion")
        await pass_again(each_world)
        assert names(each_world) == {"witness", "young"}
    with ours(each_world, OLD_ENOUGH):
        await until(lambda: names(each_world) == {"witness"}, "the Node deleted where age does not matter")


async def test_nothing_is_deleted_while_the_cloud_knows_no_machine_at_all(each_world: World) -> None:
    with ours(each_world, *MANY):
        each_world.make([gone("first"), gone("second")])
        wanted = dict.fromkeys(["first", "second"], "the cloud says of no Node that its machine exists")
        await until(lambda: obstacles(each_world) == wanted, "both deletions are held")
        await pass_again(each_world)
        assert names(each_world) == {"first", "second"}
        each_world.make([WITNESS])
        await until(lambda: names(each_world) == {"witness"}, "both deleted when a machine vouches for the cloud")


async def test_nodes_that_were_announced_do_not_count_for_the_share(each_world: World) -> None:
    witnesses = [Scene(name, initialized(name)) for name in ("one", "two", "three")]
    left, right = gone("left"), gone("right")
    with ours(each_world, OLD_ENOUGH):
        each_world.make([*witnesses, left, right])
        await until(lambda: "NodeDeletionHeld" in reasons(each_world, left) & reasons(each_world, right), "both held")
        await pass_again(each_world)
        assert names(each_world) >= {"left", "right"}
        each_world.change(left, Step(spec=CORDON))
        await until(lambda: names(each_world) == {"one", "two", "three"}, "both deleted, as one was announced")

        each_world.make([left, gone("chosen", taints=(TO_BE_DELETED,))])
        await until(lambda: names(each_world) == {"one", "two", "three"}, "the autoscaler's choice beside another")

        each_world.make([left, right])
        await until(lambda: held(each_world) == {"left": True, "right": True}, "both held again")
        assert "left, right" in release_held(each_world)
        await until(lambda: names(each_world) == {"one", "two", "three"}, "both deleted, as a person wished")


def held(world: World) -> dict[str, bool]:
    """The Nodes whose machines are said to be gone; is their deletion held because these are too many?"""
    return {deletion["node"]: deletion["held"] for deletion in read_status(world).get("deletions", ())}


async def test_node_made_anew_between_answer_and_deletion_stays(each_world: World) -> None:
    reborn = Scene("reborn", initialized("reborn"))
    anew = Scene("reborn", initialized("reborn", ready="False", providerID="simcloud://i-second-life"))
    with ours(each_world, LIFECYCLE, "--node-delete-confirmations=1", *MANY) as manager:
        each_world.make([WITNESS, reborn])
        await until(lambda: read_status(each_world).get("loops"), "the loop at work")
        with each_world.holding_calls() as cloud:
            cloud["instances"]["reborn"]["id"] = "i-second-life"
            each_world.change(reborn, Step(status=NOT_READY))
            await until(lambda: is_calling(manager, "instances"), "a question about the first one")
            each_world.change(reborn, Step(spec=None))
            each_world.create([anew])
            uid = each_world.nodes()["reborn"]["metadata"]["uid"]
        await pass_again(each_world)
        assert each_world.nodes()["reborn"]["metadata"]["uid"] == uid


async def test_dry_run_says_what_would_go(each_world: World) -> None:
    scene = gone("would-go")
    with ours(each_world, "--node-delete-dry-run", OLD_ENOUGH):
        each_world.make([WITNESS, scene])
        await until(lambda: "DeletingNode" in reasons(each_world, scene), "the Event")
        await pass_again(each_world)
        assert names(each_world) == {"witness", "would-go"}
        assert "node would be deleted (dry run)" in (each_world.directory / "ours.log").read_text()
    with ours(each_world, OLD_ENOUGH):
        await until(lambda: names(each_world) == {"witness"}, "the Node deleted without the flag")


@pytest.mark.nightly
async def test_refused_deletion_is_repeated_and_holds_up_no_other(own_cluster: OwnCluster, tmp_path: Path) -> None:
    """On a real API server alone: the sandbox knows no rights."""
    account = own_cluster.user("cloud", "default", RULES, everywhere=True)
    world = World(account.kubeconfig, own_cluster.request, tmp_path)
    refused = gone("refused")
    with ours(world, LIFECYCLE, *MANY):
        world.make([WITNESS, refused, gone("allowed")])
        await until(lambda: "DeletingNodeFailed" in reasons(world, refused), "the refusal")
        await until(lambda: names(world) == {"witness", "refused"}, "the other one deleted")
        assert "verbs: [delete]" in dict(read_status(world)["loops"])["cloud-node-lifecycle-controller"]
        own_cluster.request("PATCH", f"{RBAC}/clusterroles/default-cloud", {"rules": [*RULES[:-1], DELETE]})
        await until(lambda: names(world) == {"witness"}, "deleted, too, when that is allowed")

"""`hookrunner addon abandon`: the objects of an instance belong to their users, whether hookrunner runs or not.

Level: sandbox."""

import asyncio
import os

from kubetypes.json_values import JSON
from tests import launcher
from tests.flows.modules.test_addon_instances import THINGS, put, reaches, start, things
from tests.flows.modules.world import World

__all__ = ["things"]


async def abandon(world: World, *arguments: str) -> tuple[int, str]:
    """The exit code and what is printed."""
    words = ("addon", "abandon", *arguments, f"--kube-config={world.operator.kubeconfig}")
    done = await asyncio.to_thread(launcher.run, words, cwd=world.directory, env=os.environ)
    return done.returncode, done.stdout + done.stderr


async def metadata(world: World, path: str) -> JSON:
    return (await world.ask("GET", path, None))["metadata"]


async def installed(world: World) -> None:
    await start(world)
    await put(world)
    await world.becomes("of-thing", text="hi", version="1.0.0")
    await reaches(world, "Current", "Current")


async def belongs_to_no_one(world: World) -> None:
    left = await metadata(world, world.path("of-thing"))
    assert "ownerReferences" not in left
    assert not [
        label for label in left["labels"] if "hookrunner" in label or "discovery" in label or "managed" in label
    ]
    assert not left.get("annotations")
    assert await world.releases() == []


async def test_running_hookrunner_leaves_an_abandoned_instance_alone(things: World) -> None:
    await installed(things)
    code, printed = await abandon(things, "thing/x")
    assert (code, printed.splitlines()) == (
        0,
        [
            "thing/x: annotated with hookrunner.io/unmanaged=true",
            "release default/thing.default.x: 1 objects left, records deleted",
            "thing/x: not managed any more",
        ],
    )
    await belongs_to_no_one(things)
    left = await metadata(things, f"{THINGS}/x")
    assert (left["annotations"], left.get("finalizers") or []) == ({"hookrunner.io/unmanaged": "true"}, [])
    await put(things, text="changed")
    await things.ask("DELETE", f"{THINGS}/x", None)
    await put(things, "y", version="9.9.9")  # what comes after it is done
    await reaches(things, "PackageError", "NotFound", "y")
    await belongs_to_no_one(things)
    assert await things.map("of-thing") == {"text": "hi", "version": "1.0.0"}


async def test_deletion_that_waits_for_a_hookrunner_that_is_gone_ends(things: World) -> None:
    await installed(things)
    await things.stop()
    await things.ask("DELETE", f"{THINGS}/x", None)
    assert "deletionTimestamp" in await metadata(things, f"{THINGS}/x")
    code, printed = await abandon(things, "thing/x", "-n", "default")
    assert code == 0, printed
    await belongs_to_no_one(things)
    assert await things.ask("GET", f"{THINGS}/x", None) is None


async def test_abandoned_instance_is_taken_up_again_without_the_annotation(things: World) -> None:
    await installed(things)
    for _ in range(2):  # it may be repeated
        code, printed = await abandon(things, "thing/x")
        assert code == 0, printed
    await put(things, adopt=True)
    unmanaged: JSON = {"hookrunner.io/unmanaged": None}
    await things.ask("PATCH", f"{THINGS}/x", {"metadata": {"annotations": unmanaged}})
    await things.until(lambda: things.releases(), ["thing.default.x.v1 deployed"], "the release")


async def test_unknown_instance_is_refused(things: World) -> None:
    await start(things)
    code, printed = await abandon(things, "thing/z", "-n", "web")
    assert (code, "there is no thing/z in namespace 'web' in the cluster" in printed) == (2, True)
    code, printed = await abandon(things, "thing")
    assert (code, "'thing' is not ADDON/NAME" in printed) == (2, True)

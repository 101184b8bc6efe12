"""A user makes a kind of their own an addon, on the sandbox and on a real control plane: packages and one object, while
hookrunner runs; then the object is deleted, and what it has led to stays.

Level: control plane.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kubetypes.json_values import JSON
from tests import launcher
from tests.flows.modules.conftest import on_server
from tests.flows.modules.world import World
from tests.instances.lives.places import MAP

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVED = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
OPEN = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


@pytest.fixture(params=["sandbox", pytest.param("cluster", marks=pytest.mark.cluster)])
async def world(launcher: tuple[str, ...], request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """Hookrunner with packages of `widget`, which a Generic may name, and no directory of addons."""
    async with on_server(request, tmp_path) as world:
        for version in ("1.0.0", "2.0.0"):
            world.write(f"srv/packages/widget/{version}/a.yaml", MAP.format(name="made", value=version))
        world.write("srv/stable", "manifests: [{version: 1.0.0}]\n")
        world.operator.flags += (f"--addon-generic-sources={tmp_path / 'srv'}", "--addon-refresh=1s")
        yield world


async def phase(world: World, path: str) -> str:
    return (await state(world, path))[0]


async def state(world: World, path: str) -> tuple[str, str]:
    """Phase and version of an instance."""
    status: dict[str, Any] = (await world.ask("GET", path, None) or {}).get("status") or {}
    return str(status.get("phase")), str(status.get("version"))


async def made(world: World) -> str:
    obj: dict[str, Any] = await world.ask("GET", f"/api/v1/namespaces/{world.namespace}/configmaps/made", None) or {}
    return str((obj.get("data") or {}).get("x"))


@pytest.mark.slow
async def test_kinds_of_users_are_addons_until_their_generics_are_deleted(world: World) -> None:
    """One test and one program: two programs that both allow Generics in all namespaces would write each other's
    statuses, if they had one cluster at the same time."""
    await world.start()
    await world.until(lambda: is_served(world, generics(world)), True, "the kind Generic")
    await come_and_return(world)
    await leave_to_its_user(world)


def generics(world: World) -> str:
    return f"/apis/addons.x-k8s.io/v1alpha1/namespaces/{world.namespace}/generics"


def widgets(world: World, group: str) -> str:
    return f"/apis/{group}/v1/namespaces/{world.namespace}/widgets"


async def add(world: World, name: str, group: str) -> None:
    """A Generic of this name for the kind Widget of a group."""
    kind: JSON = {"group": group, "kind": "Widget", "version": "v1"}
    spec = {"objectKind": kind, "channel": str(world.directory / "srv")}
    await create(world, generics(world), "Generic", name, spec)


async def come_and_return(world: World) -> None:
    """A kind is defined after its Generic; its channel leads on, the Generic is deleted and created again."""
    group = "flows.example.com"
    instances = widgets(world, group)
    await add(world, "g", group)
    await world.until(lambda: phase(world, f"{generics(world)}/g"), "Pending", "the Generic without its kind")
    await define(world, group)
    await world.until(lambda: phase(world, f"{generics(world)}/g"), "Current", "the Generic")
    await create(world, instances, "Widget", "x", {})
    await world.until(lambda: phase(world, f"{instances}/x"), "Current", "the instance")
    assert await made(world) == "1.0.0"

    world.write("srv/stable", "manifests: [{version: 2.0.0}]\n")
    await world.until(lambda: state(world, f"{instances}/x"), ("Current", "2.0.0"), "what the channel leads to")
    await delete_generic(world, "g", group)
    assert (await made(world), await phase(world, f"{instances}/x")) == ("2.0.0", "Current")
    await add(world, "g", group)
    await world.until(lambda: phase(world, f"{generics(world)}/g"), "Current", "the Generic again")
    await world.ask("DELETE", f"{instances}/x", None)
    await world.until(lambda: made(world), "None", "what the instance had installed")


async def leave_to_its_user(world: World) -> None:
    """An instance without its Generic waits with its finalizer, and `addon abandon` finds its kind, which names no
    addon."""
    group = "left.example.com"
    instances = widgets(world, group)
    await define(world, group)
    await add(world, "left", group)
    await world.until(lambda: phase(world, f"{generics(world)}/left"), "Current", "the Generic")
    await create(world, instances, "Widget", "x", {})
    await world.until(lambda: phase(world, f"{instances}/x"), "Current", "the instance")
    await delete_generic(world, "left", group)
    await world.ask("DELETE", f"{instances}/x", None)
    words = ["addon", "abandon", "widget-left-example-com/x", "-n", world.namespace]
    access = f"--kube-config={world.operator.kubeconfig}"
    ended = await asyncio.to_thread(launcher.run, [*words, access], cwd=world.directory, env=os.environ)
    assert "not managed any more" in ended.stdout, ended.stderr
    assert (await made(world), await world.ask("GET", f"{instances}/x", None)) == ("2.0.0", None)


async def delete_generic(world: World, name: str, group: str) -> None:
    """Delete one, and wait until hookrunner says so of its kind."""
    await world.ask("DELETE", f"{generics(world)}/{name}", None)
    addon = f"widget-{group.replace('.', '-')} (Widget): not offered since"
    await world.operator.names("addons", addon)


async def create(world: World, place: str, kind: str, name: str, spec: JSON) -> None:
    group = place.removeprefix("/apis/").partition("/namespaces/")[0]
    obj = {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": spec}
    assert await world.ask("POST", place, obj), f"{place} is not served"


async def is_served(world: World, place: str) -> bool:
    return await world.ask("GET", place, None) is not None


async def define(world: World, group: str) -> None:
    """The kind Widget of a group."""
    names = {"kind": "Widget", "plural": "widgets"}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [SERVED | {"schema": OPEN}]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    await world.ask("POST", CRDS, head | {"metadata": {"name": f"widgets.{group}"}, "spec": spec})

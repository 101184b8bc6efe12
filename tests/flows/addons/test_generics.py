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
    status: dict[str, Any] = (await world.ask("GET", path, None) or {}).get("status") or {}
    return str(status.get("phase"))


async def made(world: World) -> str:
    obj: dict[str, Any] = await world.ask("GET", f"/api/v1/namespaces/{world.namespace}/configmaps/made", None) or {}
    return str((obj.get("data") or {}).get("x"))


@pytest.mark.slow
async def test_kind_of_a_user_is_an_addon_until_its_generic_is_deleted(world: World) -> None:
    group = "flows.example.com"
    generics = f"/apis/addons.x-k8s.io/v1alpha1/namespaces/{world.namespace}/generics"
    widgets = f"/apis/{group}/v1/namespaces/{world.namespace}/widgets"
    kind: JSON = {"group": group, "kind": "Widget", "version": "v1"}
    generic = {"objectKind": kind, "channel": str(world.directory / "srv")}
    await world.start()
    await world.until(lambda: is_served(world, generics), True, "the kind Generic")
    await create(world, generics, "Generic", "g", generic)
    await world.until(lambda: phase(world, f"{generics}/g"), "Pending", "the Generic without its kind")
    await define(world, group)
    await world.until(lambda: phase(world, f"{generics}/g"), "Current", "the Generic")
    await create(world, widgets, "Widget", "x", {})
    await world.until(lambda: phase(world, f"{widgets}/x"), "Current", "the instance")
    assert await made(world) == "1.0.0"

    world.write("srv/stable", "manifests: [{version: 2.0.0}]\n")
    await world.until(lambda: made(world), "2.0.0", "what the channel leads to")
    await world.until(lambda: phase(world, f"{widgets}/x"), "Current", "the instance")
    await world.ask("DELETE", f"{generics}/g", None)
    await world.operator.names("addons", "its object Generic.")
    assert (await made(world), await phase(world, f"{widgets}/x")) == ("2.0.0", "Current")
    await create(world, generics, "Generic", "g", generic)
    await world.until(lambda: phase(world, f"{generics}/g"), "Current", "the Generic again")
    await world.ask("DELETE", f"{widgets}/x", None)
    await world.until(lambda: made(world), "None", "what the instance had installed")


@pytest.mark.slow
async def test_instance_without_its_generic_is_left_to_its_user(world: World) -> None:
    """It waits with its finalizer, and `addon abandon` finds its kind, which names no addon."""
    group = "left.example.com"
    generics = f"/apis/addons.x-k8s.io/v1alpha1/namespaces/{world.namespace}/generics"
    widgets = f"/apis/{group}/v1/namespaces/{world.namespace}/widgets"
    kind: JSON = {"group": group, "kind": "Widget", "version": "v1"}
    await define(world, group)
    await world.start()
    await world.until(lambda: is_served(world, generics), True, "the kind Generic")
    await create(world, generics, "Generic", "g", {"objectKind": kind, "channel": str(world.directory / "srv")})
    await world.until(lambda: phase(world, f"{generics}/g"), "Current", "the Generic")
    await create(world, widgets, "Widget", "x", {})
    await world.until(lambda: phase(world, f"{widgets}/x"), "Current", "the instance")
    await world.ask("DELETE", f"{generics}/g", None)
    await world.operator.names("addons", "its object Generic.")
    await world.ask("DELETE", f"{widgets}/x", None)
    words = ["addon", "abandon", "widget-left-example-com/x", "-n", world.namespace]
    access = f"--kube-config={world.operator.kubeconfig}"
    ended = await asyncio.to_thread(launcher.run, [*words, access], cwd=world.directory, env=os.environ)
    assert "not managed any more" in ended.stdout, ended.stderr
    assert (await made(world), await world.ask("GET", f"{widgets}/x", None)) == ("1.0.0", None)


async def create(world: World, place: str, kind: str, name: str, spec: JSON) -> None:
    group = place.removeprefix("/apis/").partition("/namespaces/")[0]
    obj = {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": spec}
    assert await world.ask("POST", place, obj), f"{place} is not served"


async def is_served(world: World, place: str) -> bool:
    return await world.ask("GET", place, None) is not None


async def define(world: World, group: str) -> None:
    """The kind Widget of a group; each story has its own, since they may share a cluster."""
    names = {"kind": "Widget", "plural": "widgets"}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [SERVED | {"schema": OPEN}]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    await world.ask("POST", CRDS, head | {"metadata": {"name": f"widgets.{group}"}, "spec": spec})

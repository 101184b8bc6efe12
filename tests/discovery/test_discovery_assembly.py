"""The list of addons on the sandbox, in virtual time: created, corrected, deleted, and left alone. Level: sandbox."""

import asyncio
from collections.abc import Iterable

import pytest

from hookrunner.discovery.addon_kind import ADDONS, DEFINITION, make_definition
from hookrunner.kube.client import Client
from hookrunner.releases.crds import DEFINITION as CRD
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.discovery.listing import MERGE, Seen, listing
from tests.fakes.objects import definition

pytestmark = pytest.mark.looptime

_FOO = definition("example.com", "Foo", "v1")
_WRITES = ("POST", "PUT", "PATCH", "DELETE")


def writes(requests: Iterable[str]) -> list[str]:
    return [line for line in requests if line.startswith(_WRITES)]


async def test_addon_lives_as_long_as_its_components(client: Client) -> None:
    seen = Seen(client)
    await seen.label("a", "web", "dns")
    await seen.label("b", "web")
    async with listing(client, "configmaps"):
        assert await seen.shown() == {"web": "a b", "dns": "a"}
        await seen.unlabel("a")
        assert await seen.shown() == {"web": "b"}
        await seen.label("c", "late")
        assert await seen.shown() == {"web": "b", "late": "c"}


async def test_deleted_addon_and_edited_status_return(client: Client) -> None:
    seen = Seen(client)
    await seen.label("a", "web")
    async with listing(client, "configmaps"):
        before = await seen.addons()
        await seen.write("DELETE", ADDONS.path(name="web"))
        assert {**await seen.addons()}.keys() == {"web"}
        edit = {"status": {"phase": "Failed", "version": "9", "components": {"refs": [{"name": "x"}]}}}
        await seen.write("PATCH", ADDONS.path("", "web", "status"), edit, MERGE)
        assert (await seen.addons())["web"]["components"] == before["web"]["components"]


async def test_phase_can_be_selected(client: Client) -> None:
    seen = Seen(client)
    await seen.label("a", "web")
    async with listing(client, "configmaps"):
        assert (await seen.addons("status.phase=Current")).keys() == {"web"}
        assert await seen.addons("status.phase=Failed") == {}


async def test_nothing_is_written_when_nothing_changes(client: Client, sandbox: Sandbox) -> None:
    seen = Seen(client)
    await seen.label("a", "web")
    async with listing(client, "configmaps", namespace=""):  # of a kubeconfig that names none
        await seen.shown()
        sandbox.faults.requests.clear()
        await seen.shown(600)
    async with listing(client, "configmaps", namespace=""):
        assert await seen.shown(100) == {"web": "a"}
    assert writes(sandbox.faults.requests) == []


async def test_changes_of_a_second_are_one_write(client: Client, sandbox: Sandbox) -> None:
    seen = Seen(client)
    await seen.label("a", "web")
    async with listing(client, "configmaps"):
        await seen.shown()
        sandbox.faults.requests.clear()
        for number in range(40):
            await seen.label(f"b{number}", "web")
        assert len((await seen.shown())["web"].split()) == 41
    assert len([line for line in writes(sandbox.faults.requests) if "addons" in line]) == 1


async def test_addon_of_a_user_is_left_alone_until_it_has_components(client: Client) -> None:
    seen = Seen(client)
    async with listing(client, "configmaps"):
        await seen.addons()
        await seen.create("web")
        assert await seen.addons(after=100) == {"web": {}}
        await seen.label("a", "web")
        assert await seen.shown() == {"web": "a"}
        await seen.unlabel("a")
        assert await seen.shown() == {}


async def test_addon_of_another_hookrunner_is_left_alone_and_reported(client: Client) -> None:
    seen = Seen(client)
    await seen.label("a", "web")
    async with listing(client, "configmaps", namespace="theirs"):
        await seen.shown()
    async with listing(client, "configmaps") as ours:
        await seen.label("b", "web")
        assert await seen.shown() == {"web": "a"}
        text = "web: is left alone: the hookrunner in namespace theirs writes it"
        assert ours.conditions() == {"discovery": (True, text)}


async def test_kind_that_is_defined_later_is_picked_up_and_a_deleted_one_dropped(client: Client) -> None:
    seen = Seen(client)
    await seen.label("a", "web")
    async with listing(client, "configmaps", "foos.example.com") as ours:
        assert await seen.shown() == {"web": "a"}
        assert "knows no kind 'foos.example.com'" in ours.conditions()["discovery"][1]
        await seen.write("POST", CRD.path(), _FOO)
        metadata = {"name": "f", "labels": {"discovery.addons.k8s.io/web": ""}}
        foo = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata}
        await seen.addons()
        await seen.write("POST", "/apis/example.com/v1/namespaces/default/foos", foo)
        assert (await seen.shown(), ours.conditions()["discovery"][1]) == ({"web": "a f"}, "")
        await seen.write("DELETE", CRD.path(name="foos.example.com"))
        assert await seen.shown() == {"web": "a"}


async def test_kind_without_rights_keeps_back_no_other(client: Client, sandbox: Sandbox) -> None:
    seen = Seen(client)
    sandbox.faults.add(Fault("answer", "/secrets", status=403))
    await seen.label("a", "web")
    async with listing(client, "secrets", "configmaps") as ours:
        assert await seen.shown(10) == {"web": "a"}
        assert ours.conditions()["discovery"][1].startswith("secrets: ")


async def test_deleted_definition_returns_with_the_addons(client: Client) -> None:
    seen = Seen(client)
    await seen.label("a", "web")
    async with listing(client, "configmaps"):
        await seen.shown()
        await seen.write("DELETE", CRD.path(name=DEFINITION))
        assert await seen.shown(30) == {"web": "a"}


async def test_definition_with_another_schema_is_corrected(client: Client) -> None:
    seen, theirs = Seen(client), make_definition()
    (version,) = theirs["spec"]["versions"]
    version |= {
        "schema": {"openAPIV3Schema": {"type": "object"}},
        "additionalPrinterColumns": [],
        "selectableFields": [],
    }
    await seen.write("POST", CRD.path(), theirs)
    await seen.label("a", "web")
    async with listing(client, "configmaps"):
        assert await seen.shown(10) == {"web": "a"}


async def test_definition_that_cannot_be_corrected_is_reported(client: Client) -> None:
    seen, theirs = Seen(client), make_definition()
    theirs["spec"]["scope"] = "Namespaced"
    await seen.write("POST", CRD.path(), theirs)
    async with listing(client, "configmaps") as ours:
        await seen.addons(after=5)
        (need,) = ours.needs()
        assert need.message.startswith("the kind Addon is not defined: 1 of 1 CRDs could not be installed")


async def test_requests_are_those_of_the_watches_alone(client: Client, sandbox: Sandbox) -> None:
    """As of hooks that watch these kinds: what is served, and a stream for each, whose list is part of it."""
    kinds = ("pods", "configmaps", "services", "deployments.apps", "jobs.batch")
    seen = Seen(client)
    for number in range(50):
        await seen.label(f"a{number}", "web")
    sandbox.faults.requests.clear()
    async with listing(client, *kinds):
        await asyncio.sleep(250)
    lines = [line.partition("?")[0] for line in sandbox.faults.requests]
    assert sorted(line for line in lines if "addons" not in line and "apiextensions" not in line) == [
        "GET /api",
        "GET /api/v1",
        "GET /api/v1/configmaps",
        "GET /api/v1/pods",
        "GET /api/v1/services",
        "GET /apis",
        "GET /apis/apps/v1/deployments",
        "GET /apis/batch/v1/jobs",
    ]
    assert len([line for line in lines if ADDONS.path() in line]) == 3  # its watch, one object, its status

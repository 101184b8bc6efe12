"""Conversions in CRDs, which others bring, edit and replace. Level: control plane."""

import asyncio
import base64
from typing import Any

import pytest

from hookrunner.kube.client import ApiCall
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.registration.reconcile import WANTED
from hookrunner.registration.registrar import Registrar
from hookrunner.registration.webhook_objects import CONVERSION, DEFINITION, certificates
from tests.flows.waiting import until
from tests.registration.world import Meter, World

JSON = Any


async def test_a_hook_that_cannot_be_read_keeps_its_conversion(world: World) -> None:
    before, _ = await world.registrar(world.desired(world.converting()))
    await world.create(DEFINITION, world.definition())
    await before.publish(b"")
    after, _ = await world.registrar(world.desired(incomplete=True), started=2.0)
    async with world.kept(after):
        assert converts(await world.get(DEFINITION, world.things))


@pytest.mark.slow
async def test_a_definition_is_configured_when_it_appears(world: World, authorities: tuple[bytes, bytes]) -> None:
    registrar, _ = await world.registrar(world.desired(world.converting()))
    async with world.kept(registrar, trust=authorities[0]):
        assert registrar.condition()[0]
        assert "does not exist yet" in registrar.condition()[1]
        await world.create(DEFINITION, world.definition())
        found = await world.seen(DEFINITION, lambda obj: obj and converts(obj), world.things)
        await until(lambda: registrar.condition() == (True, ""), "the registrar has heard of it too")
    client = found["spec"]["conversion"]["webhook"]["clientConfig"]
    assert client["url"] == f"{world.target.url}/{world.things}"
    assert set(certificates(base64.b64decode(client["caBundle"]))) == set(certificates(authorities[0]))


async def test_creator_of_a_definition_is_not_reported_as_changing_it(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    registrar, _ = await world.registrar(world.desired(world.converting()))
    async with world.kept(registrar):
        await world.create(DEFINITION, world.definition())
        await world.seen(DEFINITION, lambda obj: obj and converts(obj), world.things)
        await registrar.publish(b"")  # one after the other: what was written before has been told by then
        assert "was changed" not in capfd.readouterr().err


def converts(obj: JSON) -> bool:
    return bool(obj["spec"]["conversion"]["strategy"] == "Webhook")


def replaced(world: World, obj: JSON) -> None:
    """As `kubectl replace -f` does with the file that it came from."""
    obj["spec"] = world.definition()["spec"]
    obj["metadata"].pop("labels")
    obj["metadata"].pop("annotations")


async def test_changed_conversion_is_repaired_and_removed_with_its_hook(world: World) -> None:
    await world.create(DEFINITION, world.definition())
    registrar, _ = await world.registrar(world.desired(world.converting()))
    async with world.kept(registrar):
        assert converts(await world.get(DEFINITION, world.things))
        assert not converts(await world.edit(DEFINITION, lambda obj: replaced(world, obj), world.things))
        await world.seen(DEFINITION, converts, world.things)
    nothing, _ = await world.registrar(world.desired(), started=2.0)
    async with world.kept(nothing):
        given_back = await world.seen(DEFINITION, lambda obj: not converts(obj), world.things)
    assert CONVERSION not in given_back["metadata"].get("labels", {})
    assert WANTED not in given_back["metadata"].get("annotations", {})


async def test_conversion_that_leads_elsewhere_by_now_stays(world: World) -> None:
    await world.create(DEFINITION, world.definition())
    registrar, _ = await world.registrar(world.desired(world.converting()))
    await registrar.publish(b"")
    ours = (await world.get(DEFINITION, world.things))["spec"]["conversion"]["webhook"]["clientConfig"]

    async def lead(client_config: JSON) -> None:
        def change(obj: JSON) -> None:
            obj["spec"]["conversion"]["webhook"]["clientConfig"] = client_config

        await world.edit(DEFINITION, change, world.things)

    await lead({"url": "https://elsewhere.example.com/"})
    nothing, meter = await world.registrar(world.desired(), started=2.0)
    async with world.kept(nothing):
        await lead(ours)
        await world.seen(DEFINITION, lambda obj: not converts(obj), world.things)
        await until(lambda: meter.writes, "the answer")
    assert meter.writes == ["PUT 200"]


async def without_hooks(world: World, **fault: int) -> tuple[Registrar, Meter]:
    """A process that no hook needs a conversion of. An earlier one has left one, and writes of the definition fail."""
    await world.create(DEFINITION, world.definition())
    before, _ = await world.registrar(world.desired(world.converting()))
    await before.publish(b"")
    fails = {"what": "answer", "match": f"PUT {DEFINITION.path(name=world.things)}", **fault}
    await world.other.send(ApiCall("POST", "/_sandbox/faults", body=fails))
    return await world.registrar(world.desired(), started=2.0)


@pytest.mark.looptime
@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_conversion_that_a_hook_needs_again_is_not_removed_meanwhile(world: World) -> None:
    """Its removal was under way, and is tried again and again."""
    registrar, meter = await without_hooks(world, status=409)
    async with world.kept(registrar):
        await until(lambda: "PUT 409" in meter.requests, "an attempt to remove it")
        assert registrar.condition()[0], "readiness waits for no removal"
        on = world.desired(world.converting())
        await registrar.register(on, on)
        await world.other.send(ApiCall("DELETE", "/_sandbox/faults"))
        await asyncio.sleep(60)
    assert converts(await world.get(DEFINITION, world.things))
    assert meter.writes == []


@pytest.mark.looptime
@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_removal_that_is_refused_is_shown_and_tried_again(world: World) -> None:
    registrar, _ = await without_hooks(world, status=422, times=1)
    async with world.kept(registrar):
        await until(lambda: world.things in registrar.condition()[1], "the problem")
        assert registrar.condition()[0]
        await asyncio.sleep(60)
        assert registrar.condition() == (True, "")
    assert not converts(await world.get(DEFINITION, world.things))


class Listening(Watches):
    """Remembers what was to be listed again."""

    def __init__(self, world: World) -> None:
        super().__init__(world.other, Discovery(world.other), world.metrics, 75)
        self.relisted: list[str] = []

    def relist(self, group: str, plural: str) -> None:
        self.relisted.append(f"{plural}.{group}")


async def test_objects_that_came_unconverted_are_relisted(world: World, authorities: tuple[bytes, bytes]) -> None:
    """Watches that were there before would go on showing them as they are stored."""
    registrar, _ = await world.registrar(world.desired(world.converting()))
    await world.create(DEFINITION, world.definition())
    await registrar.publish(b"")
    watches = Listening(world)
    keeping = asyncio.create_task(registrar.keep(watches))
    await until(lambda: watches.relisted == [world.things], "a relist of the objects")
    await registrar.publish(authorities[0])
    await world.seen(DEFINITION, lambda obj: "caBundle" in str(obj), world.things)
    assert watches.relisted == [world.things]
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)

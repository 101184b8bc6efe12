"""Missing rights, an unreachable API server, and other writers that disagree. Level: control plane."""

import asyncio

from hookrunner.model.bindings import Admission
from hookrunner.registration.webhook_objects import MUTATING, VALIDATING
from tests.controlplane.cluster import Cluster
from tests.faults.proxy import Proxy
from tests.flows.waiting import until
from tests.kube.real import credentials_of
from tests.registration.world import ON_A_CLUSTER, World, a_hook, as_user, entry_names

ONE, TWO = "one.example.com", "two.example.com"


@ON_A_CLUSTER
async def test_a_missing_right_is_named_and_the_rest_is_done(world: World, cluster: Cluster, namespace: str) -> None:
    resources = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"]
    await world.create(VALIDATING, {"metadata": {"name": world.name}})
    world.credentials = await as_user(cluster, namespace, "get", "create", resources=resources)
    hooks = world.validating(ONE), a_hook("m.sh", mutating=(Admission(TWO, (world.rule(),)),)), world.converting()
    registrar, _ = await world.registrar(world.desired(*hooks))
    await registrar.publish(b"")
    assert entry_names(await world.get(MUTATING)) == [TWO]
    ready, message = registrar.condition()
    assert not ready
    resource = "apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations]"
    assert f"no right to update ValidatingWebhookConfiguration '{world.name}'" in message
    assert f"add {{{resource}, verbs: [create, list, update]}}" in message
    assert f"no right to list CustomResourceDefinition '{world.things}'" in message
    assert f'kind="ValidatingWebhookConfiguration",name="{world.name}"}} 0'.encode() in world.metrics.exposition()


@ON_A_CLUSTER
async def test_without_webhooks_no_rights_are_needed(world: World, cluster: Cluster, namespace: str) -> None:
    world.credentials = await as_user(cluster, namespace, "get", resources=["pods"])
    registrar, _ = await world.registrar(world.desired())
    await registrar.publish(b"")
    assert registrar.condition() == (True, "")


@ON_A_CLUSTER
async def test_unreachable_api_server_is_awaited(world: World, proxy: Proxy) -> None:
    world.credentials = credentials_of(proxy.kubeconfig)
    registrar, _ = await world.registrar(world.desired(world.validating(ONE)))
    await proxy.refuse()
    publishing = asyncio.ensure_future(registrar.publish(b""))
    await until(lambda: "Cannot connect" in registrar.condition()[1], "word of it")
    assert not registrar.condition()[0]
    await proxy.accept()
    await publishing
    assert registrar.condition() == (True, "")
    assert entry_names(await world.get(VALIDATING)) == [ONE]


@ON_A_CLUSTER
async def test_lost_races_and_short_failures_are_retried(world: World, proxy: Proxy) -> None:
    world.credentials = credentials_of(proxy.kubeconfig)
    proxy.answer(409, "POST", times=2)
    proxy.answer(500, "GET validatingwebhookconfigurations", times=2)
    registrar, meter = await world.registrar(world.desired(world.validating(ONE)))
    await registrar.publish(b"")
    assert meter.requests.count("POST 409") == 2
    assert registrar.condition() == (True, "")


async def test_stubborn_writer_is_named(world: World) -> None:
    registrar, meter = await world.registrar(world.desired(world.validating(ONE)))
    async with world.kept(registrar):
        for _ in range(3):
            await world.edit(VALIDATING, lambda obj: obj["webhooks"][0].update(failurePolicy="Ignore"))
            await world.seen(VALIDATING, lambda obj: obj["webhooks"][0]["failurePolicy"] == "Fail")
        await until(lambda: "by 'kubectl-edit'" in registrar.condition()[1], "who it is")
        assert registrar.condition()[0]
        await until(lambda: len(meter.writes) == 4, "the answer to the last write")
    assert len(meter.writes) == 4


async def test_repeated_deletion_is_reported(world: World) -> None:
    registrar, _ = await world.registrar(world.desired(world.validating(ONE)))
    async with world.kept(registrar):
        for _ in range(3):
            await world.delete(VALIDATING)
            await world.seen(VALIDATING, lambda obj: obj and entry_names(obj) == [ONE])
        await until(lambda: "a client that deletes it" in registrar.condition()[1], "word of it")


async def test_refusal_is_reported(world: World) -> None:
    rule = world.rule() | {"operations": ["DANCE"]}
    registrar, _ = await world.registrar(world.desired(a_hook("h.sh", validating=(Admission(ONE, (rule,)),))))
    await registrar.publish(b"")
    ready, message = registrar.condition()
    assert not ready
    assert "operations[0]: Unsupported value" in message

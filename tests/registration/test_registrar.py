"""Registrations in the cluster, on the sandbox and on a real API server. Level: control plane."""

import asyncio
import base64
from dataclasses import replace
from typing import Any

import pytest

from hookrunner.errors import RegistrationFailed
from hookrunner.kube.client import ApiCall
from hookrunner.model.bindings import Admission, Hook
from hookrunner.registration.desired import Target, desired_registrations
from hookrunner.registration.reconcile import GENERATION, WANTED
from hookrunner.registration.webhook_objects import DEFINITION, MANAGED_BY, MUTATING, VALIDATING, certificates
from tests.examples import several
from tests.flows.waiting import until
from tests.registration.world import ON_A_CLUSTER, World, a_hook, entry_names

JSON = Any
ONE, TWO, THREE = "one.example.com", "two.example.com", "three.example.com"


def trusted(client_config: JSON) -> set[bytes]:
    return set(certificates(base64.b64decode(client_config.get("caBundle", ""))))


def bundle(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


async def test_configurations_are_created_and_published_again_without_a_write(
    world: World, authorities: tuple[bytes, bytes]
) -> None:
    mutating = Admission(TWO, (world.rule(),), reinvocation_policy="IfNeeded")
    wanted = world.desired(world.validating(ONE), a_hook("m.sh", mutating=(mutating,)))
    registrar, meter = await world.registrar(wanted)
    assert registrar.condition() == (False, "webhooks are not registered yet")
    await registrar.publish(authorities[0])
    created = await world.get(VALIDATING)
    assert entry_names(created) == [ONE]
    assert entry_names(await world.get(MUTATING)) == [TWO]
    assert trusted(created["webhooks"][0]["clientConfig"]) == set(certificates(authorities[0]))
    assert created["metadata"]["labels"] == {MANAGED_BY: "hookrunner"}
    assert registrar.condition() == (True, "")
    assert sorted(meter.writes) == ["POST 201", "POST 201"]
    await registrar.publish(authorities[0])
    assert len(meter.writes) == 2
    assert b'webhook_registered{kind="ValidatingWebhookConfiguration"' in world.metrics.exposition()


async def test_odd_bindings_are_written_once(world: World) -> None:
    """Where the API server leaves out what is empty, or fills something in."""
    binding = Admission(
        ONE,
        ({**world.rule(), "scope": "Namespaced"}, world.rule()),
        failure_policy="Ignore",
        side_effects="NoneOnDryRun",
        match_conditions=({"name": "a", "expression": "true"},),
        object_selector={"matchLabels": {}, "matchExpressions": [{"key": "a", "operator": "Exists", "values": []}]},
        namespace_selector={"matchLabels": {"kubernetes.io/metadata.name": world.name}},
    )
    hooks = a_hook("h.sh", validating=(binding, Admission(TWO)), mutating=(replace(binding, name=THREE),))
    for _ in range(2):
        registrar, meter = await world.registrar(world.desired(hooks))
        await registrar.publish(b"")
        assert registrar.condition() == (True, "")
    assert meter.writes == []


async def test_configurations_lead_to_the_service(world: World) -> None:
    target = Target("", f"ns-{world.name}", "svc")
    registrar, meter = await world.registrar(desired_registrations([world.validating(ONE)], world.name, target, target))
    await registrar.publish(b"")
    (entry,) = (await world.get(VALIDATING))["webhooks"]
    path = {"path": "/hooks/one-example-com", "port": 443}
    assert entry["clientConfig"] == {"service": {"namespace": target.namespace, "name": "svc"} | path}
    await registrar.publish(b"")
    assert meter.writes == ["POST 201"]


async def test_first_trust_joins_present_certificates_and_later_ones_replace_them(
    world: World, authorities: tuple[bytes, bytes]
) -> None:
    both = set(certificates(b"".join(authorities)))
    for pem in authorities:
        registrar, _ = await world.registrar(world.desired(world.validating(ONE)))
        await registrar.publish(pem)
    assert trusted((await world.get(VALIDATING))["webhooks"][0]["clientConfig"]) == both
    await registrar.publish(authorities[1])
    assert trusted((await world.get(VALIDATING))["webhooks"][0]["clientConfig"]) == set(certificates(authorities[1]))


EDITS: dict[str, Any] = {
    "policy": lambda obj: obj["webhooks"][0].update(failurePolicy="Ignore"),
    "rules": lambda obj: obj["webhooks"][0].update(rules=[]),
    "conditions": lambda obj: obj["webhooks"][0].update(matchConditions=[{"name": "never", "expression": "false"}]),
    "url": lambda obj: obj["webhooks"][0]["clientConfig"].update(url="https://elsewhere.example.com/"),
    "trust": lambda obj: obj["webhooks"][0]["clientConfig"].pop("caBundle"),
    "selector": lambda obj: obj["webhooks"][0].update(namespaceSelector={"matchLabels": {"a": "b"}}),
}


async def test_edited_entries_are_repaired(world: World, authorities: tuple[bytes, bytes]) -> None:
    registrar, _ = await world.registrar(world.desired(world.validating(ONE, TWO)))
    async with world.kept(registrar, trust=authorities[0]):
        before = await world.get(VALIDATING)
        for name, edit in EDITS.items():
            edited = await world.edit(VALIDATING, edit)
            assert edited["webhooks"] != before["webhooks"], name
            await world.seen(VALIDATING, lambda obj: obj and obj["webhooks"] == before["webhooks"])


FOREIGN = {
    "name": "foreign.example.com",
    "clientConfig": {"url": "https://elsewhere.example.com/hooks/a"},
    "rules": [],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "failurePolicy": "Ignore",
}


async def test_content_of_other_writers_stays(world: World) -> None:
    metadata = {"name": world.name, "labels": {"a": "b"}, "annotations": {"c": "d"}}
    await world.create(VALIDATING, {"metadata": metadata, "webhooks": [FOREIGN]})
    before = await world.get(VALIDATING)
    registrar, _ = await world.registrar(world.desired(world.validating(ONE)))
    await registrar.publish(b"")
    after = await world.get(VALIDATING)
    assert entry_names(after) == [FOREIGN["name"], ONE]
    assert after["webhooks"][0] == before["webhooks"][0]
    assert after["metadata"]["labels"] == {"a": "b", MANAGED_BY: "hookrunner"}
    assert after["metadata"]["annotations"].keys() == {"c", GENERATION, WANTED}
    nothing, _ = await world.registrar(world.desired(), started=2.0)
    await nothing.publish(b"")
    left = await world.get(VALIDATING)
    assert left["webhooks"] == before["webhooks"]
    assert left["metadata"]["annotations"] == {"c": "d"}


async def test_the_predecessors_registration_is_taken_over(world: World) -> None:
    """In the same namespace, by the same Service: what its hooks no longer ask for goes, the rest stays unbroken."""
    target = Target("", f"ns-{world.name}", "shell-operator-validating-svc")
    theirs = [
        FOREIGN
        | {"name": name, "rules": [world.rule()], "failurePolicy": "Fail", "admissionReviewVersions": ["v1", "v1beta1"]}
        | {
            "clientConfig": {
                "service": {"namespace": target.namespace, "name": target.service, "path": f"/hooks/{path}"}
            }
        }
        for name, path in ((ONE, "one-example-com"), (TWO, "two-example-com"))
    ]
    await world.create(VALIDATING, {"metadata": {"name": world.name}, "webhooks": theirs})
    before = await world.get(VALIDATING)
    registrar, meter = await world.registrar(desired_registrations([world.validating(TWO)], world.name, target, target))
    await registrar.publish(b"")
    after = await world.get(VALIDATING)
    assert after["webhooks"] == before["webhooks"][1:]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert meter.writes == ["PUT 200"]


async def test_undeclared_webhooks_are_removed(world: World) -> None:
    for number, names in enumerate([(ONE, TWO), (TWO, THREE), ()]):
        registrar, _ = await world.registrar(world.desired(world.validating(*names)), started=number)
        await registrar.publish(b"")
        assert entry_names(await world.get(VALIDATING)) == list(names)
    assert await world.get(VALIDATING) is None


async def test_a_hook_that_cannot_be_read_keeps_its_policy(world: World) -> None:
    before, _ = await world.registrar(world.desired(world.validating(ONE, TWO)))
    await before.publish(b"")
    after, _ = await world.registrar(world.desired(world.validating(TWO), incomplete=True), started=2.0)
    await after.publish(b"")
    assert entry_names(await world.get(VALIDATING)) == [ONE, TWO]


async def test_cert_managers_bundle_is_left_alone(world: World, authorities: tuple[bytes, bytes]) -> None:
    entry = FOREIGN | {"name": ONE, "clientConfig": {"url": "https://a/", "caBundle": bundle(authorities[0])}}
    annotations = {"cert-manager.io/inject-ca-from": "a/b"}
    metadata = {"name": world.name, "annotations": annotations}
    await world.create(VALIDATING, {"metadata": metadata, "webhooks": [entry]})
    registrar, _ = await world.registrar(world.desired(world.validating(ONE, TWO)))
    await registrar.publish(authorities[1])
    first, second = (await world.get(VALIDATING))["webhooks"]
    assert trusted(first["clientConfig"]) == set(certificates(authorities[0]))
    assert first["clientConfig"]["url"] == f"{world.target.url}/hooks/one-example-com"
    assert "caBundle" not in second["clientConfig"]


async def test_equal_replicas_do_not_overwrite_each_other(world: World, authorities: tuple[bytes, bytes]) -> None:
    """One has the new certificates already, the other not yet."""
    replicas = [await world.registrar(world.desired(world.validating(ONE)), started) for started in (1.0, 2.0)]
    registrars, meters = zip(*replicas, strict=True)
    await asyncio.gather(*(one.publish(pem) for one, pem in zip(registrars, authorities, strict=True)))
    both = set(certificates(b"".join(authorities)))
    async with asyncio.TaskGroup() as tasks:
        keeping = [tasks.create_task(one.keep(world.watches())) for one in registrars]
        await world.seen(VALIDATING, lambda obj: trusted(obj["webhooks"][0]["clientConfig"]) == both)
        await world.edit(VALIDATING, lambda obj: obj["webhooks"][0].update(failurePolicy="Ignore"))
        await world.seen(VALIDATING, lambda obj: obj["webhooks"][0]["failurePolicy"] == "Fail")
        for task in keeping:
            task.cancel()
    assert len(meters[0].writes + meters[1].writes) <= 4


async def test_younger_of_two_different_processes_wins(world: World) -> None:
    old, old_meter = await world.registrar(world.desired(world.validating(ONE)), started=1.0)
    new, new_meter = await world.registrar(world.desired(world.validating(TWO)), started=2.0)
    async with world.kept(old, new):
        await world.delete(VALIDATING)
        await world.seen(VALIDATING, lambda obj: entry_names(obj) == [TWO])
        await world.edit(VALIDATING, lambda obj: obj["webhooks"].clear())
        await world.seen(VALIDATING, lambda obj: entry_names(obj) == [TWO])
    assert len(old_meter.writes) <= 2
    assert len(new_meter.writes) <= 4
    restarted, meter = await world.registrar(world.desired(world.validating(ONE)), started=1.5)
    await restarted.publish(b"")
    ready, message = restarted.condition()
    assert ready
    assert "1970-01-01T00:00:02.000000Z" in message
    assert meter.writes == []


def of_module(world: World, name: str) -> Hook:
    return a_hook(f"{name}/h.sh", name, validating=(Admission(ONE, (world.rule(),)),))


@pytest.mark.slow
async def test_modules_turned_on_and_off_many_times_leave_nothing(world: World) -> None:
    """Neither in the cluster nor here; what others ask for is not touched."""
    base, converting = world.validating(TWO), world.converting()
    await world.create(DEFINITION, world.definition())
    registrar, meter = await world.registrar(world.desired(base))
    async with world.kept(registrar):
        tasks, times = 0, several(100)
        for _ in range(times):
            on = world.desired(base, of_module(world, "m"), converting)
            await registrar.register(on, world.desired(of_module(world, "m"), converting))
            await registrar.register(world.desired(base), world.desired())
            tasks = tasks or len(asyncio.all_tasks())
        assert len(meter.writes) == 1 + 4 * times
        assert entry_names(await world.get(VALIDATING)) == [TWO]
        assert (await world.get(DEFINITION, world.things))["spec"]["conversion"] == {"strategy": "None"}
        await until(
            lambda: len(asyncio.all_tasks()) <= tasks + times // 5, "the end of what looked after the definition"
        )
    assert world.things.encode() not in world.metrics.exposition()


async def test_registrations_of_a_module_are_repaired(world: World) -> None:
    registrar, _ = await world.registrar(world.desired())
    async with world.kept(registrar):
        on = world.desired(of_module(world, "m"))
        await registrar.register(on, on)
        await world.delete(VALIDATING)
        await world.seen(VALIDATING, lambda obj: obj and entry_names(obj) == [f"m.{ONE}"])


@ON_A_CLUSTER
async def test_failed_registration_is_raised_to_its_caller_only(world: World) -> None:
    registrar, _ = await world.registrar(world.desired())
    await registrar.publish(b"")
    bad = a_hook("m/h.sh", "m", validating=(Admission(ONE, ({**world.rule(), "scope": "Nowhere"},)),))
    with pytest.raises(
        RegistrationFailed, match=f"ValidatingWebhookConfiguration '{world.name}': .*scope: Unsupported"
    ):
        await registrar.register(world.desired(bad), world.desired(bad))
    converting = world.converting()
    await registrar.register(world.desired(bad, converting), world.desired(converting))
    await registrar.register(world.desired(converting), world.desired())


@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_refused_registration_is_raised_to_its_caller(world: World) -> None:
    registrar, _ = await world.registrar(world.desired())
    await registrar.publish(b"")
    fails = {"what": "answer", "match": "POST /apis/admissionregistration.k8s.io/", "status": 403}
    await world.other.send(ApiCall("POST", "/_sandbox/faults", body=fails))
    on = world.desired(world.validating(ONE))
    with pytest.raises(RegistrationFailed, match=f"^ValidatingWebhookConfiguration '{world.name}': "):
        await registrar.register(on, on)

"""Notices of modules and instances as Events: what they are about, and what they say. Level: FakeApi."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from hookrunner.controllers.event_recorder import EventRecorder
from hookrunner.convergence.decisions.config_object import ConfigObject, Contents, Grace
from hookrunner.convergence.events import GATHERED, PACE, EventWriter, Notice, Notices
from hookrunner.kube.lacked_rights import LackedRights
from hookrunner.model.resources import ObjectReference
from tests.controllers.event_server import EventServer
from tests.fakes.cluster import running

pytestmark = pytest.mark.looptime

FAILED = Notice("a", "ModuleFailed", "a: no such kind")


@asynccontextmanager
async def posting(server: EventServer, notices: Notices, lacked: LackedRights | None = None) -> AsyncIterator[None]:
    place = ("ops", "hookrunner")
    config = ConfigObject(server, None, "ConfigMap", place, Grace(0.0))  # type: ignore[arg-type]  # asked for nothing
    config.contents = Contents({}, "7", "u-1")
    async with running(
        EventWriter(EventRecorder(server.client, PACE), notices, config, lacked or LackedRights()).post()
    ):
        yield


async def test_an_event_is_shown_by_kubectl_under_the_configmap() -> None:
    server, notices = EventServer(), Notices()
    async with posting(server, notices):
        notices.publish(FAILED)
        await asyncio.sleep(2)
    (call,) = server.calls
    assert (call.method, call.path) == ("POST", "/api/v1/namespaces/ops/events")
    assert call.body["metadata"]["name"].startswith("hookrunner.")
    assert call.body["involvedObject"] == {
        "apiVersion": "v1", "kind": "ConfigMap", "namespace": "ops", "name": "hookrunner", "uid": "u-1"
    }  # fmt: skip
    written = [call.body[key] for key in ("type", "reason", "message", "source")]
    assert written == ["Warning", "ModuleFailed", "a: no such kind", {"component": "hookrunner"}]


async def test_a_hundred_deleted_objects_are_one_event_of_bounded_length() -> None:
    server, notices = EventServer(), Notices()
    async with posting(server, notices):
        for number in range(100):
            notices.publish(Notice("a", "ModuleDrifted", f"d/ConfigMap/a-{number} is gone"))
        await asyncio.sleep(2)
    (body,) = server.bodies
    assert body["message"].startswith("a: d/ConfigMap/a-0 is gone; d/ConfigMap/a-1 is gone; ")
    assert (len(body["message"]), body["message"][-1]) == (1024, "…")


async def test_a_right_that_is_missing_is_an_event_whatever_it_was_needed_for() -> None:
    server, lacked = EventServer(), LackedRights()
    async with posting(server, Notices(), lacked):
        for verb in ("list", "watch"):
            lacked.note(
                verb, f'forbidden: User "me" cannot {verb} resource "pods" in API group "" at the cluster scope'
            )
        await asyncio.sleep(2)
        lacked.note("list")
        lacked.note("watch")
        await asyncio.sleep(20)
    (body,) = server.bodies
    rule = '{apiGroups: [""], resources: [pods], verbs: [list, watch]}'
    assert body["message"] == f"rights: add to the role of hookrunner's ServiceAccount: {rule}"
    assert (body["reason"], body["type"]) == ("RightsMissing", "Warning")


async def test_each_reason_subject_and_message_is_an_event_of_its_own() -> None:
    server, notices = EventServer(), Notices()
    async with posting(server, notices):
        for item in (
            FAILED,
            Notice("b", "ModuleFailed", "b: no"),
            Notice("a", "ModuleHealed", "a works again", bad=False),
        ):
            notices.publish(item)
        await asyncio.sleep(2)
        notices.publish(Notice("a", "ModuleFailed", "a: something else"))
        await asyncio.sleep(15)
    events = [(body["type"], body["reason"], body["message"]) for body in server.bodies]
    assert events == [
        ("Warning", "ModuleFailed", "a: no such kind"),
        ("Warning", "ModuleFailed", "b: no"),
        ("Normal", "ModuleHealed", "a works again"),
        ("Warning", "ModuleFailed", "a: something else"),
    ]


async def test_publishing_never_waits_and_unread_notices_are_bounded() -> None:
    notices = Notices()
    for number in range(5000):
        notices.publish(Notice("a", "ModuleFailed", str(number)))
    assert [item.message for item in await notices.next_batch()] == [str(number) for number in range(4000, 5000)]


DNS = ObjectReference("addons.x-k8s.io/v1alpha1", "CoreDNS", "kube-system", "default", "u-2")


async def test_events_of_an_instance_are_about_its_object_in_its_namespace() -> None:
    server, notices = EventServer(), Notices()
    notices.begin("coredns.kube-system.default", DNS)
    async with posting(server, notices):
        for text in ("no channel", "no channel", "installed"):
            notices.publish(Notice("coredns.kube-system.default", text.title().replace(" ", ""), text))
            await asyncio.sleep(70)
    assert [call.method for call in server.calls] == ["POST", "PATCH", "POST"]
    assert {call.path.split("/events")[0] for call in server.calls} == {"/api/v1/namespaces/kube-system"}
    first = server.bodies[0]
    assert (first["message"], first["metadata"]["name"].split(".")[0]) == ("no channel", "default")
    assert first["involvedObject"] == {
        "apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "CoreDNS", "namespace": "kube-system", "name": "default",
        "uid": "u-2",
    }  # fmt: skip


async def test_events_of_a_cluster_scoped_instance_are_in_the_default_namespace() -> None:
    server, notices = EventServer(), Notices()
    notices.begin("dns.x", replace(DNS, namespace=""))
    async with posting(server, notices):
        notices.publish(Notice("dns.x", "Applied", "version 1"))
        await asyncio.sleep(2)
    (call,) = server.calls
    assert (call.path, "namespace" in call.body["involvedObject"]) == ("/api/v1/namespaces/default/events", False)


async def test_instance_that_is_created_again_gets_events_of_its_own() -> None:
    server, notices = EventServer(), Notices()
    async with posting(server, notices):
        for uid in ("u-2", "u-3"):
            notices.begin("dns", replace(DNS, uid=uid))
            notices.publish(Notice("dns", "Applied", "version 1"))
            await asyncio.sleep(70)
    assert [body["involvedObject"]["uid"] for body in server.bodies] == ["u-2", "u-3"]


async def test_last_events_of_a_subject_are_written_before_it_is_forgotten() -> None:
    server, notices = EventServer(), Notices()
    async with posting(server, notices):
        for number in range(20):
            notices.begin(f"dns-{number}", replace(DNS, name=str(number)))
            notices.publish(Notice(f"dns-{number}", "Kept", "a claim"))
            notices.end(f"dns-{number}")
        await asyncio.sleep(5)
        assert [body["involvedObject"]["name"] for body in server.bodies] == [*map(str, range(20))]
        assert (notices.ended, notices.about("dns-0")) == ((), None)


async def test_subject_that_ends_in_silence_is_forgotten() -> None:
    server, notices = EventServer(), Notices()
    notices.begin("dns", DNS)
    async with posting(server, notices):
        notices.end("dns")
        await asyncio.sleep(1)
    assert (notices.ended, notices.about("dns"), server.calls) == ((), None, [])


async def test_subject_that_ends_while_another_event_is_written_keeps_its_object() -> None:
    server, notices = EventServer(seconds=1.0), Notices()
    notices.begin("dns", DNS)
    async with posting(server, notices):
        notices.publish(FAILED)
        await asyncio.sleep(GATHERED + 0.5)
        notices.publish(Notice("dns", "Kept", "a claim"))
        notices.end("dns")
        await asyncio.sleep(5)
    assert [body["involvedObject"]["kind"] for body in server.bodies] == ["ConfigMap", "CoreDNS"]

"""Events as an API server gets them: gathered, counted, and never waited for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import orjson
import pytest

from hookrunner import log
from hookrunner.convergence.decisions.config_object import ConfigObject, Contents, Grace
from hookrunner.convergence.events import CALM, EventWriter, Notice, Notices
from hookrunner.errors import Denied, KubeError, NotFound
from hookrunner.kube.client import ApiCall
from hookrunner.model.resources import ObjectReference
from tests.fakes.clocks import awkward, run_watched

FAILED = Notice("a", "ModuleFailed", "a: no such kind")


class Server:
    """Remembers what it is sent, unless it refuses."""

    def __init__(self) -> None:
        self.calls: list[ApiCall] = []
        self.error: KubeError | None = None

    async def send(self, call: ApiCall) -> bytes:
        self.calls.append(call)
        if self.error:
            raise self.error
        return orjson.dumps(call.body)

    @property
    def bodies(self) -> list[Any]:
        return [call.body for call in self.calls]


class SlowServer(Server):
    """Takes a second for each answer."""

    async def send(self, call: ApiCall) -> bytes:
        await asyncio.sleep(1)
        return await super().send(call)


@asynccontextmanager
async def posting(server: Server, notices: Notices) -> AsyncIterator[None]:
    place = ("ops", "hookrunner")
    config = ConfigObject(server, None, "ConfigMap", place, Grace(0.0))  # type: ignore[arg-type]  # asked for nothing
    config.contents = Contents({}, "7", "u-1")
    task = asyncio.create_task(EventWriter(server, notices, config).post())  # type: ignore[arg-type]  # it only sends
    yield
    task.cancel()


@pytest.mark.looptime
async def test_an_event_is_shown_by_kubectl_under_the_configmap() -> None:
    server, notices = Server(), Notices()
    async with posting(server, notices):
        notices.publish(FAILED)
        await asyncio.sleep(2)
    (call,) = server.calls
    assert (call.method, call.path) == ("POST", "/api/v1/namespaces/ops/events")
    assert call.body["metadata"].pop("name").startswith("hookrunner.")
    assert call.body.pop("firstTimestamp") == call.body.pop("lastTimestamp")
    assert call.body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "ops"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": "ops",
            "name": "hookrunner",
            "uid": "u-1",
        },
        "type": "Warning",
        "reason": "ModuleFailed",
        "message": "a: no such kind",
        "count": 1,
        "source": {"component": "hookrunner"},
        "reportingComponent": "hookrunner",
        "reportingInstance": "",
    }


@pytest.mark.looptime
async def test_repetitions_are_counted_once_a_minute() -> None:
    server, notices = Server(), Notices()
    async with posting(server, notices):
        for _ in range(13):
            notices.publish(FAILED)
            await asyncio.sleep(5)
    first, second = server.calls
    assert (first.method, second.method, second.body["count"]) == ("POST", "PATCH", 13)
    assert second.path.endswith(first.body["metadata"]["name"])


@pytest.mark.looptime
async def test_a_hundred_deleted_objects_are_one_event_of_bounded_length() -> None:
    server, notices = Server(), Notices()
    async with posting(server, notices):
        for number in range(100):
            notices.publish(Notice("a", "ModuleDrifted", f"d/ConfigMap/a-{number} is gone"))
        await asyncio.sleep(2)
    (body,) = server.bodies
    assert body["message"].startswith("a: d/ConfigMap/a-0 is gone; d/ConfigMap/a-1 is gone; ")
    assert (len(body["message"]), body["message"][-1]) == (1024, "…")


@pytest.mark.looptime
async def test_a_message_has_one_line_because_kubectl_shows_only_the_first() -> None:
    server, notices = Server(), Notices()
    async with posting(server, notices):
        notices.publish(Notice("a", "ModuleFailed", "a: 1 of 2 objects failed:\nNetworkPolicy/n: forbidden\nleft: 1"))
        await asyncio.sleep(2)
    (body,) = server.bodies
    assert body["message"] == "a: 1 of 2 objects failed: NetworkPolicy/n: forbidden; left: 1"


@pytest.mark.looptime
async def test_each_reason_subject_and_message_is_an_event_of_its_own() -> None:
    server, notices = Server(), Notices()
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


@pytest.mark.looptime
async def test_a_deleted_event_is_written_again() -> None:
    server, notices = Server(), Notices()
    async with posting(server, notices):
        notices.publish(FAILED)
        await asyncio.sleep(100)
        server.error = NotFound(404, "NotFound", "")
        notices.publish(FAILED)
        await asyncio.sleep(100)
    assert [call.method for call in server.calls] == ["POST", "PATCH", "POST"]


@pytest.mark.looptime
async def test_missing_rights_are_logged_once_and_fail_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    server, notices = Server(), Notices()
    server.error = Denied(403, "Forbidden", "events is forbidden")
    async with posting(server, notices):
        for number in range(3):
            notices.publish(Notice("a", "ModuleFailed", f"{number}"))
            await asyncio.sleep(20)
        server.error = None
        notices.publish(Notice("a", "ModuleFailed", "last"))
        await asyncio.sleep(20)
    assert [body["message"] for body in server.bodies] == ["a: 0", "a: 1", "a: 2", "a: last"]
    log.flush(1.0)
    assert capfd.readouterr().err.count("an Event cannot be written") == 1


async def test_publishing_never_waits_and_unread_notices_are_bounded() -> None:
    notices = Notices()
    for number in range(5000):
        notices.publish(Notice("a", "ModuleFailed", str(number)))
    assert [item.message for item in await notices.next_batch()] == [str(number) for number in range(4000, 5000)]


def test_an_event_is_written_where_the_timer_is_early() -> None:
    """At the end of the calm after the first notice, and of the pause before the second Event."""

    async def twice() -> None:
        server, notices = Server(), Notices()
        async with posting(server, notices):
            for _ in range(2):
                notices.publish(FAILED)
                await asyncio.sleep(100)
        assert len(server.calls) == 2

    run_watched(twice(), awkward(CALM))


DNS = ObjectReference("addons.x-k8s.io/v1alpha1", "CoreDNS", "kube-system", "default", "u-2")


@pytest.mark.looptime
async def test_events_of_an_instance_are_about_its_object_in_its_namespace() -> None:
    server, notices = Server(), Notices()
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


@pytest.mark.looptime
async def test_events_of_a_cluster_scoped_instance_are_in_the_default_namespace() -> None:
    server, notices = Server(), Notices()
    notices.begin("dns.x", replace(DNS, namespace=""))
    async with posting(server, notices):
        notices.publish(Notice("dns.x", "Applied", "version 1"))
        await asyncio.sleep(2)
    (call,) = server.calls
    assert (call.path, "namespace" in call.body["involvedObject"]) == ("/api/v1/namespaces/default/events", False)


@pytest.mark.looptime
async def test_instance_that_is_created_again_gets_events_of_its_own() -> None:
    server, notices = Server(), Notices()
    async with posting(server, notices):
        for uid in ("u-2", "u-3"):
            notices.begin("dns", replace(DNS, uid=uid))
            notices.publish(Notice("dns", "Applied", "version 1"))
            await asyncio.sleep(70)
    assert [body["involvedObject"]["uid"] for body in server.bodies] == ["u-2", "u-3"]


@pytest.mark.looptime
async def test_last_events_of_a_subject_are_written_before_it_is_forgotten() -> None:
    server, notices = Server(), Notices()
    async with posting(server, notices):
        for number in range(20):
            notices.begin(f"dns-{number}", DNS)
            notices.publish(Notice(f"dns-{number}", "Kept", "a claim"))
            notices.end(f"dns-{number}")
        await asyncio.sleep(5)
        assert [body["involvedObject"]["name"] for body in server.bodies] == ["default"] * 20
        assert (notices.ended, notices.about("dns-0")) == ((), None)


@pytest.mark.looptime
async def test_subject_that_ends_in_silence_is_forgotten() -> None:
    server, notices = Server(), Notices()
    notices.begin("dns", DNS)
    async with posting(server, notices):
        notices.end("dns")
        await asyncio.sleep(1)
    assert (notices.ended, notices.about("dns"), server.calls) == ((), None, [])


@pytest.mark.looptime
async def test_subject_that_ends_while_another_event_is_written_keeps_its_object() -> None:
    server, notices = SlowServer(), Notices()
    notices.begin("dns", DNS)
    async with posting(server, notices):
        notices.publish(FAILED)
        await asyncio.sleep(CALM + 0.5)
        notices.publish(Notice("dns", "Kept", "a claim"))
        notices.end("dns")
        await asyncio.sleep(5)
    assert [body["involvedObject"]["kind"] for body in server.bodies] == ["ConfigMap", "CoreDNS"]

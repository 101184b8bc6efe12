"""Events as an API server gets them: gathered, counted, and never waited for. Level: FakeApi."""

import asyncio
from dataclasses import replace

import pytest

from hookrunner import log
from hookrunner.controllers import event_recorder
from hookrunner.controllers.event_recorder import EventPace, EventRecorder, EventSource, ObjectEvent, StateEvent
from hookrunner.errors import Denied, NotFound
from hookrunner.model.resources import ObjectReference
from tests.controllers.event_server import EventServer
from tests.fakes.clocks import awkward, run_watched
from tests.fakes.cluster import running

pytestmark = pytest.mark.looptime

NODE = ObjectReference("v1", "Node", "", "worker-1", "u-1")
SERVICE = ObjectReference("v1", "Service", "shop", "web", "u-2")
SYNCED = ObjectEvent("Synced", "Node synced successfully", is_warning=False)
FAILED = ObjectEvent("SyncLoadBalancerFailed", "Error syncing load balancer: quota")


@pytest.fixture
async def server() -> EventServer:
    return EventServer()


@pytest.fixture
async def recorder(server: EventServer) -> EventRecorder:
    return EventRecorder(server.client)


@pytest.fixture
async def services(recorder: EventRecorder) -> EventSource:
    return recorder.source("service-controller")


async def test_event_is_written_at_once_and_names_object_and_source(
    server: EventServer, recorder: EventRecorder
) -> None:
    async with running(recorder.write()):
        recorder.source("cloud-node-controller").record(NODE, SYNCED)
        await asyncio.sleep(0.1)
    (call,) = server.calls
    assert (call.method, call.path) == ("POST", "/api/v1/namespaces/default/events")
    assert call.body["metadata"].pop("name").startswith("worker-1.")
    assert call.body.pop("firstTimestamp") == call.body.pop("lastTimestamp")
    assert call.body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": "worker-1", "uid": "u-1"},
        "type": "Normal",
        "reason": "Synced",
        "message": "Node synced successfully",
        "count": 1,
        "source": {"component": "cloud-node-controller"},
        "reportingComponent": "cloud-node-controller",
        "reportingInstance": "",
    }


async def test_event_of_an_object_with_a_namespace_is_in_it(
    server: EventServer, recorder: EventRecorder, services: EventSource
) -> None:
    async with running(recorder.write()):
        services.record(SERVICE, FAILED)
        await asyncio.sleep(0.1)
    (call,) = server.calls
    assert (call.path, call.body["type"]) == ("/api/v1/namespaces/shop/events", "Warning")
    assert call.body["involvedObject"]["namespace"] == "shop"


async def test_repetitions_are_counted_once_a_minute(
    server: EventServer, recorder: EventRecorder, services: EventSource
) -> None:
    async with running(recorder.write()):
        for _ in range(13):
            services.record(SERVICE, FAILED)
            await asyncio.sleep(5)
    first, second = server.calls
    assert (first.method, second.method, second.body["count"]) == ("POST", "PATCH", 13)
    assert second.path.endswith(first.body["metadata"]["name"])


async def test_what_happens_between_the_same_events_does_not_end_their_count(
    server: EventServer, recorder: EventRecorder, services: EventSource
) -> None:
    async with running(recorder.write()):
        for _ in range(3):
            services.record(SERVICE, replace(FAILED, reason="EnsuringLoadBalancer", message="Ensuring"))
            services.record(SERVICE, FAILED)
            await asyncio.sleep(300)
    assert server.methods == ["POST", "POST", "PATCH", "PATCH", "PATCH", "PATCH"]


async def test_each_object_source_reason_and_message_is_an_event_of_its_own(
    server: EventServer, recorder: EventRecorder, services: EventSource
) -> None:
    async with running(recorder.write()):
        services.record(SERVICE, FAILED)
        services.record(replace(SERVICE, uid="u-3"), FAILED)
        recorder.source("route_controller").record(SERVICE, FAILED)
        services.record(SERVICE, replace(FAILED, reason="DeleteLoadBalancerFailed"))
        await asyncio.sleep(1)
        services.record(SERVICE, replace(FAILED, message="something else"))
        await asyncio.sleep(1)
        assert server.methods == ["POST"] * 4
        await asyncio.sleep(10)
    assert server.methods == ["POST"] * 5
    assert server.bodies[-1]["message"] == "something else"


async def test_deleted_event_is_written_again(
    server: EventServer, recorder: EventRecorder, services: EventSource
) -> None:
    async with running(recorder.write()):
        services.record(SERVICE, FAILED)
        await asyncio.sleep(100)
        server.error = NotFound(404, "NotFound", "")
        services.record(SERVICE, FAILED)
        await asyncio.sleep(100)
    assert server.methods == ["POST", "PATCH", "POST"]


async def test_repetition_after_more_than_an_hour_is_a_new_event(
    server: EventServer, recorder: EventRecorder, services: EventSource
) -> None:
    async with running(recorder.write()):
        for _ in range(2):
            services.record(SERVICE, FAILED)
            await asyncio.sleep(3601)
            recorder.source("cloud-node-controller").record(NODE, SYNCED)
            await asyncio.sleep(1)
    assert [call.method for call in server.calls if "shop" in call.path] == ["POST", "POST"]


async def test_messages_are_one_line_of_bounded_length(server: EventServer) -> None:
    recorder = EventRecorder(server.client, EventPace(gathered=1.0))
    async with running(recorder.write()):
        for number in range(100):
            recorder.record(SERVICE, "x", replace(FAILED, message=f"port {number}:\nis taken\nby another"))
        await asyncio.sleep(2)
    (body,) = server.bodies
    assert body["message"].startswith("port 0: is taken; by another; port 1: is taken; by another; ")
    assert (len(body["message"]), body["message"][-1]) == (1024, "…")


async def test_message_is_one_line_that_no_terminal_obeys_without_what_is_masked(server: EventServer) -> None:
    recorder = EventRecorder(server.client, mask=lambda text: text.replace("hunter22", "***"))
    async with running(recorder.write()):
        recorder.record(NODE, "x", ObjectEvent("Failed", "a\r\n\x1b[2Jhunter22\u202e" + "b" * 1002 + " hunter22"))
        await asyncio.sleep(1)
    message = server.bodies[0]["message"]
    assert message.startswith(r"a; \x1b[2J***\u202eb")
    assert (len(message), "hunt" in message) == (1024, False)


async def test_what_is_recorded_during_a_slow_write_is_written_after_it() -> None:
    server = EventServer(seconds=5.0)
    recorder = EventRecorder(server.client)
    async with running(recorder.write()):
        recorder.record(SERVICE, "x", FAILED)
        await asyncio.sleep(1)
        recorder.record(SERVICE, "x", replace(FAILED, message="something else"))
        recorder.record(NODE, "x", SYNCED)
        await asyncio.sleep(100)
    assert [body["message"] for body in server.bodies] == [FAILED.message, SYNCED.message, "something else"]


async def test_rest_is_written_at_the_end_within_a_limit() -> None:
    server = EventServer(seconds=1.0)
    recorder = EventRecorder(server.client, EventPace(gathered=60.0))
    for number in range(10):
        recorder.record(replace(NODE, name=str(number)), "x", SYNCED)
    await recorder.write_rest(within=3.5)
    assert len(server.bodies) == 3


async def test_missing_rights_are_logged_once_and_fail_nothing(
    server: EventServer, recorder: EventRecorder, services: EventSource, capfd: pytest.CaptureFixture[str]
) -> None:
    server.error = Denied(403, "Forbidden", "events is forbidden")
    async with running(recorder.write()):
        for number in range(3):
            services.record(SERVICE, replace(FAILED, message=str(number)))
            await asyncio.sleep(20)
        server.error = None
        services.record(SERVICE, replace(FAILED, message="last"))
        await asyncio.sleep(20)
    assert [body["message"] for body in server.bodies] == ["0", "1", "2", "last"]
    log.flush(1.0)
    assert capfd.readouterr().err.count("an Event cannot be written") == 1


async def test_name_of_an_event_fits_also_for_the_longest_name(server: EventServer, recorder: EventRecorder) -> None:
    async with running(recorder.write()):
        recorder.record(replace(NODE, name="n" * 253), "x", SYNCED)
        await asyncio.sleep(1)
    assert len(server.bodies[0]["metadata"]["name"]) == 253


async def test_recording_never_waits_and_what_is_remembered_is_bounded(recorder: EventRecorder) -> None:
    for number in range(event_recorder._MOST + 100):
        recorder.record(replace(NODE, name=str(number)), "x", SYNCED)
    assert len(recorder._threads) == len(recorder._waiting) == event_recorder._MOST


def test_an_event_is_written_where_the_timer_is_early() -> None:
    """At the end of the time in which messages are gathered, and of the pause before the second Event."""

    async def twice() -> None:
        server = EventServer()
        recorder = EventRecorder(server.client, EventPace(gathered=1.0))
        async with running(recorder.write()):
            for _ in range(2):
                recorder.record(NODE, "x", SYNCED)
                await asyncio.sleep(100)
        assert len(server.calls) == 2

    run_watched(twice(), awkward(1.0))


async def test_state_replaces_what_is_not_written_yet(server: EventServer) -> None:
    recorder = EventRecorder(server.client, EventPace(gathered=1.0))
    source = recorder.source("hookrunner")
    async with running(recorder.write()):
        for message in ("1.14.2 works", "1.14.6 works", "1.14.6 works"):
            source.record(NODE, StateEvent("Healthy", message, is_warning=False))
        await asyncio.sleep(2)
    (call,) = server.calls
    assert (call.body["message"], call.body["count"]) == ("1.14.6 works", 2)

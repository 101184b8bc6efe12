"""Differences from shell-operator without a home in the tests of a room; docs/differences.md names each.

Level: pure."""

import asyncio
import datetime
import itertools
from pathlib import Path

import pytest

from hookrunner import cron
from hookrunner.background import Background
from hookrunner.engine import dispatch
from hookrunner.engine.queues import Queue, QueueParts
from hookrunner.engine.workers import Queues
from hookrunner.errors import BadConfig, BadHookConfig
from hookrunner.hooks.config import hook_config
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.bindings import MAIN, Hook, HookConfig, Kubernetes
from hookrunner.model.tasks import Done, EnableScheduleBindings, Outcome, Task
from hookrunner.settings import load
from hookrunner.values import config_sections
from hookrunner.values.section_store import SectionStore
from hookrunner.web.debug import Parameters, log_level
from tests.fakes.gates import FakeGate
from tests.tables import each


def test_a_startup_run_is_labelled_by_what_it_is() -> None:
    (run,) = dispatch.startup([Hook("h", Path("/h"), HookConfig("v1", on_startup=1.0))])
    assert dispatch.STARTUP == getattr(run, "binding", None) == "onStartup"


def test_a_binding_that_skips_its_synchronization_is_left_out_of_its_group() -> None:
    """In shell-operator the head of the group alone decided."""
    silent = Kubernetes("two", "Secret", group="g", run_on_synchronization=False)
    config = HookConfig("v1", kubernetes=(Kubernetes("one", "Pod", group="g"), silent))
    one, two = dispatch.synchronizations(Hook("h", Path("/h"), config), 0.0)
    assert one.absorbs(two)
    merged = one.merged([two])
    assert ([context.binding for context in merged.contexts], merged.unlocks) == (["one"], (0, 1))


def test_requests_are_not_limited_by_default() -> None:
    kube = load({}, "hookrunner").kube
    assert (kube.qps, kube.patch_qps) == (0, 0)


def test_a_negative_burst_is_refused() -> None:
    with pytest.raises(BadHookConfig, match="executionBurst must be at least 0"):
        hook_config.parse("h", b"{configVersion: v1, settings: {executionBurst: -1}, onStartup: 1}")


def test_trace_is_limited_as_debug_is() -> None:
    assert dict(log_level("info").brief) == {"debug": 1800.0, "trace": 1800.0}


def test_a_schedule_more_than_five_years_away_fires() -> None:
    """A 29 February that is a Sunday."""
    utc = datetime.UTC
    due = cron.parse("TZ=UTC 0 0 29 2 */7").next_after(datetime.datetime(2026, 1, 1, tzinfo=utc).timestamp())
    assert due == datetime.datetime(2032, 2, 29, tzinfo=utc).timestamp()


async def test_each_operation_on_a_queue_is_timed_by_itself() -> None:
    """In shell-operator every duration was counted from the first one. The clock moves one second at each look."""
    metrics, clock = Metrics(""), itertools.count(0.0)

    async def run(queue: Queue, task: Task) -> Outcome:
        return Done()

    async with asyncio.TaskGroup() as group:
        queues, background = Queues(QueueParts(FakeGate(), clock.__next__, metrics)), Background(group)
        queues.open(MAIN, run, background)
        for name in ("a", "b", "c"):
            queues.by_name[MAIN].enqueue(EnableScheduleBindings(name))
        background.stop()
    series = b'tasks_queue_action_duration_seconds_sum{queue_action="AddLast",queue_name="main"}'
    assert series + b" 6\n" in metrics.exposition()


def test_seconds_are_counted_with_their_fractions() -> None:
    metrics = Metrics("")
    for _ in range(3):
        metrics.task_wait_in_queue_seconds.add(0.5, "h", "b", "q")
    assert b'task_wait_in_queue_seconds_total{binding="b",hook="h",queue="q"} 1.5' in metrics.exposition()


@each(
    "binding",
    [
        "{kind: Pod, namespace: {labelSelector: {matchExpressions: [{key: a, operator: In, values: []}]}}}",
        "{kind: Pod, apiVersion: apps/}",
        "{kind: Pod, apiVersion: /}",
    ],
)
def test_bindings_that_cannot_be_watched_are_refused_when_the_hook_is_loaded(binding: str) -> None:
    with pytest.raises(BadHookConfig, match="is invalid"):
        hook_config.parse("h", f"{{configVersion: v1, kubernetes: [{binding}]}}".encode())


def test_waiting_for_a_limit_and_the_answer_are_measured_apart() -> None:
    metrics = Metrics("")
    requests = Requests(metrics)
    requests.request_finished("GET", "/api/v1/pods", "host", "200", 0.1)
    requests.waited("GET", "/api/v1/pods", 2.0)
    text = metrics.exposition().decode()
    assert 'kubernetes_client_request_latency_seconds_sum{component="main",url="/api/v1/pods",verb="GET"} 0.1' in text
    assert 'kubernetes_client_rate_limiter_latency_seconds_sum{url="/api/v1/pods",verb="GET"} 2' in text


def test_a_number_with_a_point_keeps_it_in_the_values_of_hooks() -> None:
    store = SectionStore({"a": {}}, {})
    store.adopt(config_sections.parse({"a": "{five: 5.0, half: 0.5, many: 1000000}"}), None, {"a"})
    assert b'"a":{"five":5.0,"half":0.5,"many":1000000}' in store.files("a").values


def test_no_parameter_logs_every_event_of_the_configuration() -> None:
    with pytest.raises(BadConfig, match="unknown runtime parameter"):
        Parameters([log_level("info")]).set("log.configmap.events", "true")

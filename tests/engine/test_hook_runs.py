"""Hook runs in an engine: real processes, a fake cluster.

Not here: queues by themselves (test_queues.py), the real API server (tests/flows), and what comes of failures, limits,
operations and metrics, which are stories of every carrier (tests/contract/carriers/engine.json).

Level: sandbox.
"""

import re

import pytest

from hookrunner.jq.program import Jq
from hookrunner.kube import back_off
from hookrunner.kube.client import Client
from hookrunner.model.events import WatchLost, WatchRestored
from hookrunner.model.needs import Urgency
from hookrunner.model.resources import ObjectKey
from tests.engine.conftest import Bench
from tests.fakes.cluster import settle
from tests.fakes.objects import config_map

CONFIGMAPS = {"name": "cms", "kind": "ConfigMap"}


async def test_a_skipped_synchronization_runs_nothing_and_opens_the_gate(bench: Bench, jq: Jq, client: Client) -> None:
    bench.hook("a.sh", {"kubernetes": [{**CONFIGMAPS, "executeHookOnSynchronization": False}]})
    bench.cluster.put(config_map("old"))
    await bench.start(jq, client)
    await bench.idle()
    bench.cluster.put(config_map("new"))
    ((event,),) = await bench.wait_for_runs("a.sh", 1)
    assert event["type"] == "Event"


@pytest.mark.slow
async def test_two_unnamed_bindings_keep_their_own_objects(bench: Bench, jq: Jq, client: Client) -> None:
    """docs/decisions.md: the predecessor showed the first binding's objects twice."""
    bench.hook("a.sh", {"kubernetes": [{"kind": "ConfigMap"}, {"kind": "Secret"}]})
    bench.cluster.put(config_map("a"))
    bench.cluster.put({**config_map("b"), "kind": "Secret"})
    await bench.start(jq, client)
    runs = await bench.wait_for_runs("a.sh", 2)
    assert [[item["object"]["kind"] for item in run[0]["objects"]] for run in runs] == [["ConfigMap"], ["Secret"]]


async def test_a_failure_is_shown_with_its_reason_and_keeps_the_events_locked(
    bench: Bench, jq: Jq, client: Client
) -> None:
    bench.hook("a.sh", {"kubernetes": [CONFIGMAPS]}, "echo no luck >&2; exit 3")
    await bench.start(jq, client)
    await bench.wait_for_runs("a.sh", 1)
    await bench.idle()
    assert bench.shown() == ["HookRun:main:kubernetes:a.sh:cms:failures 1:a.sh FAILED: no luck"]
    bench.cluster.put(config_map("new"))
    await bench.idle()
    assert len(bench.shown()) == 1
    assert bench.status.queues()[0].status.startswith("sleep after fail for 5s")


async def test_the_last_attempt_drops_the_task_and_says_so(bench: Bench, jq: Jq, client: Client) -> None:
    bench.hook("a.sh", {"onStartup": 1, "settings": {"maxAttempts": 1}}, "exit 1")
    await bench.start(jq, client)
    await bench.wait_for_runs("a.sh", 1)
    await bench.idle()
    assert bench.shown() == []
    ready, message = bench.status.conditions()["tasks"]
    assert (ready, "1 dropped" in message, "a.sh" in message) == (True, True, True)
    assert [(need.kind, need.message) for need in bench.status.needs()] == [("tasks", message)]
    line = 'tasks_dropped_total{binding="onStartup",hook="a.sh",queue="main"} 1'
    assert line in bench.metrics.exposition().decode().splitlines()


@pytest.mark.slow
async def test_a_missing_kind_delays_its_own_binding_only(bench: Bench, jq: Jq, client: Client) -> None:
    bench.cluster.forbidden.add("Secret")
    bench.hook("a.sh", {"kubernetes": [{"name": "secrets", "kind": "Secret"}, CONFIGMAPS]})
    bench.hook("b.sh", {"kubernetes": [CONFIGMAPS]})
    await bench.start(jq, client)
    await bench.wait_for_runs("a.sh", 1)
    await bench.wait_for_runs("b.sh", 1)
    await bench.idle()
    assert [run[0]["binding"] for run in bench.runs("a.sh")] == ["cms"]
    assert "waiting for snapshot of secrets (forbidden: Secret)" in bench.shown()[0]
    assert not bench.status.conditions()["watches"][0]
    [need] = bench.status.needs()
    assert (need.urgency, need.name, need.message) == (Urgency.CRITICAL, "a.sh: secrets", "forbidden: Secret")


@pytest.mark.slow
async def test_lost_watches_are_all_named_and_keep_nothing_unready(
    bench: Bench, jq: Jq, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an outage only a watch that is being resumed notices it at once; the others are silent."""
    monkeypatch.setattr(back_off, "BLIP", 0.0)
    for name in ("a.sh", "b.sh"):
        bench.hook(name, {"kubernetes": [CONFIGMAPS]})
    bench.hook("c.sh", {"schedule": [{"crontab": "0 0 1 1 *"}]})
    await bench.start(jq, client)
    await bench.idle()
    assert bench.status.conditions()["watches"] == (True, "")
    bench.cluster.tell(WatchLost("connection refused", brief=True))
    await settle()
    assert bench.status.conditions()["watches"] == (True, "a.sh: cms, b.sh: cms: connection refused")
    assert [need.urgency for need in bench.status.needs()] == [Urgency.FAILING]
    bench.cluster.tell(WatchRestored())
    await settle()
    client.outage.note_failure()
    ready, message = bench.status.conditions()["watches"]
    assert ready
    assert re.fullmatch(r"a\.sh: cms, b\.sh: cms: not seen since \S+Z: the API server does not answer", message)
    assert [(need.urgency, str(need)) for need in bench.status.needs()] == [(Urgency.CRITICAL, message)]
    client.outage.note_answer(200)
    assert bench.status.conditions()["watches"] == (True, "")


async def test_a_hook_never_runs_on_a_missing_snapshot(bench: Bench, jq: Jq, client: Client) -> None:
    """An unknown snapshot is not `[]`: the task waits."""
    bench.cluster.forbidden.add("Secret")
    secrets = {"name": "secrets", "kind": "Secret", "executeHookOnSynchronization": False}
    bench.hook("a.sh", {"kubernetes": [secrets, {**CONFIGMAPS, "includeSnapshotsFrom": ["secrets"]}]})
    await bench.start(jq, client)
    await bench.idle()
    assert bench.runs("a.sh") == []
    assert len(bench.shown()) == 2


async def test_a_groups_context_has_the_snapshots_of_the_moment(bench: Bench, jq: Jq, client: Client) -> None:
    bench.hook("a.sh", {"kubernetes": [{**CONFIGMAPS, "group": "g"}, {"name": "s", "kind": "Secret", "group": "g"}]})
    bench.cluster.put(config_map("old"))
    await bench.start(jq, client)
    ((context,),) = await bench.wait_for_runs("a.sh", 1)
    assert (context["type"], context["groupName"], set(context["snapshots"])) == ("Group", "g", {"cms", "s"})
    assert len(context["snapshots"]["cms"]) == 1


@pytest.mark.slow
async def test_a_filter_that_breaks_is_a_task_that_is_shown_and_heals(bench: Bench, jq: Jq, client: Client) -> None:
    """The others are reported at once, the broken one when it is repaired."""
    bench.hook("a.sh", {"kubernetes": [{**CONFIGMAPS, "jqFilter": ".data.n | tonumber"}]})
    await bench.start(jq, client)
    await bench.wait_for_runs("a.sh", 1)
    bench.cluster.put(config_map("bad", n="many"))
    bench.cluster.put(config_map("good", n="1"))
    assert (await bench.wait_for_runs("a.sh", 2))[1][0]["filterResult"] == 1
    await bench.idle()
    assert "cms default/ConfigMap/bad:failures 1" in bench.shown()[0]
    bench.cluster.put(config_map("bad", n="2"))
    assert (await bench.wait_for_runs("a.sh", 3))[2][0]["filterResult"] == 2
    assert bench.monitors.get(next(iter(bench.monitors)).id) is not None


async def test_dumps_change_nothing(bench: Bench, jq: Jq, client: Client) -> None:
    bench.hook("a.sh", {"kubernetes": [CONFIGMAPS]})
    bench.cluster.put(config_map("old"))
    await bench.start(jq, client)
    await bench.wait_for_runs("a.sh", 1)
    await bench.idle()
    dumps = [(bench.status.queues(), str(bench.status.snapshots("a.sh"))) for _ in range(2)]
    assert dumps[0] == dumps[1]
    assert bench.status.snapshots("unknown") is None
    (monitor,) = bench.monitors
    assert monitor.snapshot.get(ObjectKey("default", "ConfigMap", "old")) is not None

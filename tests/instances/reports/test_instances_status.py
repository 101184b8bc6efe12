"""What gauges and `/readyz` show of instances. Level: pure."""

import asyncio
import re
from dataclasses import dataclass

import pytest

from hookrunner.convergence.events import Notices
from hookrunner.instances.reports.instances_status import LONG, InstancesStatus
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.instances.reports.sight import Sight
from hookrunner.kube.back_off import Outage
from hookrunner.metrics.names import Metrics
from hookrunner.model.addon_status import AddonObstacle, AddonPhase, Installed, InstanceFacts, ObjectReport
from hookrunner.model.needs import Urgency
from tests.instances.samples import instance
from tests.tables import each

WORKS = InstanceFacts(
    1,
    installed=Installed("1.2.0", "sha256:x", "dns.default.x", 1, "", "stable"),
    objects=[ObjectReport("Service a/b", "Current")],
    available_version="1.3.0",
)
BEHIND = InstanceFacts(1, installed=WORKS.installed, objects=[ObjectReport("Deployment a/b", "InProgress")])


def obstructed(phase: AddonPhase, reason: str) -> InstanceFacts:
    return InstanceFacts(1, obstacle=AddonObstacle(phase, reason, "no"))


LABELS = 'addon="dns",name="x",namespace="default"'


@dataclass
class World:
    now: float
    metrics: Metrics
    reported: ReportedInstances
    status: InstancesStatus
    outage: Outage

    def lines(self) -> set[str]:
        return {line for line in self.metrics.exposition().decode().splitlines() if line.startswith("addon_")}

    def message(self) -> str:
        [(ready, message)] = self.status.conditions().values()
        assert ready
        return message


@pytest.fixture
def world() -> World:
    metrics = Metrics("")
    reported = ReportedInstances(Notices(), metrics, lambda: made.now)
    outage = Outage()
    status = InstancesStatus(reported, Sight({}, outage), lambda: made.now)
    made = World(0.0, metrics, reported, status, outage)
    made.status.export(metrics)
    return made


def test_gauges_show_the_present_state(world: World) -> None:
    world.reported.take_in(instance(), WORKS)
    assert world.lines() == {
        'addon_info{addon="dns",channel="stable",name="x",namespace="default",version="1.2.0"} 1',
        'addon_phase{addon="dns",name="x",namespace="default",phase="Current"} 1',
        f"addon_healthy{{{LABELS}}} 1",
        'addon_objects{addon="dns",name="x",namespace="default",status="Current"} 1',
        'addon_update_available{addon="dns",name="x",namespace="default",version="1.3.0"} 1',
    }


def test_instance_that_is_gone_leaves_no_series_and_others_keep_theirs(world: World) -> None:
    for about in (instance(), instance("y")):
        world.reported.take_in(about, WORKS)
        world.metrics.addon_run_errors.inc(*about.labels, "NoVersion")
        with world.metrics.time_addon_step(about.labels, "fetch"):
            pass
    world.reported.forget("dns.default.x")
    assert not [line for line in world.lines() if 'name="x"' in line]
    assert any('name="y"' in line for line in world.lines() if line.startswith("addon_run_seconds"))
    assert 'addon_run_errors_total{addon="dns",name="y",namespace="default",reason="NoVersion"} 1' in world.lines()


def test_readyz_names_what_is_behind_for_long(world: World) -> None:
    world.reported.take_in(instance(), BEHIND)
    world.now = LONG - 1
    assert world.message() == ""
    world.now = LONG
    assert world.message() == "dns/default/x: InProgress (ObjectsNotReady): Deployment a/b: InProgress"
    world.reported.take_in(instance(), WORKS)
    assert world.message() == ""


def test_readyz_names_an_instance_that_was_never_reconciled(world: World) -> None:
    world.reported.see(instance())
    world.now = LONG
    assert world.message() == "dns/default/x: not reconciled yet"


@pytest.mark.looptime
async def test_an_outage_of_the_api_server_is_named_with_its_beginning(world: World) -> None:
    world.reported.take_in(instance(), WORKS)
    world.outage.note_failure()
    await asyncio.sleep(10)
    assert re.fullmatch(r"no instance is seen since \S+Z: the API server does not answer", world.message())
    world.outage.note_answer(200)
    assert world.message() == ""


@each(
    ("facts", "urgency"),
    [
        (BEHIND, Urgency.WAITING),
        (obstructed(AddonPhase.PENDING, "Waiting"), Urgency.WAITING),
        (obstructed(AddonPhase.APPLYING, "ApplyFailed"), Urgency.FAILING),
        (obstructed(AddonPhase.VERSION_MISMATCH, "NoVersion"), Urgency.FAILING),
        (obstructed(AddonPhase.SUSPENDED, "Suspended"), Urgency.ADVICE),
    ],
)
def test_urgency_follows_from_the_phase(facts: InstanceFacts, urgency: Urgency) -> None:
    reported = ReportedInstances(Notices(), Metrics(""), lambda: 0.0)
    reported.take_in(instance(), facts)
    [need] = InstancesStatus(reported, Sight({}, Outage()), lambda: LONG).needs()
    assert (need.urgency, need.name, need.action) == (urgency, "dns/default/x", "hookrunner addon list")

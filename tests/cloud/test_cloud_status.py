"""What is shown of the cloud controller manager. Level: FakeApi."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from hookrunner.cloud.answers import (
    CloudCapabilities,
    ErrorCode,
    InstanceState,
    ListedLoadBalancer,
    ProviderError,
)
from hookrunner.cloud.cloud_status import CloudReports
from hookrunner.cloud.leader_terms import LeaderTerms, MakeLoop
from hookrunner.cloud.nodes.lifecycle import LifecyclePolicy
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.provider_calls import CallRecord
from hookrunner.cloud.services.service_decisions import ServicePolicy
from hookrunner.cloud.services.service_informer import ServiceInformer
from hookrunner.metrics.names import Metrics
from hookrunner.model.cloud import DeletionDump
from hookrunner.model.needs import Urgency
from tests.cloud.cloud_world import running
from tests.cloud.node_samples import new_node, node
from tests.cloud.nodes.node_world import NodeWorld
from tests.cloud.services.balancer_world import service_loop
from tests.cloud.services.service_samples import service

pytestmark = pytest.mark.looptime(noop_cycles=2)


@dataclass
class Calls:
    recent: list[CallRecord] = field(default_factory=list)
    paused_until: float = 0.0


@dataclass
class Leading:
    is_leader: bool = True
    holder: str = "me"
    problem: str = ""


class Shown:
    """The loops of Nodes on a small cluster, and what is shown of them."""

    def __init__(self, *, keeps_balancers: bool = False) -> None:
        self.metrics, self.keeps_balancers = Metrics(), keeps_balancers
        self.world = NodeWorld(metrics=self.metrics, life_policy=LifecyclePolicy(min_age=0))
        self.leading = Leading()
        self.obstacle = ""
        self.condition = (True, "")
        self.calls = Calls()
        self.services = ServiceInformer(self.world.api)
        self.balancers: tuple[ListedLoadBalancer, ...] = ()
        self.terms = LeaderTerms(self._follow, self._loops)
        self.reports = CloudReports(
            path="/providers/sim",
            provider=self,
            leadership=self.leading,
            nodes=self.world.nodes,
            services=self.services,
            terms=self.terms,
            obstacle=lambda: self.obstacle,
            watches_services=lambda: keeps_balancers,
            mask=lambda text: text.replace("hunter22", "***"),
        )

    @property
    def capabilities(self) -> CloudCapabilities:
        return self.world.cloud.capabilities

    async def list_load_balancers(self) -> tuple[ListedLoadBalancer, ...]:
        return self.balancers

    async def _follow(self) -> AsyncIterator[CloudCapabilities]:
        yield self.capabilities

    def _loops(self, capabilities: CloudCapabilities) -> Mapping[str, MakeLoop]:
        world = self.world
        balancers = service_loop(world, self.services, world.nodes, ServicePolicy())
        return {
            "cloud-node-controller": lambda: world.init_loop,
            "cloud-node-lifecycle-controller": lambda: world.life_loop,
            **({"service-lb-controller": lambda: balancers} if self.keeps_balancers else {}),
        }

    @asynccontextmanager
    async def running(self, seconds: float = 60) -> AsyncIterator[CloudReports]:
        """Shown after so many seconds."""
        follow = (self.services.follow,) if self.keeps_balancers else ()
        async with running(self.world.nodes.follow, *follow, self.terms.lead):
            await asyncio.sleep(seconds)
            yield self.reports


async def test_an_uninitialised_node_is_shown_with_its_reason() -> None:
    shown = Shown()
    shown.world.cloud.add("a")
    shown.world.cloud.add("b")
    shown.world.cloud.fail(verbs.INSTANCES, ProviderError(ErrorCode.UNAVAILABLE, "exit code 1"))
    shown.world.api.put(new_node("a"))
    shown.world.api.put(node("b", provider_id="sim://b"))
    shown.world.api.put(node("c", provider_id="other://c"))
    async with shown.running() as reports:
        nodes = {one.name: one for one in reports.dump().nodes}
        assert {name: one.state for name, one in nodes.items()} == {
            "a": "uninitialized",
            "b": "initialized",
            "c": "foreign",
        }
        assert "exit code 1" in nodes["a"].reason
        ready, message = reports.conditions()["nodes"]
        assert ready
        assert message.startswith("a: ")
        assert "exit code 1" in message


async def test_replica_that_does_not_lead_says_nothing_of_nodes_that_wait() -> None:
    """It does not know which of them need no initialisation."""
    shown, metrics = Shown(), Metrics()
    shown.reports.export(metrics)
    shown.world.api.put(new_node("a"))
    async with running(shown.world.nodes.follow):
        await asyncio.sleep(600)
        assert [one.name for one in shown.reports.dump().nodes] == ["a"]
        assert shown.reports.conditions()["nodes"] == (True, "")
        assert "hookrunner_cloud_nodes{" not in metrics.exposition().decode()


async def test_what_the_loops_do_is_counted() -> None:
    shown = Shown(keeps_balancers=True)
    shown.reports.export(shown.metrics)
    for name in ("new", "skipped", "gone", "well"):
        shown.world.cloud.add(name)
    shown.world.cloud.say("skipped", InstanceState.SKIP)
    shown.world.cloud.terminate("gone")
    shown.world.api.put(new_node("new"))
    shown.world.api.put(new_node("skipped"))
    shown.world.api.put(node("gone", None, "sim://gone"))
    shown.world.api.put(node("well", provider_id="sim://well"))
    shown.world.api.put(node("foreign", provider_id="other://foreign"))
    shown.world.api.put(service())
    async with shown.running():
        counted = set(shown.metrics.exposition().decode().splitlines())
    assert {
        'hookrunner_cloud_nodes{state="initialized"} 2',
        'hookrunner_cloud_nodes{state="skipped"} 1',
        'hookrunner_cloud_nodes{state="foreign"} 1',
        'hookrunner_cloud_services{state="synced"} 1',
        'hookrunner_cloud_node_deletes_total{result="deleted"} 1',
        "hookrunner_cloud_node_init_seconds_count 1",
        "node_controller_cloud_provider_taint_removal_delay_seconds_count 1",
        "node_controller_initial_node_sync_delay_seconds_count 1",
        "hookrunner_cloud_leader 1",
    } - counted == set()


async def test_missing_right_to_list_services_is_said_and_holds_up_no_node() -> None:
    shown = Shown(keeps_balancers=True)
    cluster = shown.world.api.cluster
    cluster.forbidden.add("Service")
    shown.world.register("a")
    shown.world.api.put(service())
    async with shown.running() as reports:
        assert reports.conditions()["watches"] == (False, "Services: forbidden: Service")
        assert [one.state for one in reports.dump().nodes] == ["initialized"]
        assert not shown.world.cloud.load_balancers
        cluster.granted.set()
        await asyncio.sleep(1)
        assert reports.conditions()["watches"] == (True, "")
        assert [one.state for one in reports.dump().services] == ["synced"]


async def test_missing_right_to_list_nodes_is_said_and_nothing_is_decided_without_them() -> None:
    shown = Shown(keeps_balancers=True)
    cluster = shown.world.api.cluster
    cluster.forbidden.add("Node")
    shown.world.register("a")
    shown.world.api.put(service())
    async with shown.running() as reports:
        assert reports.conditions()["watches"] == (False, "Nodes: forbidden: Node")
        assert (shown.world.cloud.calls, shown.world.api.calls) == ([], [])
        cluster.granted.set()
        await asyncio.sleep(20)
        assert reports.conditions()["watches"] == (True, "")
        assert [one.state for one in reports.dump().nodes] == ["initialized"]
        assert [one.state for one in reports.dump().services] == ["synced"]


async def test_held_deletions_are_shown_and_released() -> None:
    shown, metrics = Shown(), Metrics("")
    shown.reports.export(metrics)
    shown.world.add(*"abc", ready=False)
    shown.world.add(*"defgh")
    shown.world.cloud.terminate("a", "b", "c")
    async with shown.running(15) as reports:
        assert reports.conditions()["deletions"] == (True, ""), "nothing is held before it is confirmed"
        await asyncio.sleep(40)
        assert reports.conditions()["deletions"] == (
            True,
            "held: a, b, c; `hookrunner cloud release` lets them go",
        )
        assert b"\ncloud_node_deletes_held 3\n" in metrics.exposition()
        assert [(one.confirmations, one.held) for one in reports.dump().deletions] == [(6, True)] * 3
        assert reports.release() == ["a", "b", "c"]
        await asyncio.sleep(60)
        assert not shown.world.api.has("Node", "a")
        assert reports.dump().deletions == tuple[DeletionDump]()


async def test_what_needs_the_user_is_named_with_what_to_do() -> None:
    shown = Shown(keeps_balancers=True)
    shown.world.add("a", ready=False)
    shown.world.add(*"bc")
    shown.world.api.put(new_node("late"))
    shown.world.cloud.terminate("a")
    shown.world.api.put(service("web"))
    shown.world.cloud.fail(verbs.LB_ENSURE, ProviderError(ErrorCode.INVALID, "no such size"))
    async with shown.running(400) as reports:
        shown.condition, shown.leading.problem = (True, "capabilities: hunter22"), "leases is forbidden"
        shown.calls.paused_until = time.time() + 60
        needs = [(need.urgency, need.kind, need.name, need.message) for need in reports.needs()]
        assert needs[0] == (Urgency.FAILING, "provider", "", "capabilities: ***")
        assert needs[1][:2] == (Urgency.WAITING, "provider")
        assert needs[2] == (Urgency.FAILING, "leader", "", "leases is forbidden")
        assert needs[3][:3] == (Urgency.FAILING, "nodes", "late")
        assert needs[4:] == [(Urgency.FAILING, "services", "default/web", "Invalid: no such size")]


async def test_a_held_deletion_needs_the_command_that_releases_it() -> None:
    shown = Shown()
    shown.world.add(*"abc", ready=False)
    shown.world.add(*"defgh")
    shown.world.cloud.terminate("a", "b", "c")
    async with shown.running(55) as reports:
        held = [need for need in reports.needs() if need.kind == "deletions"]
        assert [(need.name, need.urgency) for need in held] == [(name, Urgency.WAITING) for name in "abc"]
        assert "hookrunner cloud release" in held[0].action


async def test_who_leads_is_told_and_no_reason_to_be_unready() -> None:
    shown = Shown()
    async with shown.running() as reports:
        assert reports.conditions()["leader"] == (True, "this replica leads")
        shown.leading.is_leader, shown.leading.holder = False, "other"
        assert reports.conditions()["leader"] == (True, "other leads")
        shown.leading.holder, shown.leading.problem = "", "leases is forbidden"
        assert reports.conditions()["leader"] == (True, "no one that is known leads; leases is forbidden")


async def test_a_provider_that_has_not_answered_makes_it_unready() -> None:
    shown = Shown()
    shown.condition = (False, "capabilities: Unavailable: exit code 1")
    async with shown.running() as reports:
        assert reports.conditions()["provider"] == (False, "capabilities: Unavailable: exit code 1")
        shown.condition, shown.obstacle = (True, ""), "--cluster-cidr: it is missing"
        assert reports.conditions()["provider"] == (False, "--cluster-cidr: it is missing")


async def test_a_lost_watch_makes_it_unready() -> None:
    shown = Shown()
    assert shown.reports.conditions()["watches"] == (False, "Nodes: the nodes have not been listed")
    async with shown.running() as reports:
        assert reports.conditions()["watches"] == (True, "")


async def test_orphans_are_searched_with_the_same_views() -> None:
    shown = Shown(keeps_balancers=True)
    shown.balancers = (ListedLoadBalancer("lb-1", "default/gone", "gone"),)
    async with shown.running() as reports:
        assert [orphan.name for orphan in await reports.find_orphans()] == ["lb-1"]


async def test_calls_are_shown_with_their_codes() -> None:
    shown = Shown()
    shown.calls.recent.append(CallRecord("instances", 5.0, 0.5, "Unavailable", "exit\ncode 1"))
    async with shown.running() as reports:
        (call,) = reports.dump().calls
        assert (call.verb, call.code, call.message) == ("instances", "Unavailable", "exit; code 1")


async def test_gauges_are_read_at_the_scrape() -> None:
    shown, metrics = Shown(), Metrics()
    shown.reports.export(metrics)
    shown.world.register("a")
    shown.calls.paused_until = 7.0
    async with shown.running():
        text = metrics.exposition().decode()
        lines = [line for line in text.splitlines() if line.startswith("hookrunner_cloud")]
        assert lines == [
            'hookrunner_cloud_backoff_objects{loop="cloud-node-controller"} 0',
            "hookrunner_cloud_leader 1",
            "hookrunner_cloud_node_delete_candidates 0",
            "hookrunner_cloud_node_deletes_held 0",
            'hookrunner_cloud_nodes{state="initialized"} 1',
            "hookrunner_cloud_provider_paused_until 7",
        ]


async def test_texts_of_the_provider_and_of_the_lease_are_shown_without_secrets_and_codes() -> None:
    shown, hostile = Shown(keeps_balancers=True), "hunter22\x1b[2J"
    shown.world.cloud.fail(verbs.INSTANCES, ProviderError(ErrorCode.UNAVAILABLE, hostile))
    shown.world.cloud.fail(verbs.LB_ENSURE, ProviderError(ErrorCode.INVALID, hostile))
    shown.world.api.put(new_node("a"))
    shown.world.api.put(service("web"))
    shown.leading.holder = shown.leading.problem = shown.obstacle = hostile
    shown.calls.recent.append(CallRecord("lb-get", 1.0, 1.0, "Unavailable", hostile))
    shown.balancers = (ListedLoadBalancer(hostile, hostile, hostile),)
    async with shown.running() as reports:
        dump, orphans, conditions = reports.dump(), await reports.find_orphans(), reports.conditions()
    (orphan,), (call,), (web,) = orphans, dump.calls, dump.services
    texts = [orphan.name, orphan.service, orphan.uid, call.message, dump.leader, dump.provider.problem, web.reason]
    texts += [one.reason for one in dump.nodes] + [conditions[name][1] for name in ("provider", "leader")]
    assert [text for text in texts if r"***\x1b[2J" not in text or "hunter22" in text or "\x1b" in text] == []

"""The life of the policy that protects objects: it comes with the first instance that asks for it, is repaired,
survives deaths and restarts, and goes with the last. Level: sandbox."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import orjson
import pytest

from hookrunner.instances.protection.object_protection import ObjectProtection, ProtectionTerms, ProtectionTools
from hookrunner.instances.protection.protection_policy import binding_spec
from hookrunner.kube.client import ApiCall
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model.releases import ServiceAccount
from hookrunner.registration.admission_policies import BINDING, POLICY
from hookrunner.registration.reconcile import claim
from hookrunner.releases.manifest_objects import KindResolver
from hookrunner.settings import KubeSettings
from kubesandbox.faults import Fault
from kubetypes.json_values import JSON
from tests.convergence.conftest import MakeSite
from tests.fakes.deaths import MortalClient
from tests.flows.waiting import until
from tests.instances.living import Living, addon, head_of
from tests.kube.server import ApiServer, api_server

pytestmark = pytest.mark.looptime

NAME = "hookrunner-protect.home"
X, Y, OTHER = "dns.kube-system.x", "dns.kube-system.y", "net.kube-system.z"
ON = {"protect": True}
NEVER = 1000
WANTED = "the desired state"


class NamedClient(MortalClient):
    """A client whom the API server tells its user name: the sandbox knows of no users."""

    user = "me"

    async def send(self, call: ApiCall) -> bytes:
        if self.user and call.path.endswith("/selfsubjectreviews"):
            return orjson.dumps({"status": {"userInfo": {"username": self.user}}})
        return await super().send(call)


@dataclass
class Process:
    """A hookrunner of the addons `dns` and `net`; `api` has the policies, `living` the instances."""

    api: ApiServer
    client: NamedClient
    living: Living
    protection: ObjectProtection

    def state(self, unit: str = X) -> tuple[str, str]:
        """Status and reason of the condition."""
        found = self.protection.state_of(unit)
        return found.status, found.reason

    @property
    def writes(self) -> int:
        return self.client.death.steps


@asynccontextmanager
async def process(
    api: ApiServer, make_site: MakeSite, *on: str, writes: int = NEVER, unlisted: tuple[str, ...] = (), user: str = "me"
) -> AsyncIterator[Process]:
    """One that finds these instances of both addons, which ask for protection, and dies after so many writes."""
    living = Living(make_site(), addon("dns", instances="many"), addon("net", instances="many"))
    living.cluster.unreachable |= {*unlisted}
    for unit in on:
        living.put(unit[-1], unit[:3], spec=ON)
    async with NamedClient(Credentials(KubeSettings(), Connection(api.url)), writes) as client:
        client.user = user
        discovery, metrics = Discovery(client), Metrics("")
        changes, watches = living.site.states.unit_changes, Watches(client, discovery, metrics, 75)
        tools = ProtectionTools(client, KindResolver(discovery), watches, claim(1.0), changes)
        protection = ObjectProtection(living.registry, tools, ProtectionTerms("home", ("robot",)))
        await living.start()
        keeping = asyncio.create_task(protection.keep())
        try:
            yield Process(api, client, living, protection)
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)


def live(api: ApiServer, kind: str) -> JSON:
    head = {"apiVersion": POLICY.api_version, "kind": kind}
    return api.get(head | {"metadata": {"name": NAME}})


def protected(api: ApiServer) -> list[str]:
    """The units of which the policy is, if it is bound; what is left without the other part is said too."""
    policy, binding = live(api, POLICY.kind), live(api, BINDING.kind)
    if (policy is None) != (binding is None):
        return ["policy" if policy else "binding"]
    matched = policy["spec"]["matchConstraints"]["objectSelector"]["matchExpressions"] if policy else [{"values": []}]
    return list(matched[0]["values"])


def is_quiet(there: Process) -> Callable[[], bool]:
    """Is all in sync that an instance asks for?"""
    return lambda: there.state() == ("Unknown", "NotObserved")


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with api_server() as api:
        yield api


async def test_policy_comes_with_the_first_instance_and_goes_with_the_last(api: ApiServer, make_site: MakeSite) -> None:
    async with process(api, make_site) as there:
        living = there.living
        living.put("x", "dns", spec=ON)
        await until(lambda: protected(api) == [X], WANTED)
        living.put("y", "dns", spec=ON)
        await until(lambda: protected(api) == [X, Y], WANTED)
        living.put("x", "dns", spec={})
        await until(lambda: protected(api) == [Y], WANTED)
        living.delete("y", "dns")
        await until(lambda: protected(api) == [], WANTED)
        assert (live(api, POLICY.kind), live(api, BINDING.kind), living.registry.get(Y)) == (None, None, None)


async def test_restart_writes_nothing_and_protects_at_once(api: ApiServer, make_site: MakeSite) -> None:
    async with process(api, make_site, X, OTHER) as first:
        await until(is_quiet(first), WANTED)
        assert first.writes == 2
    before = live(api, POLICY.kind)
    async with process(api, make_site, X, OTHER, unlisted=("NET",)) as again:
        await until(is_quiet(again), WANTED)
        await again.living.runs()
        assert (again.writes, protected(api), live(api, POLICY.kind)) == (0, [X, OTHER], before)


async def test_without_a_wish_nothing_is_written_or_needed(api: ApiServer, make_site: MakeSite) -> None:
    api.faults.add(Fault("answer", "validatingadmission", status=403))
    async with process(api, make_site) as there:
        there.living.put("x", "dns", spec={})
        await there.living.runs()
        assert ({*asked(api)}, there.writes, there.client.lacked.refused) == ({"GET"}, 0, {})


async def test_without_a_wish_it_is_looked_once_for_what_is_left(api: ApiServer, make_site: MakeSite) -> None:
    async with process(api, make_site) as there:
        there.living.put("x", "dns", spec={})
        await there.living.runs()
        assert asked(api) == ["GET", "GET"]


def asked(api: ApiServer) -> list[str]:
    return [request.method for request in api.requests if "validatingadmission" in request.path]


async def test_rules_stay_though_the_server_refuses_the_first_look(api: ApiServer, make_site: MakeSite) -> None:
    """As one does that has just started."""
    async with process(api, make_site, X, OTHER) as first:
        await until(is_quiet(first), WANTED)
    refused = api.faults.add(Fault("answer", "GET /apis/admissionregistration", status=403))
    async with process(api, make_site, X, unlisted=("NET",)) as again:
        await until(lambda: again.state() == ("False", "NotWritten"), WANTED)
        api.faults.remove(refused)
        await until(is_quiet(again), WANTED)
        assert (again.writes, protected(api)) == (0, [X, OTHER])


async def test_server_that_fails_at_the_first_look_is_asked_again(api: ApiServer, make_site: MakeSite) -> None:
    failing = api.faults.add(Fault("answer", BINDING.plural, status=500))
    async with process(api, make_site) as there:
        await asyncio.sleep(5)
        api.faults.remove(failing)
        there.living.put("x", "dns", spec=ON)
        await until(lambda: protected(api) == [X], WANTED)


async def test_state_is_true_when_the_policy_was_read_false_with_warnings(api: ApiServer, make_site: MakeSite) -> None:
    async with process(api, make_site, X) as there:
        told = there.living.site.states.unit_changes.subscribe()
        await until(is_quiet(there), WANTED)
        await report(there, {"observedGeneration": 1})
        await until(lambda: there.state() == ("True", "Enforced"), WANTED)
        assert told.are_waiting
        await report(there, {"typeChecking": {"expressionWarnings": [{"fieldRef": "spec", "warning": "odd"}]}})
        await until(lambda: there.state() == ("False", "TypeWarnings"), WANTED)


async def report(there: Process, status: JSON) -> None:
    """The controller of the control plane has read the policy."""
    policy = live(there.api, POLICY.kind)
    body = policy | {"status": (policy.get("status") or {}) | status}
    await there.client.send(ApiCall("PUT", f"{POLICY.path(name=NAME)}/status", {}, body))


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (POLICY.kind, None),
        (BINDING.kind, None),
        (POLICY.kind, {"validations": [{"expression": "true"}]}),
        (POLICY.kind, {"matchConditions": [{"name": "none", "expression": "false"}]}),
        (BINDING.kind, {"validationActions": ["Warn"]}),
        (BINDING.kind, {"matchResources": {"namespaceSelector": {"matchLabels": {"a": "b"}}}}),
    ],
)
async def test_changes_by_hand_are_undone(api: ApiServer, make_site: MakeSite, kind: str, change: Any) -> None:
    async with process(api, make_site, X) as there:
        await until(is_quiet(there), WANTED)
        obj = live(api, kind)
        if change is None:
            api.delete(obj)
        else:
            api.put(obj | {"spec": obj["spec"] | change})
        await asyncio.sleep(5)
        await until(lambda: live(api, kind) is not None and live(api, kind)["spec"] == obj["spec"], WANTED)
        assert live(api, BINDING.kind)["spec"] == binding_spec(NAME)


@pytest.mark.parametrize("writes", [0, 1, 2])
async def test_death_at_each_write_of_coming_and_going(api: ApiServer, make_site: MakeSite, writes: int) -> None:
    await dies(api, make_site, writes, X)
    async with process(api, make_site, X) as second:
        await until(is_quiet(second), WANTED)
        assert (second.writes, protected(api)) == (2 - writes, [X])
    await dies(api, make_site, writes)
    async with process(api, make_site) as last:
        await until(lambda: live(api, POLICY.kind) is live(api, BINDING.kind) is None, WANTED)
        await last.living.runs()
        assert last.writes == 2 - writes


async def dies(api: ApiServer, make_site: MakeSite, writes: int, *on: str) -> None:
    """A process that finds these instances, and is killed after so many writes."""
    async with process(api, make_site, *on, writes=writes) as there:
        await asyncio.wait({asyncio.ensure_future(there.client.death.happened.wait())}, timeout=10)


@pytest.mark.parametrize(("named", "let_through"), [("new", "new"), ("", "old")])
async def test_account_that_may_have_to_remove_the_objects_is_let_through(
    api: ApiServer, make_site: MakeSite, named: str, let_through: str
) -> None:
    """One that is no longer named removes them if they were not written without it meanwhile."""
    async with process(api, make_site) as there:
        living = there.living
        living.heads[X] = replace(head_of(X), account=ServiceAccount("kube-system", "old"))
        living.site.releases.installed.add(X)
        living.put("x", "dns", spec={"protect": True, "suspend": True, "serviceAccountName": named})
        wanted = f'username == "system:serviceaccount:kube-system:{let_through}"'
        await until(lambda: protected(api) == [X] and wanted in str(live(api, POLICY.kind)["spec"]), WANTED)


async def test_rules_about_an_addon_that_is_no_longer_offered_stay(api: ApiServer, make_site: MakeSite) -> None:
    async with process(api, make_site, X, OTHER) as there:
        await until(lambda: protected(api) == [X, OTHER], WANTED)
        there.living.registry.withdraw("net")
        there.living.put("x", "dns", spec={})
        await until(lambda: protected(api) == [OTHER], WANTED)
        await there.living.runs()
        assert protected(api) == [OTHER]


async def test_missing_right_is_named_and_looked_for_again(api: ApiServer, make_site: MakeSite) -> None:
    refused = api.faults.add(Fault("answer", "POST /apis/admissionregistration", status=403))
    async with process(api, make_site, X) as there:
        await until(lambda: there.state() == ("False", "NotWritten"), WANTED)
        assert there.protection.state_of(X).message.startswith(f"ValidatingAdmissionPolicy '{NAME}': ")
        await asyncio.sleep(100)
        assert len(api.asked("POST")) < 6, "it is tried again from time to time"
        api.faults.remove(refused)
        await asyncio.sleep(40)
        await until(is_quiet(there), WANTED)
        assert protected(api) == [X]


async def test_server_without_the_kind_is_asked_again_later(api: ApiServer, make_site: MakeSite) -> None:
    old = api.faults.add(Fault("answer", "/apis/admissionregistration", status=404))
    async with process(api, make_site, X) as there:
        await until(lambda: there.state() == ("False", "NotServed"), WANTED)
        assert "1.30" in there.protection.state_of(X).message
        api.faults.remove(old)
        await asyncio.sleep(400)
        await until(is_quiet(there), WANTED)


async def test_without_a_name_of_its_own_hookrunner_locks_no_one_out(api: ApiServer, make_site: MakeSite) -> None:
    async with process(api, make_site, X, user="") as there:
        await until(lambda: there.state() == ("False", "UserUnknown"), WANTED)
        assert protected(api) == []


async def test_policy_of_someone_else_is_left_alone(api: ApiServer, make_site: MakeSite) -> None:
    head = {"apiVersion": POLICY.api_version, "kind": POLICY.kind, "metadata": {"name": NAME}}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    theirs = api.put(
        head | {"spec": {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "true"}]}}
    )
    async with process(api, make_site) as there:
        await there.living.runs()
    assert live(api, POLICY.kind) == theirs

"""Keeps the admission policy that protects the objects of instances with `spec.protect`: while one asks for it.

    protection = ObjectProtection(registry, tools, ProtectionTerms("hookrunner"))
    await protection.keep()                      # until cancelled
    protection.state_of("dns.default.x")         # for the condition Protected of its status

The policy and its binding are kept as webhook configurations are (`registration/registered_object.py`): put back when
someone changes or deletes them, with growing pauses if another program does. Rules about instances of which nothing is
known stay as they are: their addon is not listed yet, or no longer offered. So a restart takes no protection away, and
writes nothing.

The policy comes before its binding and is deleted before it. One without the other has no effect, and the next start
finds what is left of either.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from hookrunner.convergence.unit_states import UnitChanges
from hookrunner.errors import Denied, KubeError, NotFound
from hookrunner.instances.instance_planner import account_of
from hookrunner.instances.instance_registry import InstanceRegistry
from hookrunner.instances.protection.protection_policy import (
    binding_spec,
    policy_name,
    policy_spec,
    validation_of,
    validations,
)
from hookrunner.instances.protection.protection_state import PENDING, state_with_policy, state_without_policy
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.lacked_rights import tolerated_refusals
from hookrunner.kube.watch import Watches
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.addon_status import ProtectionState
from hookrunner.model.resources import Resource
from hookrunner.registration.admission_policies import BINDING, POLICY, AdmissionPolicy
from hookrunner.registration.reconcile import Claim, read_live
from hookrunner.registration.registered_object import RegisteredObject
from hookrunner.releases.manifest_objects import KindResolver
from hookrunner.waits import Notifier, Pauses
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_PAUSES = Pauses(2.0, 300.0)
"""Seconds until it is asked again for what an API server lacks: it may have been upgraded."""
_SELF = ObjectRef(Resource("authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews", False))


@dataclass(frozen=True, slots=True)
class ProtectionTools:
    """How the cluster is reached, and since when this process lives. `changes` is told which units have changed."""

    client: Client
    kinds: KindResolver
    watches: Watches
    claim: Claim
    changes: UnitChanges


@dataclass(frozen=True, slots=True)
class ProtectionTerms:
    """`home` is hookrunner's namespace, `exempt` are users and groups that may write protected objects."""

    home: str
    exempt: Sequence[str] = ()


class ObjectProtection:
    """The protection of the instances of `registry`. `_rules` are those of the policy by unit, None before it was
    looked at; `_found` is what an earlier process has left; `_told` are the states that units have heard of."""

    def __init__(self, registry: InstanceRegistry, tools: ProtectionTools, terms: ProtectionTerms) -> None:
        self._registry = registry
        self._tools = tools
        self._terms = terms
        self._name = policy_name(terms.home)
        self._policy, self._binding = (
            RegisteredObject(tools.client, AdmissionPolicy(resource, self._name), tools.claim)
            for resource in (POLICY, BINDING)
        )
        self._rules: Mapping[str, JSON] | None = None
        self._found: frozenset[RegisteredObject] = frozenset()
        self._obstacle: ProtectionState | None = None
        self._told: Mapping[str, ProtectionState] = {}
        self._user = ""
        self._due = asyncio.Event()

    def state_of(self, unit: str) -> ProtectionState:
        """Whether the objects of an instance that asks for protection have it."""
        if self._obstacle:
            return self._obstacle
        if unit not in (self._rules or {}):
            return PENDING
        for part in (self._policy, self._binding):
            if part.problem and not part.in_sync:
                return ProtectionState("False", "NotWritten", f"{part}: {part.problem}")
        if not self._policy.in_sync or not self._binding.in_sync or self._policy.seen is None:
            return PENDING
        return state_with_policy(self._policy.seen)

    async def keep(self) -> None:
        """Keep policy and binding, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._note_units())
            tasks.create_task(self._note_outages())
            for notifier in (self._registry.judged, self._policy.changed, self._binding.changed):
                tasks.create_task(self._note(notifier))
            await self._work(tasks)

    async def _work(self, tasks: asyncio.TaskGroup) -> None:
        """Bring both in line when that is due, and follow them while there are rules."""
        following: asyncio.Task[None] | None = None
        failures = 0
        while True:
            self._due.clear()
            failures = 0 if await self._bring_in_line() else failures + 1
            self._tell()
            if self._rules and not following:
                following = tasks.create_task(self._follow())
            elif following and not self._rules:
                following.cancel()
                following = None
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSES.after(failures) or None):
                    await self._due.wait()

    async def _note_units(self) -> None:
        async for changed in self._registry.changes():
            rules = self._rules or {}
            if any(_rule(live) != rules.get(unit) for unit, live in changed.items()):
                self._due.set()

    async def _note_outages(self) -> None:
        async for _ in self._tools.client.outage.ends():
            self._due.set()

    async def _note(self, notifier: Notifier) -> None:
        while True:
            await notifier.next()
            self._due.set()

    async def _follow(self) -> None:
        """Repair both as soon as a watch shows that they differ."""
        async with asyncio.TaskGroup() as tasks:
            for part in (self._policy, self._binding):
                tasks.create_task(part.follow(self._tools.watches))

    async def _bring_in_line(self) -> bool:
        """Write what differs from the desired state; False if that has to be tried again after a while."""
        try:
            known = await self._find_rules() if self._rules is None else self._rules
            if known is None:
                return not self._obstacle
            rules = self._desired(known)
            if rules and not self._user:
                await self._tools.kinds.resolve(POLICY.api_version, POLICY.kind)
                self._user = await _read_own_name(self._tools.client)
                rules = self._desired(known)
        except KubeError as error:
            self._obstacle = state_without_policy(error)
            return False
        self._obstacle, self._rules = None, rules
        await self._set(self._policy, policy_spec(rules, (self._user, *self._terms.exempt)) if rules else None)
        if self._policy.in_sync or not rules:
            await self._set(self._binding, binding_spec(self._name) if rules else None)
        return True

    async def _find_rules(self) -> Mapping[str, JSON] | None:
        """The rules of the policy in the cluster; notes which of both objects exist. Raises KubeError. None without the
        right to read it, which a server that has just started refuses for a while: some of the rules may have to stay.
        That is an obstacle if an instance asks for protection."""
        try:
            policy, binding = await self._read(self._policy), await self._read(self._binding)
        except Denied as error:
            is_asked = bool(self._desired({}))
            self._obstacle = ProtectionState("False", "NotWritten", f"{self._policy}: {error}") if is_asked else None
            return None
        present = {self._policy: policy, self._binding: binding}
        self._found = frozenset(part for part, obj in present.items() if obj is not None)
        return validations((policy or {}).get("spec"))

    def _desired(self, known: Mapping[str, JSON]) -> dict[str, JSON]:
        """The rules of all instances that ask for protection, and known ones about instances that may exist."""
        decided = self._registry.decided
        kept = {unit: rule for unit, rule in known.items() if unit.partition(".")[0] not in decided}
        return kept | {live.unit: rule for live in self._registry.live if (rule := _rule(live))}

    async def _set(self, part: RegisteredObject, spec: JSON | None) -> None:
        """Bring one of both in line, once: `follow` tries again what has failed. Where there was none, and none is
        desired, nothing is asked."""
        desired = AdmissionPolicy(part.registration.resource, self._name, spec)
        if (part.settled or part.failure) and part.registration == desired:
            return
        if part.settled or spec is not None or part in self._found:
            part.set_desired(desired)
            await part.reconcile()

    async def _read(self, part: RegisteredObject) -> JSON | None:
        """The object in the cluster; None if there is none. Raises KubeError."""
        try:
            with tolerated_refusals():
                return await read_live(self._tools.client, part.registration.resource, self._name)
        except NotFound:
            return None

    def _tell(self) -> None:
        """Let the statuses of instances say what has changed."""
        states = {live.unit: self.state_of(live.unit) for live in self._registry.live if _rule(live)}
        changed = [unit for unit, state in states.items() if self._told.get(unit) != state]
        self._told = states
        for unit in changed:
            self._tools.changes.note(unit)


def _rule(live: LiveUnit | None) -> JSON | None:
    """The rule that an instance asks for, None if it does without. Until a run has written the objects without its
    account, they may have to be removed as that."""
    if live is None or not live.instance.fields.protect:
        return None
    account = account_of(live.instance, live.state.release.head or live.planner.installed)
    return validation_of(live.addon, live.instance, account)


async def _read_own_name(client: Client) -> str:
    """The user name under which this client writes. Raises KubeError."""
    body = {"apiVersion": _SELF.resource.api_version, "kind": _SELF.resource.kind}
    answer = await writes.create(client, _SELF, body)
    return str(answer.json["status"]["userInfo"]["username"])

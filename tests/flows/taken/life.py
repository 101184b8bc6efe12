"""The life of a shipped thing that lacks one rule: it goes on until the missing right is named, gets the rule back, and
then is lived to its end, so that nothing that was asked for meanwhile is lost.

    outcome = await live_without(life, taken)

What counts is what the API server has refused, as its audit log shows: a refused request has to be named, by `/readyz`,
by `hookrunner status` and where the life says by an Event, with this rule and no other one. A rule that no request was
refused for is not needed in this life; `tests/flows/limited_rights.py` has the reasons of each.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hookrunner.model.rights import Right
from tests.controlplane.audit import AuditedRequest
from tests.controlplane.cluster import OwnCluster
from tests.flows.limited_rights import is_tried
from tests.flows.operator import Operator, oops
from tests.flows.taken import named_rights
from tests.flows.taken.named_rights import Events
from tests.flows.taken.taken_rule import LimitedAccount, is_part, shown
from tests.flows.waiting import until

PLACES = ("readyz", "status")
RBAC_GROUP, ROLES = "rbac.authorization.k8s.io", ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
OTHERWISE = {
    "patch events": "a Helm hook that is an Event is created; an Event that is repeated is one less",
    "patch configmaps hello-world-installed": "a Helm hook, which is created",
}
"""Rules, all those that begin so, without which everything is done in another way."""
REGISTRATIONS = tuple(
    f"{verb} {kind}webhookconfigurations.admissionregistration.k8s.io"
    for verb in ("delete", "watch")
    for kind in ("validating", "mutating")
)
"""The same of registrations of webhooks: they stay without any webhook, and are listed now and then, as with roles made
for shell-operator."""
POLICIES = tuple(f"list validatingadmissionpol{end}" for end in ("icies", "icybindings"))
"""The same of the policy that protects objects, which a start looks for: only with `spec.protect` is it missed."""
SOON = 10.0
"""Seconds in which a place names what was refused: Events are gathered for one."""


class Step(NamedTuple):
    """Something that is asked for, and whether it is done."""

    what: str
    ask: Callable[[], object]
    is_done: Callable[[], bool]


def start(operator: Operator) -> Step:
    """The first one."""
    return Step("the start", operator.start, lambda: operator.readyz().ready)


@dataclass(frozen=True, slots=True)
class Life:
    """One thing in one program, not started yet. `where` is what names a missing right besides `/readyz` and the
    command: the Events, or without an object that one could be about the log. The first step starts the program. Of a
    life that `is_long` only the last step follows the one in which the rule was missing. `unneeded` are rules, by their
    beginnings, without which this life lacks nothing; `surveyed` is the namespace that `check_rights` describes."""

    cluster: OwnCluster
    account: LimitedAccount
    operator: Operator
    steps: Sequence[Step]
    where: str = "events"
    is_long: bool = False
    unneeded: tuple[str, ...] = ()
    surveyed: str = ""

    def names(self, before: Events) -> dict[str, list[Right]]:
        """What each place names; Events, since these."""
        other = (
            named_rights.in_events(self.cluster, before)
            if self.where == "events"
            else named_rights.in_log(self.operator)
        )
        return {
            "readyz": named_rights.in_readyz(self.operator),
            "status": named_rights.in_status(self.operator),
            self.where: other,
        }


class Outcome(NamedTuple):
    """What came of it. `step` is the one in which the right was missing, empty if it was in none; `named` the places
    that named the rule, `is_named` whether these are all that can; `others` the rules that were named besides it."""

    rule: str
    step: str
    refused: tuple[str, ...]
    named: tuple[str, ...]
    others: tuple[str, ...]
    is_named: bool = True

    @property
    def is_good(self) -> bool:
        """Was everything refused named, and nothing else?"""
        return self.is_named and not self.others


async def live_without(life: Life, taken: Right) -> Outcome:
    """Live with all rights but this rule until it is named, and with all of them from then on. Raises TimeoutError for
    a life that does not go on then."""
    try:
        outcome = await lose(life, taken, life.steps)
        await life.operator.stop()  # which may end a hook that runs
    finally:
        life.operator.kill()
        print(f"without {shown(taken)}\n{life.operator.story()}")
    assert oops(life.operator.logs()) == []
    return outcome


async def lose(life: Life, taken: Right, steps: Sequence[Step]) -> Outcome:
    """Take a rule away, take these steps until it is named, give it back, and take the others."""
    since, before = life.cluster.audit.size(), named_rights.read_events(life.cluster)
    life.account.take(taken)
    coming = iter(steps)
    step = await _until_named(life, coming)
    requests = life.account.refused(since)
    refused = tuple(sorted({str(request) for request in requests if _is_missing(life, request, taken)}))
    strange = {
        str(request)
        for request in requests
        if not (_is_missing(life, request, taken) or _is_other_way(life, request, taken))
    }
    places = [place for place in (*PLACES, life.where) if _has_to_name(life, place, taken)] if refused else []
    named = [place for place in places if await _is_named(life, place, taken, before)]
    others = {shown(right) for right in named_rights.in_readyz(life.operator) if not is_part(right, taken)} | strange
    life.account.give_back()
    if step:
        await until(step.is_done, f"{step.what}, with the rule {shown(taken)} again")
    for one in [*coming][-1:] if life.is_long else coming:
        one.ask()
        await until(one.is_done, f"{one.what}, with all rules")
    await until(lambda: not named_rights.in_readyz(life.operator), f"no name for {shown(taken)} any more")
    is_named = len(named) == len(places)
    return Outcome(shown(taken), step.what if step else "", refused, tuple(named), tuple(sorted(others)), is_named)


def _is_missing(life: Life, request: AuditedRequest, taken: Right) -> bool:
    """Was it refused for this rule? A role that was refused has one for each that it grants."""
    if is_tried(request, life.surveyed) and shown(taken) != str(request):
        return False
    return taken.covers(request.access) or (request.access.group == RBAC_GROUP and request.access.resource in ROLES)


def _is_other_way(life: Life, request: AuditedRequest, taken: Right) -> bool:
    """Is this what hookrunner tries although it does without, or another way to do the same?"""
    return is_tried(request, life.surveyed) or (
        request.access.group in taken.groups and request.access.resource in taken.resources
    )


def _has_to_name(life: Life, place: str, taken: Right) -> bool:
    """Does this place have to name it? That Events may not be written is named by no Event; nothing is missing where
    it is done in another way."""
    is_done_otherwise = any(shown(taken).startswith(words) for words in (*OTHERWISE, *life.unneeded))
    return not is_done_otherwise and (place != "events" or taken.resources != ("events",))


async def _until_named(life: Life, steps: Iterator[Step]) -> Step | None:
    """Ask for one thing after the other; the step in which a right is named as missing."""
    for step in steps:
        step.ask()
        await until(lambda: step.is_done() or bool(named_rights.in_readyz(life.operator)), step.what)  # noqa: B023
        if named_rights.in_readyz(life.operator):
            return step
    return None


async def _is_named(life: Life, place: str, taken: Right, before: Events) -> bool:
    """Does this place name the rule, soon?"""

    def has_name() -> bool:
        return any(is_part(right, taken) or is_part(taken, right) for right in life.names(before)[place])

    try:
        return await until(has_name, f"{place} names {shown(taken)}", SOON)
    except TimeoutError:
        return False

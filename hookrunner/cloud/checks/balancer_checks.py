"""Rules of the verbs `lb-…`. Without leave to write, only what changes nothing is asked."""

from dataclasses import replace

from hookrunner.cloud.answers import ErrorCode, Ingress, Interface, ProviderError
from hookrunner.cloud.checks.check_rules import CheckSubject, Need, Rule
from hookrunner.cloud.checks.made_up_objects import made_up_balancer
from hookrunner.cloud.checks.probe import CallReply, QuestionFailed
from hookrunner.cloud.provider.cloud_verb import AnyVerb
from hookrunner.cloud.provider.verbs import LB_DELETE, LB_ENSURE, LB_GET, LB_LIST, LB_UPDATE, SERVICE
from hookrunner.cloud.provider.wire_results import read_ensured
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.cloud.services.ingress_rules import complete_ingress, find_ingress_problem

_TIMES = 2


async def _check_nothing_there(subject: CheckSubject) -> list[str]:
    balancer = made_up_balancer()
    state = await subject.ask(LB_GET, balancer)
    return ["a Service that was never there has a load balancer"] if state.exists else []


async def _check_list(subject: CheckSubject) -> list[str]:
    reply = await subject.probe.ask(LB_LIST, {})
    if reply.code is ErrorCode.NOT_IMPLEMENTED:
        return []
    result = reply.result()
    listed = LB_LIST.read(result, None)
    number = len(result["loadBalancers"])
    return [f"{number - len(listed)} of {number} entries are unusable"] if len(listed) < number else []


async def _check_delete_nothing(subject: CheckSubject) -> list[str]:
    balancer = made_up_balancer()
    deleted = [await _ask(subject, LB_DELETE, balancer) for _ in range(_TIMES)]
    failed = [reply.error for reply in deleted if reply.error]
    return [f"a load balancer that does not exist cannot be deleted: {failed[0]}"] if failed else []


async def _check_update_nothing(subject: CheckSubject) -> list[str]:
    reply = await _ask(subject, LB_UPDATE, made_up_balancer())
    if reply.error:
        return [f"for a load balancer that does not exist it must answer NotFound, or do nothing: {reply.error}"]
    return [] if not reply.problem else [reply.problem.text]


async def _check_life(subject: CheckSubject) -> list[str]:
    """Ensure twice, look at it, change its nodes, delete it twice; deleted in any case."""
    balancer = made_up_balancer(subject.nodes)
    try:
        return await _follow_life(subject, balancer)
    finally:
        for _ in range(_TIMES):
            await _ask(subject, LB_DELETE, balancer)


async def _follow_life(subject: CheckSubject, balancer: LoadBalancerRequest) -> list[str]:
    first, again = await _ensure(subject, balancer), await _ensure(subject, balancer)
    if problem := find_ingress_problem(first, subject.probe.mask):
        return [f"the API server would refuse its address: {problem}"]
    if complete_ingress(first) != complete_ingress(again):
        return [f"ensured twice, it has other addresses: {_shown(first)}, then {_shown(again)}"]
    looked = await subject.ask(LB_GET, balancer)
    if not looked.exists:
        return ["lb-get does not find the load balancer that lb-ensure has made"]
    if looked.ingress and complete_ingress(looked.ingress) != complete_ingress(first):
        return [f"lb-get answers {_shown(looked.ingress)}, lb-ensure {_shown(first)}"]
    first_node = sorted(balancer.nodes, key=lambda node: node.name)[:1]
    (await _ask(subject, LB_UPDATE, replace(balancer, nodes=tuple(first_node)))).result()
    if doubled := await _count_entries(subject, balancer) - 1:
        return [f"lb-list shows it {doubled + 1} times"]
    (await _ask(subject, LB_DELETE, balancer)).result()
    return await _find_leftovers(subject, balancer)


async def _ask(subject: CheckSubject, verb: AnyVerb, balancer: LoadBalancerRequest) -> CallReply:
    """One question about a load balancer, again while the answer is `Pending`."""
    return await subject.probe.ask_while_pending(verb, verb.params.document(balancer))


async def _ensure(subject: CheckSubject, balancer: LoadBalancerRequest) -> tuple[Ingress, ...]:
    result = (await _ask(subject, LB_ENSURE, balancer)).result()
    try:
        return read_ensured(result)
    except ProviderError as error:
        raise QuestionFailed(error.reason) from None


async def _count_entries(subject: CheckSubject, balancer: LoadBalancerRequest) -> int:
    """How often `lb-list` has it; once if there is no such verb."""
    reply = await subject.probe.ask(LB_LIST, {})
    if reply.error or reply.problem:
        return 1
    return [entry.uid for entry in LB_LIST.read(reply.result(), None)].count(balancer.service["metadata"]["uid"])


async def _find_leftovers(subject: CheckSubject, balancer: LoadBalancerRequest) -> list[str]:
    again = await _ask(subject, LB_DELETE, balancer)
    looked = await subject.probe.ask(LB_GET, SERVICE.document(balancer))
    found = [
        *([f"deleted for the second time, it fails: {again.error}"] if again.error else []),
        *(["after lb-delete, lb-get still finds it"] if looked.value.get("exists") else []),
    ]
    reply = await subject.probe.ask(LB_LIST, {})
    is_listed = not reply.error and await _count_entries(subject, balancer) > 0
    return [*found, *(["after lb-delete, lb-list still shows it"] if is_listed else [])]


def _shown(ingress: tuple[Ingress, ...]) -> str:
    return ", ".join(entry.ip or entry.hostname for entry in ingress) or "none"


_LB, _WRITES = Interface.LOAD_BALANCER, (Need.WRITES,)
_LIFE = "a load balancer is made once, found, changed, and deleted"
BALANCER_RULES = (
    Rule("lb-nothing", "a Service without a load balancer has none", _check_nothing_there, _LB),
    Rule("lb-list", "its list of load balancers is usable, if it has one", _check_list, _LB),
    Rule("lb-delete-nothing", "deleting what does not exist succeeds, twice", _check_delete_nothing, _LB, _WRITES),
    Rule("lb-update-nothing", "updating what does not exist harms nothing", _check_update_nothing, _LB, _WRITES),
    Rule("lb-life", _LIFE, _check_life, _LB, _WRITES),
)

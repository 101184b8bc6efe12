"""Rules of the verbs `lb-…`. Without leave to write, only what changes nothing is asked."""

from hookrunner.cloud.answers import ErrorCode, Ingress, Interface, ProviderError
from hookrunner.cloud.checks.check_rules import CheckSubject, Need, Rule
from hookrunner.cloud.checks.made_up_objects import balancer_params, made_up_service
from hookrunner.cloud.checks.probe import QuestionFailed
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.wire_results import read_ensured, read_load_balancer, read_load_balancers
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.cloud.services.ingress_rules import complete_ingress, find_ingress_problem
from kubetypes.json_values import JSON

_TIMES = 2


async def _check_nothing_there(subject: CheckSubject) -> list[str]:
    reply = await subject.probe.ask(verbs.LB_GET, balancer_params(made_up_service()))
    state = read_load_balancer(reply.result())
    return ["a Service that was never there has a load balancer"] if state.exists else []


async def _check_list(subject: CheckSubject) -> list[str]:
    reply = await subject.probe.ask(verbs.LB_LIST, {})
    if reply.code is ErrorCode.NOT_IMPLEMENTED:
        return []
    result = reply.result()
    listed = read_load_balancers(result)
    number = len(result["loadBalancers"])
    return [f"{number - len(listed)} of {number} entries are unusable"] if len(listed) < number else []


async def _check_delete_nothing(subject: CheckSubject) -> list[str]:
    params = balancer_params(made_up_service())
    deleted = [await subject.probe.ask_while_pending(verbs.LB_DELETE, params) for _ in range(_TIMES)]
    failed = [reply.error for reply in deleted if reply.error]
    return [f"a load balancer that does not exist cannot be deleted: {failed[0]}"] if failed else []


async def _check_update_nothing(subject: CheckSubject) -> list[str]:
    reply = await subject.probe.ask_while_pending(verbs.LB_UPDATE, balancer_params(made_up_service(), []))
    if reply.error:
        return [f"of a load balancer that does not exist it must say NotFound, or do nothing: {reply.error}"]
    return [] if not reply.problem else [reply.problem.text]


async def _check_life(subject: CheckSubject) -> list[str]:
    """Ensure twice, look at it, change its nodes, delete it twice; deleted in any case."""
    service = made_up_service()
    try:
        return await _follow_life(subject, service)
    finally:
        for _ in range(_TIMES):
            await subject.probe.ask_while_pending(verbs.LB_DELETE, balancer_params(service))


async def _follow_life(subject: CheckSubject, service: JSON) -> list[str]:
    name = balancer_params(service)["name"]
    params = verbs.LB_ENSURE.params.document(LoadBalancerRequest(service, name, subject.nodes))
    first, again = await _ensure(subject, params), await _ensure(subject, params)
    if problem := find_ingress_problem(first, subject.probe.mask):
        return [f"the API server would refuse its address: {problem}"]
    if complete_ingress(first) != complete_ingress(again):
        return [f"ensured twice, it has other addresses: {_shown(first)}, then {_shown(again)}"]
    looked = read_load_balancer((await subject.probe.ask(verbs.LB_GET, balancer_params(service))).result())
    if not looked.exists:
        return ["lb-get does not find the load balancer that lb-ensure has made"]
    if looked.ingress and complete_ingress(looked.ingress) != complete_ingress(first):
        return [f"lb-get says {_shown(looked.ingress)}, lb-ensure {_shown(first)}"]
    (await subject.probe.ask_while_pending(verbs.LB_UPDATE, {**params, "nodes": params["nodes"][:1]})).result()
    if doubled := await _count_entries(subject, service) - 1:
        return [f"lb-list shows it {doubled + 1} times"]
    (await subject.probe.ask_while_pending(verbs.LB_DELETE, balancer_params(service))).result()
    return await _find_leftovers(subject, service)


async def _ensure(subject: CheckSubject, params: JSON) -> tuple[Ingress, ...]:
    result = (await subject.probe.ask_while_pending(verbs.LB_ENSURE, params)).result()
    try:
        return read_ensured(result)
    except ProviderError as error:
        raise QuestionFailed(error.reason) from None


async def _count_entries(subject: CheckSubject, service: JSON) -> int:
    """How often `lb-list` has it; once if there is no such verb."""
    reply = await subject.probe.ask(verbs.LB_LIST, {})
    if reply.error or reply.problem:
        return 1
    return [entry.uid for entry in read_load_balancers(reply.result())].count(service["metadata"]["uid"])


async def _find_leftovers(subject: CheckSubject, service: JSON) -> list[str]:
    again = await subject.probe.ask_while_pending(verbs.LB_DELETE, balancer_params(service))
    looked = await subject.probe.ask(verbs.LB_GET, balancer_params(service))
    found = [
        *([f"deleted for the second time, it fails: {again.error}"] if again.error else []),
        *(["after lb-delete, lb-get still finds it"] if looked.value.get("exists") else []),
    ]
    reply = await subject.probe.ask(verbs.LB_LIST, {})
    is_listed = not reply.error and await _count_entries(subject, service) > 0
    return [*found, *(["after lb-delete, lb-list still shows it"] if is_listed else [])]


def _shown(ingress: tuple[Ingress, ...]) -> str:
    return ", ".join(entry.ip or entry.hostname for entry in ingress) or "none"


_LB, _WRITES = Interface.LOAD_BALANCER, (Need.WRITES,)
_LIFE = "a load balancer is made once, found, changed, and gone when it is deleted"
BALANCER_RULES = (
    Rule("lb-nothing", "a Service without a load balancer has none", _check_nothing_there, _LB),
    Rule("lb-list", "its list of load balancers is usable, if it has one", _check_list, _LB),
    Rule("lb-delete-nothing", "deleting what does not exist succeeds, twice", _check_delete_nothing, _LB, _WRITES),
    Rule("lb-update-nothing", "updating what does not exist harms nothing", _check_update_nothing, _LB, _WRITES),
    Rule("lb-life", _LIFE, _check_life, _LB, _WRITES),
)

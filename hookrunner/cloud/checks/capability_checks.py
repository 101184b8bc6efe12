"""Rules of `capabilities`, and of verbs in general."""

from hookrunner.cloud.answers import CloudVerb, ErrorCode
from hookrunner.cloud.checks.check_rules import BOTH, CheckSubject, Rule
from hookrunner.cloud.checks.made_up_objects import made_up_service
from hookrunner.cloud.checks.probe import CallReply
from hookrunner.cloud.provider.wire_requests import instances_params
from hookrunner.cloud.services.cloud_service import read_service
from kubetypes.json_values import JSON

_UNKNOWN_VERB = "hookrunner-check"


async def _check_stable(subject: CheckSubject) -> list[str]:
    first = (await subject.probe.ask(CloudVerb.CAPABILITIES, {})).result()
    again = (await subject.probe.ask(CloudVerb.CAPABILITIES, {"future": {"field": 1}})).result()
    changed = sorted(key for key in first.keys() | again.keys() if first.get(key) != again.get(key))
    return [f"asked again, it says something else: {', '.join(changed)}"] if changed else []


async def _check_some_interface(subject: CheckSubject) -> list[str]:
    offered = subject.capabilities
    if offered.instances or offered.load_balancer or offered.routes:
        return []
    return ["none of 'interfaces' (instances, loadBalancer, routes) is true, so it is never asked anything"]


async def _check_kept_promises(subject: CheckSubject) -> list[str]:
    offered, probe = subject.capabilities, subject.probe
    promised: list[tuple[str, CallReply]] = []
    if offered.instances:
        promised.append(("instances", await probe.ask(CloudVerb.INSTANCES, instances_params([], BOTH))))
    if offered.load_balancer:
        promised.append(("loadBalancer", await probe.ask(CloudVerb.LB_GET, balancer_params(made_up_service()))))
    if offered.routes:
        promised.append(("routes", await probe.ask(CloudVerb.ROUTES_LIST, {})))
    return [
        f"'interfaces.{name}' is true, but {reply.request.verb} fails: {reply.error}"
        for name, reply in promised
        if reply.error
    ]


async def _check_unknown_verb(subject: CheckSubject) -> list[str]:
    request = subject.probe.request(CloudVerb.CAPABILITIES, {})
    printed = await subject.probe.runner.run(_UNKNOWN_VERB, request.text, subject.probe.timeout)
    if printed.timed_out:
        return ["a verb that it does not know hangs; answer with the error NotImplemented"]
    if printed.ending:
        return [f"a verb that it does not know ends with {printed.ending}; answer with the error NotImplemented"]
    if f'"{ErrorCode.NOT_IMPLEMENTED}"'.encode() not in printed.stdout:
        return ["a verb that it does not know must be answered with the error NotImplemented"]
    return []


def balancer_params(service: JSON, nodes: "list[JSON] | None" = None) -> dict[str, JSON]:
    """Of a verb about one load balancer, under its default name."""
    params = {"service": service, "name": read_service(service).balancer_name}
    return params if nodes is None else {**params, "nodes": nodes}


CAPABILITY_RULES = (
    Rule("stable", "its capabilities are always the same, also with fields that it does not know", _check_stable),
    Rule("some-interface", "it offers something", _check_some_interface),
    Rule("kept-promises", "what it offers is answered without an error", _check_kept_promises),
    Rule("unknown-verb", "a verb of a later version is answered with NotImplemented", _check_unknown_verb),
)

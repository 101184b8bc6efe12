"""Rules of `capabilities`, and of verbs in general."""

from hookrunner.cloud.answers import ErrorCode
from hookrunner.cloud.checks.check_rules import CheckSubject, Rule
from hookrunner.cloud.provider.verbs import CAPABILITIES

_UNKNOWN_VERB = "hookrunner-check"


async def _check_stable(subject: CheckSubject) -> list[str]:
    first = (await subject.probe.ask(CAPABILITIES, {})).result()
    again = (await subject.probe.ask(CAPABILITIES, {"future": {"field": 1}})).result()
    changed = sorted(key for key in first.keys() | again.keys() if first.get(key) != again.get(key))
    return [f"asked again, it answers something else: {', '.join(changed)}"] if changed else []


async def _check_some_interface(subject: CheckSubject) -> list[str]:
    if subject.capabilities.interfaces:
        return []
    return ["none of 'interfaces' (instances, loadBalancer, routes) is true, so it is never asked anything"]


async def _check_kept_promises(subject: CheckSubject) -> list[str]:
    questions = subject.harmless_questions([])
    promised = [(verb, await subject.probe.ask(verb, params)) for verb, params in questions]
    return [
        f"'interfaces.{verb.interface}' is true, but {verb} fails: {reply.error}"
        for verb, reply in promised
        if reply.error
    ]


async def _check_unknown_verb(subject: CheckSubject) -> list[str]:
    request = subject.probe.request(CAPABILITIES, {})
    printed = await subject.probe.runner.run(_UNKNOWN_VERB, request.text, subject.probe.timeout)
    if printed.timed_out:
        return ["a verb that it does not know hangs; answer with the error NotImplemented"]
    if printed.ending:
        return [f"a verb that it does not know ends with {printed.ending}; answer with the error NotImplemented"]
    if f'"{ErrorCode.NOT_IMPLEMENTED}"'.encode() not in printed.stdout:
        return ["a verb that it does not know must be answered with the error NotImplemented"]
    return []


CAPABILITY_RULES = (
    Rule("stable", "its capabilities are always the same, also with fields that it does not know", _check_stable),
    Rule("some-interface", "it offers something", _check_some_interface),
    Rule("kept-promises", "what it offers is answered without an error", _check_kept_promises),
    Rule("unknown-verb", "a verb of a later version is answered with NotImplemented", _check_unknown_verb),
)

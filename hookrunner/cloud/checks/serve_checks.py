"""Rules of `serve`: one process, a request a line, an answer a line."""

from hookrunner.cloud.answers import CloudVerb, ProviderError
from hookrunner.cloud.checks.check_rules import CheckSubject, Rule
from hookrunner.cloud.checks.probe import Printed
from hookrunner.cloud.provider.wire_answers import read_answer, request_id_of, result_of

_REQUESTS = 5
_LEAVING = 5.0
"""Seconds in which the process has to leave after the end of its input."""


async def _check_answers(subject: CheckSubject) -> list[str]:
    ids, printed = await _serve(subject)
    if problem := _ending(printed):
        return [problem]
    lines = [line for line in printed.stdout.split(b"\n") if line.strip()]
    answered: list[str] = []
    for line in lines:
        try:
            answered.append(request_id_of(read_answer(line)))
        except ProviderError as error:
            return [f"a line of its output is no answer: {error.reason}"]
    if missing := len(set(ids) - set(answered)):
        return [f"of {len(ids)} requests, {missing} were not answered before it left"]
    strangers, doubled = set(answered) - set(ids), len(answered) - len(set(answered))
    return [
        *(["it answered a request that was not made"] if strangers else []),
        *(["it answered a request twice"] if doubled else []),
    ]


def _ending(printed: Printed) -> str:
    if printed.timed_out:
        return f"it has not left {_LEAVING:g} s after the end of its input"
    return f"after the end of its input it left with {printed.ending}" if printed.ending else ""


async def _check_same(subject: CheckSubject) -> list[str]:
    called = (await subject.probe.ask(CloudVerb.CAPABILITIES, {})).result()
    ids, printed = await _serve(subject)
    for line in filter(bytes.strip, printed.stdout.split(b"\n")):
        try:
            answer = read_answer(line)
            request_id = request_id_of(answer)
            served = result_of(answer, CloudVerb.CAPABILITIES, request_id)
        except ProviderError as error:
            return [error.reason]
        if request_id in ids and served != called:
            return ["as `serve` it has other capabilities than as a call"]
    return []


async def _serve(subject: CheckSubject) -> tuple[list[str], Printed]:
    """Several requests at once, and the end of the input: their ids, and what was printed."""
    requests = [subject.probe.request(CloudVerb.CAPABILITIES, {}) for _ in range(_REQUESTS)]
    given = b"".join(request.text + b"\n" for request in requests)
    printed = await subject.probe.runner.run("serve", given, subject.probe.timeout + _LEAVING)
    return [request.request_id for request in requests], printed


SERVE_RULES = (
    Rule(
        "serve-answers", "as `serve` it answers each request, prints nothing else, and leaves", _check_answers, "serve"
    ),
    Rule("serve-same", "as `serve` it answers as a call does", _check_same, "serve"),
)
